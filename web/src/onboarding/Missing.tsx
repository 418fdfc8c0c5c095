import { Copy } from "lucide-react";
import { Link } from "react-router";

import { useOnboarding } from "@/onboarding/useOnboarding";
import { IconButton } from "@/ui/button";
import { say } from "@/ui/toasts";

/** A command for a terminal, with a button that copies it. */
export function TerminalCommand({ children }: { children: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1 rounded bg-sunken pl-2">
      <code className="wrap-anywhere">{children}</code>
      <IconButton
        label={`Copy ${children}`}
        className="min-h-7"
        onClick={() => {
          void navigator.clipboard.writeText(children).then(() => say("The command is in the clipboard."));
        }}
      >
        <Copy size={14} />
      </IconButton>
    </span>
  );
}

/** What is missing on this machine, with the command that helps. Nothing if all is there. */
export function Missing() {
  const steps = useOnboarding().data?.steps ?? [];
  const missing = steps.filter((s) => !s.done && !s.optional && s.id !== "commit"); // FirstCommit does that
  return (
    missing.length > 0 && (
      <section aria-label="Missing on this machine" className="w-full rounded-lg border border-warn bg-warn-soft p-3 text-left">
        <h2 className="font-semibold">Missing on this machine</h2>
        <ul className="mt-1 flex flex-col gap-2">
          {missing.map((s) => (
            <li key={s.id} className="wrap-anywhere">
              {s.id === "agent" ? "No agent program is installed (Claude Code, Codex, Kimi and others). The demo needs none." : s.detail} {s.try !== "" && <TerminalCommand>{s.try}</TerminalCommand>}
            </li>
          ))}
        </ul>
        <Link to="/health?tab=doctor" className="mt-2 inline-block text-accent underline">
          Look at the doctor&apos;s findings
        </Link>
      </section>
    )
  );
}
