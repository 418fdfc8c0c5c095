import { otherChecks, type Task } from "@/tasks/board";

/** Says that a task is judged by other checks than it would be given now. */
export function OtherChecks({ task }: { task: Task }) {
  const { judged } = task;
  if (judged === null || !otherChecks(task)) {
    return null;
  }
  return (
    <p className="wrap-anywhere text-warn">
      Its checks are those of when it was given: <Commands of={judged.given} />. The checks are now: <Commands of={judged.now} />. Assign the task again to use them.
    </p>
  );
}

function Commands({ of }: { of: readonly string[] }) {
  return of.length === 0 ? (
    "none"
  ) : (
    <>
      {of.map((c, i) => (
        <span key={c}>
          {i > 0 && ", "}
          <code>{c}</code>
        </span>
      ))}
    </>
  );
}
