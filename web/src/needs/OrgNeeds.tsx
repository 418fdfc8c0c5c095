import { Suspense, useState } from "react";

import { api, hooks, type Api } from "@/api/client";
import { Boundary } from "@/app/Boundary";
import { AnswerForm } from "@/needs/AnswerForm";
import { OpenTerminal } from "@/needs/OpenTerminal";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { lazily } from "@/ui/lazily";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

const Markdown = lazily(async () => ({ default: (await import("@/ui/markdown")).Markdown }));

type Need = Api<"Need">;

export function AgentNeed({ need: { name }, need }: { need: Need }) {
  const params = { params: { path: { name } } };
  const answer = useOrder((body: Api<"Answer">) => api.POST("/api/agents/{name}/answer", { ...params, body }), ({ data }) => (data?.outcome === "waits" ? `${name} has not read it yet: ${data.why}` : `${name} is answered.`));
  const release = useOrder(() => api.POST("/api/agents/{name}/release", params), `${name} is given back.`);
  const reset = useOrder(() => api.POST("/api/agents/{name}/reset", params), `${name} begins a new conversation.`);
  const wake = useOrder(() => api.POST("/api/agents/{name}/wake", params), `${name} is started again.`);
  const orders = need.orders ?? [];
  return (
    <div className="flex flex-col gap-2">
      {orders.includes("answer") && <AnswerForm of={name} question={need.question} busy={answer.isPending} send={answer.mutate} />}
      <div className="flex flex-wrap gap-1.5">
        <OpenTerminal need={need} />
        {orders.includes("wake") && (
          <Button tone="accent" busy={wake.isPending} onClick={() => wake.mutate()}>
            Wake
          </Button>
        )}
        {orders.includes("release") && (
          <Button tone="accent" busy={release.isPending} onClick={() => release.mutate()}>
            Release
          </Button>
        )}
        {orders.includes("reset") && (
          <Confirm title={`Reset ${name}?`} text="It begins a new conversation with its unfinished task." action="Reset" busy={reset.isPending} onConfirm={() => reset.mutate()}>
            Reset
          </Confirm>
        )}
      </div>
    </div>
  );
}

export function TaskNeed({ need: { name: id } }: { need: Need }) {
  const task = hooks.useQuery("get", "/api/tasks/{id}", { params: { path: { id } } });
  const params = { params: { path: { id } }, body: {} };
  const pause = useOrder(() => api.POST("/api/tasks/{id}/pause", params), `${id} is put back.`);
  const done = useOrder(() => api.POST("/api/tasks/{id}/done", params), `${id} counts as done.`);
  const cancel = useOrder(() => api.POST("/api/tasks/{id}/cancel", params), `${id} is cancelled.`);
  return (
    <div className="flex flex-col gap-2">
      {task.data?.reason !== undefined && task.data.reason !== "" && <p className="whitespace-pre-wrap text-muted wrap-anywhere">{task.data.reason}</p>}
      <div className="flex flex-wrap gap-1.5">
        <Button tone="accent" busy={pause.isPending} onClick={() => pause.mutate()}>
          Put back
        </Button>
        <Confirm title={`Call ${id} done?`} text="It counts as done, whatever its own result is." action="Done" busy={done.isPending} onConfirm={() => done.mutate()}>
          Done
        </Confirm>
        <Confirm title={`Cancel ${id}?`} text="Nobody works on it any more. What was done is kept." action="Cancel the task" tone="bad" busy={cancel.isPending} onConfirm={() => cancel.mutate()}>
          Cancel
        </Confirm>
      </div>
    </div>
  );
}

/** A message's markdown; as it stands for as long as what reads it is not there. */
function MessageText({ children }: { children: string }) {
  const plain = <p className="whitespace-pre-wrap wrap-anywhere">{children}</p>;
  return (
    <Boundary instead={plain}>
      <Suspense fallback={plain}>
        <Markdown>{children}</Markdown>
      </Suspense>
    </Boundary>
  );
}

export function MessageNeed({ need: { name: id, text } }: { need: Need }) {
  const [open, setOpen] = useState(false);
  const read = useOrder(() => api.POST("/api/messages/{id}/read", { params: { path: { id } } }));
  const mail = hooks.useQuery("get", "/api/messages/{id}", { params: { path: { id } } }, { enabled: open });
  const reply = useOrder(async (body: string) => {
    const to = (await api.GET("/api/messages/{id}", { params: { path: { id } } })).data?.from ?? "";
    await api.POST("/api/messages", { body: { to, subject: `Re: ${text}`.slice(0, 200), body, re: id } });
    await api.POST("/api/messages/{id}/read", { params: { path: { id } } });
  }, "The reply is sent.");
  return (
    <div className="flex flex-col gap-2">
      {open && (
        <Answer query={mail}>
          {({ body }) => (
            <div className="max-h-96 overflow-auto rounded border border-line bg-canvas p-2" tabIndex={0} role="group" aria-label={`The message ${text}`}>
              {body.trim() === "" ? (
                <p className="text-muted">It has no body.</p>
              ) : (
                <MessageText>{body}</MessageText>
              )}
            </div>
          )}
        </Answer>
      )}
      {open && <AnswerForm of={text} label={`Reply to ${text}`} verb="Reply" busy={reply.isPending} send={(said) => reply.mutate(said.text)} />}
      <div className="flex flex-wrap gap-1.5">
        <Button aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Close" : "Read"}
        </Button>
        <Button busy={read.isPending} onClick={() => read.mutate()}>
          Mark as read
        </Button>
      </div>
    </div>
  );
}
