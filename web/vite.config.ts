import react from "@vitejs/plugin-react";
import tailwind from "@tailwindcss/vite";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react(), tailwind()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "dist",
    emptyOutDir: false, // dist/.keep is in git: go build needs the folder
    target: "es2022",
    assetsInlineLimit: 0, // the page's policy lets no data: scripts or styles in
    cssCodeSplit: false, // a part that is asked for again would come without its own
    modulePreload: { polyfill: false },
    sourcemap: false,
    chunkSizeWarningLimit: 1600, // elk alone; it is loaded with the graph
    // What the first page needs comes as one file: each request costs it some milliseconds.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "app", tags: ["$initial"] }] } } },
  },
  worker: { format: "es" },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing/setup.ts"],
    restoreMocks: true,
  },
});
