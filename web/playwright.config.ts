import { defineConfig } from "@playwright/test";

const chromium = process.env.CMUX_CHROMIUM ?? "/usr/bin/chromium";

/** The long ones, which make test leaves to make test-all, and how the pages look: make web-golden. */
const long = ["cases.spec.ts", "demo.spec.ts", "dialogs.spec.ts", "editor.spec.ts", "keyboard.spec.ts", "phone.spec.ts"];

export default defineConfig({
  testDir: "e2e",
  testIgnore: ["golden.spec.ts", ...(process.env.CMUX_SHORT ? long : [])],
  globalSetup: "./e2e/setup.ts",
  outputDir: "test-results",
  snapshotPathTemplate: "{testDir}/golden/{arg}{ext}",
  workers: 2,
  forbidOnly: true,
  timeout: 180_000, // of a machine that has much to do
  expect: { timeout: 60_000, toHaveScreenshot: { maxDiffPixelRatio: 0.002, animations: "disabled", caret: "hide" } },
  reporter: [["list"]],
  use: {
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    locale: "en-US",
    timezoneId: "UTC",
    launchOptions: {
      executablePath: chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    },
  },
});
