import { expect, test } from "vitest";

import type { Said } from "@/conversation/group";
import { doingNow } from "@/conversation/now";

let seq = 0;
const said = (kind: Said["kind"], over: Partial<Said> = {}): Said => ({ seq: ++seq, at: `2030-01-01T00:00:${String(seq % 60).padStart(2, "0")}Z`, attempt: 1, node: "api", kind, ...over });

test("what an agent does is its last call without a result, or what it wrote or thought last", () => {
  expect(doingNow([])).toBeUndefined();
  const prompt = said("prompt", { text: "Do it.\n\nThe rules are below." });
  expect(doingNow([prompt])).toMatchObject({ verb: "works on", text: "Do it." });
  const call = said("tool_use", { tool: "Bash", tool_id: "1", input: { command: "go test ./..." } });
  expect(doingNow([prompt, call])).toMatchObject({ verb: "runs Bash", text: "go test ./...", since: call.at });
  const result = said("tool_result", { tool_id: "1", text: "ok" });
  expect(doingNow([prompt, call, result])).toMatchObject({ verb: "thinks", since: result.at });
  expect(doingNow([prompt, call, said("usage"), said("text", { text: "First.\n\nThen this.\n" })])).toMatchObject({ verb: "writes", text: "Then this." });
  expect(doingNow([prompt, call, result, said("status", { state: "idle" })])).toBeUndefined();
  expect(doingNow([said("status", { state: "working" })])).toMatchObject({ verb: "works", text: "" });
  expect(doingNow([prompt, call, result, said("end")])).toBeUndefined();
});
