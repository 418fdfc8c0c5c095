import { expect, test } from "vitest";

import { placesIn } from "./places";

test.each([
  ["An empty input prints nothing (price/total.sh line 3).", ["price/total.sh", "README.md"], ["price/total.sh:3"]],
  ["See `price/total.sh`:12, and price/total.sh:12 again, then README.md:1:5.", ["price/total.sh", "README.md"], ["price/total.sh:12", "README.md:1"]],
  ["**a.go**, lines 4 to 6", ["a.go", "src/a.go"], ["a.go:4"]],
  ["src/a.go:7 but not other/a.go:8 nor xa.go:9", ["a.go", "src/a.go"], ["src/a.go:7"]],
  ["It is fine, but line 3 is not.", ["a.go"], ["a.go:3"]],
  ["line 3", ["a.go", "b.go"], []],
  ["line 3", [], []],
  ["a+(b).go:0 a+(b).go:5", ["a+(b).go"], ["a+(b).go:5"]],
])("%j names of %j: %j", (text, paths, want) => expect(placesIn(text, paths).map((p) => `${p.path}:${p.line}`)).toEqual(want));
