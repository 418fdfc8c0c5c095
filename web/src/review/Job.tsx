import type { ReactNode } from "react";

import { Output } from "@/conversation/Output";
import { Label } from "@/ui/label";
import { Ago } from "@/ui/time";

/** What is known of every job that the server was told to begin. */
interface JobFacts {
  running: boolean;
  doing?: string;
  failed?: string;
  output: string;
  started_at?: string;
  try?: string;
}

/** A job: what it is at, what its checks write, how it ended. */
export function Job({ job, children }: { job: JobFacts; children?: ReactNode }) {
  const failed = job.failed !== undefined && job.failed !== "";
  return (
    <div role="group" aria-label="Job" className="flex flex-col gap-2">
      <p className="flex flex-wrap items-center gap-2" role="status">
        <Label tone={job.running ? "info" : failed ? "bad" : "ok"}>{job.running ? "running" : failed ? "failed" : "done"}</Label>
        {job.running && job.doing !== undefined && <span className="wrap-anywhere">{job.doing}</span>}
        {failed && <span className="text-bad wrap-anywhere">{job.failed}</span>}
        {job.started_at !== undefined && (
          <span className="text-muted">
            begun <Ago at={job.started_at} /> ago
          </span>
        )}
      </p>
      {failed && job.try !== undefined && job.try !== "" && (
        <p className="text-muted">
          Try <code className="wrap-anywhere">{job.try}</code>
        </p>
      )}
      {job.output !== "" && <Output text={job.output} open={job.running || failed} label="End of what its checks wrote" />}
      {!job.running && children}
    </div>
  );
}
