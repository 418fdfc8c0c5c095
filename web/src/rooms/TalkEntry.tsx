import { Eye } from "lucide-react";
import { memo, type ReactNode } from "react";

import { visible } from "@/changes/visible";
import { MessageView, type MessageDeeds } from "@/rooms/MessageView";
import type { Entry } from "@/rooms/timeline";
import { Button } from "@/ui/button";
import { count, tokens } from "@/ui/figures";
import { Label, type Tone } from "@/ui/label";
import { Ago } from "@/ui/time";

/** A piece of the talk. */
export const TalkEntry = memo(function TalkEntry({ entry: e, deeds }: { entry: Entry; deeds: MessageDeeds }) {
  switch (e.type) {
    case "message":
      return (
        <>
          <MessageView message={e.message} deeds={deeds} />
          <Read names={e.read} />
        </>
      );
    case "blind": {
      const re = e.messages[0]?.re ?? 0;
      return (
        <div role="group" aria-label={`First answers${re > 0 ? ` to #${re}` : ""}`} className="mx-4 my-1.5 rounded-lg border border-line-strong border-dashed p-2">
          <p className="mb-1.5 text-muted">{`First answers${re > 0 ? ` to #${re}` : ""}: none of them has seen another.`}</p>
          <div className="grid grid-cols-[repeat(auto-fit,minmax(min(18rem,100%),1fr))] gap-2">
            {e.messages.map((m) => (
              <MessageView key={m.n} message={m} deeds={deeds} wide />
            ))}
          </div>
          <Read names={e.read} />
        </div>
      );
    }
    case "passed":
      return (
        <Note>
          {`${listed(e.names)} ${e.names.length === 1 ? "has" : "have"} nothing to add · `}
          <Ago at={e.at} />
        </Note>
      );
    case "ended":
      return (
        <Note>
          <span className={e.how === "stopped" ? "" : "text-bad"}>{`${e.member}'s turn ${ends[e.how] ?? "ended"}${e.why === "" ? "" : `: ${visible(e.why)}`}`}</span>
          {" · "}
          <Ago at={e.at} />{" "}
          <Button tone="quiet" className="min-h-6 text-accent" onClick={() => deeds.prompt(e.turn, e.member)}>
            Show the prompt
          </Button>
        </Note>
      );
    case "round":
      return (
        <div role="separator" aria-label={`Round ${e.round} ${e.state}`} className="flex items-center gap-3 px-4 py-2 text-muted">
          <span className="h-px grow bg-line" />
          <span className="flex flex-wrap items-center justify-center gap-x-2">
            {`Round ${e.round}`}
            <Label tone={roundTones[e.state] ?? "muted"}>{e.state}</Label>
            {e.why !== "" && <span className="wrap-anywhere">{visible(e.why)}</span>}
            {e.turns !== undefined && <span>{count(e.turns, "turn")}</span>}
            <span>{`${tokens(e.used)} tokens${e.estimate === undefined || e.estimate === 0 ? "" : ` (estimate ${tokens(e.estimate)})`}`}</span>
          </span>
          <span className="h-px grow bg-line" />
        </div>
      );
    case "note":
      return (
        <Note>
          {`${visible(e.text)} · `}
          <Ago at={e.at} />
        </Note>
      );
  }
});

const ends: Readonly<Record<string, string>> = { stopped: "was stopped", failed: "failed", timeout: "took too long", lost: "was lost" };

const roundTones: Readonly<Record<string, Tone>> = { settled: "ok", capped: "warn", cancelled: "muted" };

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}

/** Who has read so far. */
function Read({ names }: { names: readonly string[] }) {
  return (
    names.length > 0 && (
      <p className="flex items-center justify-end gap-1 px-4 text-sm text-muted" title="So far they have read">
        <Eye aria-hidden size={12} className="shrink-0" />
        <span className="min-w-0 wrap-anywhere">{`Read by ${listed(names)}`}</span>
      </p>
    )
  );
}

function Note({ children }: { children: ReactNode }) {
  return <p className="px-4 py-1 text-center text-muted wrap-anywhere">{children}</p>;
}
