import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Where `npm run dev` finds a running coordinator. */
const coordinator = process.env.QUORATE_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    sourcemap: false,
    // One bundle is right here: it is loaded once, from the machine that is being watched.
    chunkSizeWarningLimit: 1600,
  },
  server: { proxy: { "/api": coordinator } },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test-setup.ts"],
  },
});
