import { defineConfig } from "@playwright/test";

import tests from "./playwright.config";

/** The measurements of `make bench-web`: one after the other, on a machine that does nothing else. */
export default defineConfig(tests, { testDir: "bench", workers: 1, timeout: 600_000, retries: 0 });
