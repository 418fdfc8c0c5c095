import { defineConfig } from "@playwright/test";

import tests from "./playwright.config";

/** How the pages look, by `make web-golden`. It is no part of `make test`: another version of Chromium draws otherwise. */
export default defineConfig(tests, { testIgnore: [], testMatch: "golden.spec.ts" });
