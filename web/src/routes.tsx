import { createBrowserRouter } from "react-router";

export const router = createBrowserRouter([
  {
    path: "*",
    element: (
      <main>
        <h1>Quorate</h1>
      </main>
    ),
  },
]);
