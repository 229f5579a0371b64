import { expect, test } from "vitest";
import { configOf, destination, headersOf, kindOf } from "./kinds";

test("a secret that is not entered again is null, and what is optional is left out", () => {
  expect(configOf(kindOf("telegram"), { token: "", chat: " @ops_news ", thread: "7", server: "" })).toEqual({
    token: null,
    chat: "@ops_news",
    thread: 7,
  });
  expect(configOf(kindOf("slack"), { url: "https://hooks.slack.com/services/T/B/x" })).toEqual({
    url: "https://hooks.slack.com/services/T/B/x",
    signing_secret: null,
  });
  expect(configOf(kindOf("webhook"), { url: "" })).toEqual({ url: "" });
});

test("a secret that need not be there can be taken away, unless another is entered", () => {
  const slack = kindOf("slack");
  expect(configOf(slack, { url: "", signing_secret: "" }, ["signing_secret"])).toEqual({
    url: null,
    signing_secret: "",
  });
  expect(configOf(slack, { url: "", signing_secret: "new" }, ["signing_secret"])).toEqual({
    url: null,
    signing_secret: "new",
  });
});

test("where it goes is told without what is secret", () => {
  expect(destination({ to: ["a@b.example", "c@d.example"] })).toBe("a@b.example, c@d.example");
  expect(destination({ url: null, server: "https://hooks.slack.com/" })).toBe("hooks.slack.com");
  expect(destination({ server: "https://ntfy.sh/", topic: "ops", token: null })).toBe("https://ntfy.sh/ops");
  expect(destination({ token: null, chat: "-100", server: "https://api.telegram.org/" })).toBe("chat -100");
});

test("headers are lines of name and value", () => {
  expect(headersOf("X-Team: blue\n\nAuthorization: Bearer a:b")).toEqual({
    "X-Team": "blue",
    Authorization: "Bearer a:b",
  });
  expect(headersOf("nonsense")).toBeNull();
});
