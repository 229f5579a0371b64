import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import { createMemoryRouter, RouterProvider, type RouteObject } from "react-router";
import { vi } from "vitest";
import { theme, variables } from "./theme";

/** An answer of the API: a body, or a status with an error envelope. */
export type Answer = { status?: number; body: unknown };

/** Answers requests by `METHOD /path`; what is not listed is 404. Returns what was asked, in order. */
export function stubApi(answers: Record<string, Answer | ((body: unknown) => Answer)>): {
  asked: string[];
  bodies: unknown[];
} {
  const asked: string[] = [];
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const key = `${request.method} ${new URL(request.url).pathname.replace("/api/v1", "")}`;
    const text = await request.text();
    const body = text === "" ? null : (JSON.parse(text) as unknown);
    asked.push(key);
    bodies.push(body);
    const entry = answers[key];
    const answer = typeof entry === "function" ? entry(body) : entry;
    const found = answer ?? { status: 404, body: { error: { code: "not_found", message: "There is no such thing." } } };
    return new Response(JSON.stringify(found.body), {
      status: found.status ?? 200,
      headers: { "content-type": "application/json" },
    });
  });
  return { asked, bodies };
}

/** Draws routes as the app would, at an address. */
export function renderAt(path: string, routes: RouteObject[]) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const router = createMemoryRouter(routes, { initialEntries: [path] });
  const view = render(
    <MantineProvider env="test" theme={theme} cssVariablesResolver={variables}>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { ...view, router };
}
