import { defineConfig } from "@playwright/test";

import tests from "./playwright.config";

/** How the pages look, by `make web-golden`. Ids and times move lines at 360 px, so it is no part of `make test`. */
export default defineConfig(tests, { testIgnore: [], testMatch: "golden.spec.ts" });
