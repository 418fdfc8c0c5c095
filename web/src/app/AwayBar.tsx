import { Lock, WifiOff } from "lucide-react";
import { useEffect, useState } from "react";

import { api, Problem } from "@/api/client";
import { useLog } from "@/live/store";
import { Button } from "@/ui/button";
import { Open } from "@/ui/states";
import { clock } from "@/ui/time";

/** How long the connection may be lost before the page says so: a server that restarts is back sooner. */
const patience = 4_000;
/** How often the server is asked meanwhile. */
const pause = 10_000;

/** How long an answer may take. */
const answers = 5_000;

export type Why = "gone" | "logged out";

/** Why nothing comes from the server, by how it answered a question; undefined: it answers. */
export function whyAway(error: unknown): Why | undefined {
  const status = error instanceof Problem ? error.status : 0;
  return status === 401 || status === 403 ? "logged out" : status === 0 ? "gone" : undefined;
}

/** Says on every page that its server has gone, or that this browser is logged out, and how to come back. */
export function AwayBar() {
  const away = useLog((l) => l.phase === "offline" || l.phase === "connecting" || l.phase === "silent");
  return away ? <Away /> : null;
}

function Away() {
  const [why, setWhy] = useState<Why>();
  const [since] = useState(() => clock(new Date()));
  const [asks, setAsks] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      try {
        // A server that stands still keeps a question for good.
        await api.GET("/api/onboarding", { signal: AbortSignal.any([stop.signal, AbortSignal.timeout(answers)]) });
        setWhy(undefined);
      } catch (error) {
        if (!stop.signal.aborted) {
          setWhy(whyAway(error));
        }
      }
    };
    const first = setTimeout(() => void ask(), asks === 0 ? patience : 0);
    const again = setInterval(() => void ask(), pause);
    return () => {
      stop.abort();
      clearTimeout(first);
      clearInterval(again);
    };
  }, [asks]);
  if (why === undefined) {
    return null;
  }
  return (
    <section role="alert" className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line bg-warn-soft px-3 py-2">
      {why === "gone" ? <WifiOff aria-hidden size={18} /> : <Lock aria-hidden size={18} />}
      <p className="min-w-0 grow basis-64">
        <strong>{why === "gone" ? "The server does not answer at this address." : "You are logged out here."}</strong>{" "}
        {why === "gone" ? (
          <>
            What you see is from {since}, and nothing that you decide is sent. The page connects again by itself. If the server has ended or has another port, <Open /> leads to it.
          </>
        ) : (
          <>
            <Open /> logs you in again. What you have typed is kept in this browser.
          </>
        )}
      </p>
      <Button onClick={() => setAsks((n) => n + 1)}>Try again</Button>
    </section>
  );
}
