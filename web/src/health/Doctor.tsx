import { hooks } from "@/api/client";
import { Button } from "@/ui/button";
import { Label } from "@/ui/label";
import { Answer } from "@/ui/states";

/** What keeps cmux from working, and what helps. */
export function Doctor() {
  const doctor = hooks.useQuery("get", "/api/doctor");
  return (
    <Answer query={doctor}>
      {(d) => (
        <div className="flex flex-col gap-3 p-4">
          <p className="flex items-center gap-3">
            <Label tone={d.ok ? "ok" : "bad"}>{d.ok ? "Everything is in order" : "Something is missing"}</Label>
            <Button busy={doctor.isFetching} onClick={() => void doctor.refetch()}>
              Look again
            </Button>
          </p>
          <ul className="flex flex-col gap-2">
            {d.findings.map((f, i) => (
              <li key={i} className="flex flex-wrap items-baseline gap-2 rounded-lg border border-line bg-surface p-2">
                <Label tone={f.ok ? "ok" : "bad"}>{f.ok ? "ok" : "problem"}</Label>
                <strong className="wrap-anywhere">{f.what}</strong>
                <span className="min-w-0 grow wrap-anywhere">{f.detail}</span>
                {f.try !== "" && !f.ok && <code className="wrap-anywhere">{f.try}</code>}
              </li>
            ))}
          </ul>
        </div>
      )}
    </Answer>
  );
}
