import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { renderAt, stubApi } from "../../test-app";
import { SetupPage } from "./Setup";
import { SignInPage } from "./SignIn";

const me = {
  name: "lm@shop.example",
  role: "admin",
  user: { id: "u", email: "lm@shop.example", name: "", session: "s" },
};
const routes = [
  { path: "/sign-in", element: <SignInPage /> },
  { path: "/setup/:token", element: <SetupPage /> },
  { path: "/", element: <p>Home</p> },
];

describe("sign-in", () => {
  it("says what the server says, and goes on when it is right", async () => {
    let right = false;
    stubApi({
      "GET /setup": { body: { needs_first_admin: false } },
      "POST /session": () =>
        right
          ? { status: 201, body: me }
          : { status: 401, body: { error: { code: "unauthorized", message: "E-mail or password is wrong." } } },
    });
    renderAt("/sign-in", routes);
    const user = userEvent.setup();
    await user.type(await screen.findByLabelText(/E-mail/), "lm@shop.example");
    await user.type(screen.getByLabelText(/^Password/), "wrong wrong wrong");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByText("E-mail or password is wrong.")).toBeInTheDocument();
    right = true;
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByText("Home")).toBeInTheDocument();
  });
  it("leads to the printed link while nobody exists", async () => {
    stubApi({ "GET /setup": { body: { needs_first_admin: true } } });
    renderAt("/sign-in", routes);
    expect(await screen.findByText(/one-time link that Quorate printed/)).toBeInTheDocument();
  });
});

describe("a one-time link", () => {
  it("puts a refusal at the field that it names", async () => {
    const { bodies } = stubApi({
      "GET /setup/t": {
        body: { purpose: "first_admin", email: null, role: "admin", expires_at: "2026-11-18T00:00:00Z" },
      },
      "POST /setup/t": {
        status: 422,
        body: { error: { code: "invalid", message: "is not an e-mail address", field: "email" } },
      },
    });
    renderAt("/setup/t", routes);
    const user = userEvent.setup();
    await user.type(await screen.findByLabelText(/E-mail/), "lm");
    await user.type(screen.getByLabelText(/^Password/), "short");
    await user.click(screen.getByRole("button", { name: "Create and sign in" }));
    expect(screen.getByText(/at least 10 characters; a/)).toBeInTheDocument();
    await user.type(screen.getByLabelText(/^Password/), " but long enough");
    await user.click(screen.getByRole("button", { name: "Create and sign in" }));
    expect(await screen.findByText("Is not an e-mail address.")).toBeInTheDocument();
    expect(screen.getByLabelText(/E-mail/)).toHaveAttribute("aria-invalid", "true");
    expect(bodies.at(-1)).toEqual({ email: "lm", password: "short but long enough" });
  });
  it("that is spent says so and shows the way out", async () => {
    stubApi({});
    renderAt("/setup/t", routes);
    await waitFor(() => expect(screen.getByRole("heading", { name: "This link does not work" })).toBeInTheDocument());
    expect(screen.getByText("quorate admin link")).toBeInTheDocument();
  });
});
