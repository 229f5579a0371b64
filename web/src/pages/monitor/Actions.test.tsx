import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { useMe } from "../../api/session";
import { renderAt, stubApi } from "../../test-app";
import { Actions } from "./Actions";

const monitor = { id: "m", name: "checkout", enabled: true, check: { kind: "http" } } as unknown as Schemas["Monitor"];
const incident = { id: "i", acked_at: null } as Schemas["IncidentRow"];

function Harness() {
  const me = useMe();
  return (
    <>
      {me && <p>signed in</p>}
      <Actions monitor={monitor} incident={incident} probe={() => {}} probing={false} />
    </>
  );
}

const as = (role: string) => ({
  "GET /session": { body: { name: role, role } },
  "POST /incidents/i/ack": { body: {} },
});

describe("what can be done with a monitor", () => {
  it("is absent for viewers", async () => {
    stubApi(as("viewer"));
    renderAt("/", [{ path: "/", element: <Harness /> }]);
    await screen.findByText("signed in");
    expect(screen.queryByRole("button")).toBeNull();
  });
  it("is there for editors, also by key", async () => {
    const { asked } = stubApi(as("editor"));
    renderAt("/", [{ path: "/", element: <Harness /> }]);
    expect(await screen.findByRole("button", { name: "Acknowledge" })).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "Edit" })).toHaveAttribute("href", "/monitors/m/edit");
    await userEvent.setup().keyboard("a");
    expect(asked).toContain("POST /incidents/i/ack");
  });
});
