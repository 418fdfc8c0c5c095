import { defineConfig } from "@playwright/test";

import tests from "./playwright.config";

/** How the pages look, alone: `make web-golden`. */
export default defineConfig(tests, { testIgnore: [], testMatch: "golden.spec.ts" });
