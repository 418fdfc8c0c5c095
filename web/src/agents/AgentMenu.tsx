import { MoreHorizontal } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router";

import { AssignDialog, TextDialog } from "@/agents/AgentDialogs";
import { called, type Agent } from "@/agents/agents";
import { give } from "@/agents/give";
import { Button, IconButton } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Menu, type MenuItem } from "@/ui/menu";
import { useOrder } from "@/ui/toasts";

type Asked = "assign" | "send" | "answer" | "reset" | "merge-clone" | "demote" | "remove" | "force";

/** What will happen, before it does. */
const asks: Readonly<Partial<Record<Asked, { title: (n: string) => string; text: string; action: string }>>> = {
  reset: {
    title: (n) => `Reset ${n}?`,
    text: "Its conversation ends and is kept. A new one begins with the unfinished task.",
    action: "Reset",
  },
  "merge-clone": {
    title: (n) => `Merge clone ${n}?`,
    text: "What it committed is brought into the branch of the agent that it is a clone of, and the clone is removed.",
    action: "Merge and remove",
  },
  demote: {
    title: (n) => `Demote ${n}?`,
    text: "It becomes an ordinary worker: it keeps its task, and is no longer kept for the next one.",
    action: "Demote",
  },
  remove: {
    title: (n) => `Remove ${n}?`,
    text: "The agent is ended. Its conversation, its branch and a snapshot of what is not committed are kept.",
    action: "Remove",
  },
  force: {
    title: (n) => `Remove ${n} at once?`,
    text: "It is ended in the middle of its work. Its conversation, its branch and a snapshot of what is not committed are kept.",
    action: "Remove at once",
  },
};

/** All orders for an agent. */
export function AgentMenu({ agent, labeled = false }: { agent: Agent; labeled?: boolean }) {
  const [asked, ask] = useState<Asked>();
  const [answered, setAnswered] = useState(""); // the question that stood there when the dialog was opened
  const navigate = useNavigate();
  const { name } = agent;
  const close = () => ask(undefined);
  const reset = useOrder(give.reset, `${name} begins a new conversation.`);
  const wake = useOrder(give.wake, `${name} is started again.`);
  const take = useOrder(give.take, `${name} is yours: cmux types nothing to it.`);
  const release = useOrder(give.release, `${name} is given back.`);
  const clone = useOrder(give.clone, ({ data }) => `${data?.name ?? "A clone"} is made.`);
  const merge = useOrder(give.mergeClone, ({ data }) => `${name} is merged into ${data?.into ?? "its branch"}.`);
  const demote = useOrder(give.demote, `${name} is an ordinary worker.`);
  const remove = useOrder(give.remove, ({ data }) => `${name} is removed. What it leaves is in ${data?.archive ?? "the archive"}.`);
  const carryOut: Readonly<Partial<Record<Asked, () => void>>> = {
    reset: () => reset.mutate(name),
    "merge-clone": () => merge.mutate(name),
    demote: () => demote.mutate(name),
    remove: () => remove.mutate({ name, force: false }),
    force: () => remove.mutate({ name, force: true }),
  };
  const question = asked === undefined ? undefined : asks[asked];
  const items: readonly MenuItem[] = [
    { label: "Chat", run: () => void navigate(`/chat/${encodeURIComponent(name)}`) },
    { label: "Assign a task…", run: () => ask("assign") },
    { label: "Send a message…", run: () => ask("send") },
    ...(agent.question === undefined
      ? []
      : [
          {
            label: "Answer…",
            run: () => {
              setAnswered(agent.question?.id ?? "");
              ask("answer");
            },
          },
        ]),
    agent.state === "taken over" ? { label: "Release", run: () => release.mutate(name) } : { label: "Take over", run: () => take.mutate(name) },
    { label: "Wake", run: () => wake.mutate(name) },
    { label: "Reset…", run: () => ask("reset") },
    ...(agent.permanent
      ? [
          { label: "Clone", run: () => clone.mutate(name) },
          { label: "Merge clone…", run: () => ask("merge-clone") },
          { label: "Demote…", run: () => ask("demote") },
        ]
      : [{ label: "Merge clone…", run: () => ask("merge-clone") }]),
    { label: "Remove…", run: () => ask("remove"), bad: true },
    { label: "Remove at once…", run: () => ask("force"), bad: true },
  ];
  return (
    <>
      <Menu
        trigger={
          labeled ? (
            <Button icon={<MoreHorizontal aria-hidden size={16} />}>Actions</Button>
          ) : (
            <IconButton label={`Actions for ${name}`}>
              <MoreHorizontal size={18} />
            </IconButton>
          )
        }
        items={items}
      />
      {asked !== undefined && question !== undefined && (
        <Dialog title={question.title(called(agent))} description={question.text} open onOpenChange={close}>
          <div className="flex justify-end gap-2">
            <Button data-first onClick={close}>
              Cancel
            </Button>
            <Button
              tone={asked === "remove" || asked === "force" ? "bad" : "accent"}
              onClick={() => {
                close();
                carryOut[asked]?.();
              }}
            >
              {question.action}
            </Button>
          </div>
        </Dialog>
      )}
      {asked === "assign" && <AssignDialog name={name} onClose={close} />}
      {asked === "send" && <TextDialog title={`Message to ${called(agent)}`} label="Message" action="Send" give={(text) => give.send({ name, text })} done="The message is sent." onClose={close} />}
      {asked === "answer" && <TextDialog title={`Answer ${called(agent)}`} label="Answer" action="Answer" give={(text) => give.answer({ name, text, question: answered })} done={({ data }) => (data?.outcome === "waits" ? `Not read yet: ${data.why}` : data?.why || "The answer is given.")} onClose={close} />}
    </>
  );
}
