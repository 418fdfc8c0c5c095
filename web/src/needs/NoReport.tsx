import { Link } from "react-router";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { sendAnswer } from "@/needs/actions";
import { AnswerForm } from "@/needs/AnswerForm";
import { useDecide } from "@/needs/held";
import { CheckLine, Part } from "@/needs/pieces";
import { OtherChecks } from "@/tasks/OtherChecks";

/** An agent that stopped without a word on how its work stands: it asks nothing, and goes on when it is told something. */
export function Silent({ need }: { need: Api<"Need"> }) {
  const decide = useDecide();
  const { id = "", parts } = need.question ?? { parts: [] };
  return (
    <>
      <p className="max-w-prose wrap-anywhere">{`${need.name} ${parts.map((p) => p.text).join("\n")}. cmux reminded it to report that it is done or blocked. Tell it what to do next.`}</p>
      <div className="max-w-prose">
        <AnswerForm of={need.name} question={{ id, parts: [{ text: "" }] }} label={`Message to ${need.name}`} verb="Send" busy={false} send={(answer) => decide([need], `${need.name}: message “${answer.text.slice(0, 60)}”`, () => sendAnswer(need, answer))} />
      </div>
    </>
  );
}

/** What an agent that waits works on, and the check that its work does not pass. */
export function AtTask({ task: t, failed }: { task: Api<"TaskView">; failed: Api<"RunCheck"> | null }) {
  return (
    <Part title="Its task">
      <p className="wrap-anywhere">
        <Link to={`/tasks/${encodeURIComponent(t.id)}`} className="text-accent underline">
          {`${t.id} ${visible(t.title)}`}
        </Link>
      </p>
      {failed && <CheckLine check={failed} />}
      <OtherChecks task={t} />
    </Part>
  );
}
