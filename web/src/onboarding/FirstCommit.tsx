import { useQueryClient } from "@tanstack/react-query";
import { GitCommitHorizontal } from "lucide-react";

import { api } from "@/api/client";
import { useOnboarding } from "@/onboarding/useOnboarding";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { useOrder } from "@/ui/toasts";

/** What the first commit would have, where there is none; undefined: there is one, or that is not known yet. */
export function useNoCommit(): string | undefined {
  const step = useOnboarding().data?.steps.find((s) => s.id === "commit");
  return step?.done === false ? step.detail : undefined;
}

/** Makes the first commit of a repository that has none; else nothing. */
export function FirstCommitButton() {
  const missing = useNoCommit() !== undefined;
  const client = useQueryClient();
  const make = useOrder(
    async () => {
      const out = await api.POST("/api/first-commit");
      await client.invalidateQueries(); // much is refused without a commit
      return out;
    },
    (out) => `The first commit has ${count(out.data?.files ?? 0, "file")}.`,
  );
  return (
    missing && (
      <Button tone="accent" icon={<GitCommitHorizontal aria-hidden size={15} />} busy={make.isPending} onClick={() => make.mutate()}>
        Make the first commit
      </Button>
    )
  );
}

/** Offers the first commit where agents could not start without it; else nothing. */
export function FirstCommit() {
  const files = useNoCommit();
  return (
    files !== undefined && (
      <section aria-label="First commit" className="flex w-full flex-col items-start gap-2 rounded-lg border border-warn bg-warn-soft p-3 text-left">
        <h2 className="font-semibold">The repository has no commit yet</h2>
        <p className="wrap-anywhere">An agent&apos;s worktree starts at a commit. The first commit takes in all that git does not ignore; {files}.</p>
        <FirstCommitButton />
      </section>
    )
  );
}
