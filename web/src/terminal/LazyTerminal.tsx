import { Suspense } from "react";

import type { AgentSource } from "@/conversation/source";
import { lazily } from "@/ui/lazily";
import { Loading } from "@/ui/states";

const TerminalPane = lazily(() => import("@/terminal/TerminalPane"));

/** A terminal, whose code is loaded when it is looked at. It fills the room it is given. */
export function LazyTerminal({ source, name }: { source: AgentSource; name: string }) {
  return (
    <Suspense fallback={<Loading />}>
      <TerminalPane source={source} name={name} />
    </Suspense>
  );
}
