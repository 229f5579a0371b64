import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";
import { queryClient } from "./api/queries";
import { Textures } from "./components/StateMark";
import { router } from "./routes";
import "./styles/index.css";
import { theme, variables } from "./theme";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has lost its root");

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
      <Textures />
      <Notifications position="bottom-right" limit={3} transitionDuration={0} />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
