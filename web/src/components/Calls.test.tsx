import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { Calls } from "./Calls";

test("what the picture shows is a list to whoever does not see it", () => {
  const steps = [
    { after_s: 0, channels: ["chat"] },
    { after_s: 600, channels: ["phone"] },
  ];
  const { container } = render(<Calls plan={{ steps, loops: 1, reminder_s: 1200 }} />);
  const items = within(screen.getByRole("list", { name: "Who is told when" })).getAllByRole("listitem");
  expect(items.map((item) => item.textContent)).toEqual([
    "At once: chat.",
    "After 10\u00a0min: phone.",
    "After 20\u00a0min: a reminder to chat and phone.",
  ]);
  const marks = [...container.querySelectorAll<HTMLElement>(".track .first")];
  expect(marks.map((mark) => mark.style.left)).toEqual(["0%", "50%"]);
  expect(container.textContent).not.toContain("told again");
});

test("without steps there is no picture", () => {
  const { container } = render(<Calls plan={{ steps: [], loops: 1, reminder_s: null }} />);
  expect(container).toBeEmptyDOMElement();
});
