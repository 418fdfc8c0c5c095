import { expect, test } from "vitest";

import { wayOf } from "@/ui/ways";

test.each([
  ["cmux start", "/agents"],
  ["cmux workers attach api", "/agents/api?tab=terminal"],
  ["cmux workers list", "/agents"],
  ["cmux agents resume 20261129-1", "/runs"],
  ["cmux tasks merge", "/tasks/merge"],
  ["git add -A", undefined],
  ["cmux agents approve ok", undefined],
])("%s is done at %s", (command, to) => expect(wayOf(command)?.to).toBe(to));
