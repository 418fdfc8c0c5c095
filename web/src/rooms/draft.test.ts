import { expect, it } from "vitest";

import { forgetKey, keyOf } from "@/rooms/draft";

it("a message keeps its key until it is taken or changed, each room its own", () => {
  let n = 0;
  const make = () => `k${++n}`;
  const hello = { text: "hello", to: "", re: 0 };
  expect(keyOf("auth", hello, make)).toBe("k1");
  expect(keyOf("auth", { ...hello }, make)).toBe("k1");
  expect(keyOf("other", hello, make)).toBe("k2");
  expect(keyOf("auth", hello, make)).toBe("k1");
  expect(keyOf("auth", { ...hello, to: "ann" }, make)).toBe("k3");
  expect(keyOf("auth", { ...hello, text: "hello!" }, make)).toBe("k4");
  expect(keyOf("third", hello)).toMatch(/^[0-9a-f]{32}$/);
  forgetKey("auth");
  expect(keyOf("auth", { ...hello, text: "hello!" }, make)).toBe("k5");
});
