import { act, renderHook } from "@testing-library/react";
import { expect, it } from "vitest";

import { sends, useDraft } from "@/chat/draft";

const press = (more: Partial<Parameters<typeof sends>[0]>) => ({ key: "Enter", ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, isComposing: false, ...more });

it.each([
  [{}, true, true],
  [{}, false, false],
  [{ shiftKey: true }, true, false],
  [{ altKey: true }, true, false],
  [{ ctrlKey: true }, true, true],
  [{ ctrlKey: true }, false, true],
  [{ metaKey: true }, false, true],
  [{ isComposing: true }, true, undefined],
  [{ key: "a" }, true, undefined],
])("%o sends, if Enter does: %s: %s", (more, enterSends, is) => expect(sends(press(more), enterSends)).toBe(is));

it("a draft is there again, for its agent alone, until it is sent", () => {
  const first = renderHook(() => useDraft("api"));
  act(() => first.result.current[1]("half a"));
  first.unmount();
  expect(renderHook(() => useDraft("web")).result.current[0]).toBe("");
  const again = renderHook(() => useDraft("api"));
  expect(again.result.current[0]).toBe("half a");
  act(() => again.result.current[1](""));
  expect(renderHook(() => useDraft("api")).result.current[0]).toBe("");
});
