/*
 * What a person can decide about each need, as data. It knows no React.
 */
import { api, Problem, type Api } from "@/api/client";
import { isGate } from "@/needs/answers";
import { give } from "@/tasks/give";

type Need = Api<"Need">;

/** A decision that one button or key gives. */
export interface Action {
  id: string;
  key: string; // on the keyboard; empty: it has none
  label: string;
  tone: "accent" | "plain" | "bad";
  about: string; // what it does, in a sentence
  done: string; // what it did, behind the name
  send: (all: readonly Need[]) => Promise<unknown>;
}

/** Sends a command for each of several needs; the first refusal is thrown when all have been sent. */
export function each(send: (n: Need) => Promise<unknown>): Action["send"] {
  return async (all) => {
    const refused = (await Promise.allSettled(all.map(send))).find((r) => r.status === "rejected");
    if (refused !== undefined) {
      throw refused.reason;
    }
  };
}

const node = (n: Need) => ({ params: { path: { id: n.run ?? "", node: n.name } } });
const agent = (n: Need) => ({ params: { path: { name: n.name } } });
const task = (n: Need) => ({ params: { path: { id: n.name } }, body: {} });

/** A command for each of several needs, after which the messages that tell of the same are read. */
export function settles(send: Action["send"]): Action["send"] {
  return async (all) => {
    await send(all);
    await Promise.allSettled(all.flatMap((n) => n.messages ?? []).map((id) => api.POST("/api/messages/{id}/read", { params: { path: { id } } })));
  };
}

const approveGate: Action = { id: "approve", key: "a", label: "Approve", tone: "accent", about: "What waits for the gate starts.", done: "approved", send: each((n) => api.POST("/api/runs/{id}/nodes/{node}/approve", node(n))) };
const retry: Action = { id: "retry", key: "r", label: "Retry", tone: "accent", about: "Its next attempt continues the work.", done: "retried", send: each((n) => api.POST("/api/runs/{id}/nodes/{node}/retry", { ...node(n), body: {} })) };
const override: Action = { id: "override", key: "o", label: "Override", tone: "plain", about: "Marks the node done, whatever its own result. Its dependents start.", done: "overridden", send: each((n) => api.POST("/api/runs/{id}/nodes/{node}/override", node(n))) };
const stop: Action = { id: "stop", key: "d", label: "Cancel node", tone: "bad", about: "Its agent is ended and its work is kept. What waits for it is blocked.", done: "cancelled", send: each((n) => api.POST("/api/runs/{id}/nodes/{node}/stop", node(n))) };
const release: Action = { id: "release", key: "r", label: "Release", tone: "accent", about: "The agent continues by itself.", done: "released", send: each((n) => api.POST("/api/runs/{id}/nodes/{node}/release", node(n))) };
const judge = (verdict: "approved" | "dropped") => each((n) => api.POST("/api/runs/{id}/nodes/{node}/review", { ...node(n), body: { verdict, ...(n.commit === undefined ? {} : { commit: n.commit }) } }));
const approveWork: Action = { id: "approve-work", key: "a", label: "Approve", tone: "accent", about: "A merge takes the work as you see it.", done: "approved", send: judge("approved") };
const dropWork: Action = { id: "drop-work", key: "d", label: "Drop", tone: "bad", about: "A merge leaves the work out, and what is built on it. The branch is kept.", done: "dropped", send: judge("dropped") };
const dropOf = (name: string, key: string): Action => ({ ...dropWork, id: `drop ${name}`, key, label: `Drop ${name}`, done: `${name} dropped`, send: each((n) => judge("dropped")([{ ...n, name }])) });
const resume: Action = { id: "resume", key: "r", label: "Resume run", tone: "accent", about: "The run gets a runner again.", done: "resumed", send: each((n) => api.POST("/api/runs/{id}/resume", { params: { path: { id: n.run ?? "" } } })) };
const merge: Action = { id: "merge", key: "a", label: "Merge task", tone: "accent", about: "Its work is merged into the integration branch, with the checks. What does not fit becomes a task.", done: "merge started", send: settles(mergeTasks) };
const assignAgain: Action = { id: "assign", key: "r", label: "Assign again", tone: "accent", about: "The agent that had the task begins it again, with what it has done.", done: "assigned again", send: settles(each(assign)) };
const putBack: Action = { id: "pause", key: "p", label: "Put back", tone: "plain", about: "The task waits until it is assigned again.", done: "put back", send: settles(each((n) => api.POST("/api/tasks/{id}/pause", task(n)))) };
const tryNow: Action = { id: "try", key: "r", label: "Try now", tone: "accent", about: "The limit counts as over, for all runs that use the account.", done: "tried now", send: each((n) => api.POST("/api/runs/{id}/nodes/{node}/release", { params: { path: { id: n.run ?? "", node: n.nodes?.[0] ?? "" } } })) };
const callDone: Action = { id: "done", key: "o", label: "Call done", tone: "plain", about: "The task counts as done, whatever its own result is.", done: "called done", send: settles(each((n) => api.POST("/api/tasks/{id}/done", task(n)))) };
const cancel: Action = { id: "cancel", key: "d", label: "Cancel task", tone: "bad", about: "Nobody works on the task anymore. Its work is kept.", done: "cancelled", send: settles(each((n) => api.POST("/api/tasks/{id}/cancel", task(n)))) };
const ack: Action = { id: "ack", key: "a", label: "Acknowledge", tone: "accent", about: "You know of the incident. It stays open until its cause is gone.", done: "acknowledged", send: each((n) => api.POST("/api/incidents/{id}/ack", { params: { path: { id: n.name } }, body: {} })) };
const read: Action = { id: "read", key: "a", label: "Mark as read", tone: "plain", about: "The message leaves this list.", done: "marked as read", send: each((n) => api.POST("/api/messages/{id}/read", { params: { path: { id: n.name } } })) };
const wake: Action = { id: "wake", key: "r", label: "Wake", tone: "accent", about: "The agent is started again.", done: "woken", send: each((n) => api.POST("/api/agents/{name}/wake", agent(n))) };
const giveBack: Action = { ...release, id: "give-back", send: each((n) => api.POST("/api/agents/{name}/release", agent(n))) };
const reset: Action = { id: "reset", key: "o", label: "Reset", tone: "plain", about: "The agent begins a new conversation with its unfinished task.", done: "reset", send: each((n) => api.POST("/api/agents/{name}/reset", agent(n))) };

const ofRoom = (act: Api<"RoomOrder">["do"], over: Omit<Action, "id" | "send">): Action => ({
  id: `room-${act}`,
  ...over,
  send: each((n) => api.POST("/api/rooms/{room}/orders", { params: { path: { room: n.name } }, body: { do: act, ...(n.member === undefined ? {} : { names: [n.member] }) } })),
});
const goOn = ofRoom("continue", { key: "r", label: "Continue the round", tone: "accent", about: "Its members may take turns again, as many as the room's settings say.", done: "continued" });
const resumeRoom = ofRoom("resume", { key: "r", label: "Resume", tone: "accent", about: "Messages wake its members again.", done: "resumed" });
const monitor: Action = { ...resumeRoom, label: "Start the monitor", about: "The room goes on when the monitor is up.", done: "monitor started" };
const wakeMember = ofRoom("wake", { key: "r", label: "Wake", tone: "accent", about: "It takes turns again.", done: "woken" });
const skip = ofRoom("skip", { key: "o", label: "Skip", tone: "plain", about: "The round continues without it.", done: "skipped" });
const moreTime = ofRoom("wait", { key: "r", label: "Give it more time", tone: "accent", about: "You are asked again when it has worked as long once more.", done: "given more time" });
const stopTurn = ofRoom("stop", { key: "d", label: "Stop the turn", tone: "bad", about: "Its turn is interrupted; what it has said is kept.", done: "stopped" });
const releaseMember: Action = { ...release, id: "release-member", about: "The room continues with it.", send: each((n) => api.POST("/api/agents/{name}/release", { params: { path: { name: n.agent ?? "" } } })) };

const withTask = (n: Need): Need => ({ ...n, name: n.task ?? "" });
const restart: Action = { id: "restart", key: "r", label: "Assign again", tone: "plain", about: "The task's next attempt begins, with the work so far and the project's checks as they are now.", done: "assigned again", send: each((n) => give.again({ id: n.task ?? "", agent: n.name })) };
const cancelWork: Action = { ...cancel, id: "cancel-work", done: "task cancelled", send: (all) => cancel.send(all.map(withTask)) };

/** Gives a task back to the agent that had it. */
export function assign(n: Need): Promise<unknown> {
  return api.POST("/api/tasks/{id}/assign", { params: { path: { id: n.name } }, body: { agent: n.agent ?? "" } });
}

/** The decisions that fit a need, the one that a person most often gives first. */
export function actionsOf(n: Need): Action[] {
  const fits = (name: string) => n.orders?.includes(name) === true;
  const some = (...all: (readonly [string, Action])[]) => all.filter(([order]) => fits(order)).map(([, action]) => action);
  switch (n.kind) {
    case "node":
      return isGate(n) ? some(["approve", approveGate], ["override", override], ["stop", stop]) : some(["release", release], ["retry", { ...retry, tone: n.question ? "plain" : "accent" }], ["override", override], ["stop", n.question?.permission ? { ...stop, key: "" } : stop]); // d denies
    case "failure":
      return some(["retry", retry], ["override", override]);
    case "review":
      return [approveWork, dropWork];
    case "run":
      return some(["resume", resume]);
    case "agent":
      return n.question?.silent === true && n.task !== undefined ? [restart, cancelWork] : some(["release", giveBack], ["wake", wake], ["reset", reset]);
    case "task":
      return n.agent === undefined ? [{ ...putBack, tone: "accent" }, callDone, cancel] : [assignAgain, putBack, callDone, cancel];
    case "merge":
      return [merge];
    case "room":
      return some(["continue", goOn], ["resume", n.try?.startsWith("cmux rooms open ") === true ? monitor : resumeRoom], ["wake", wakeMember], ["release", releaseMember], ["wait", moreTime], ["stop", stopTurn], ["skip", skip]);
    case "incident":
      return [ack];
    case "message":
      return [read];
    case "limit":
      return some(["release", tryNow]);
    case "conflict":
      return (n.nodes ?? []).map((name, i) => dropOf(name, String(i + 1)));
    case "fault":
      return [];
  }
}

/** The decisions that fit a node's work as it stands. */
export function reviewActions(state: Api<"Delivery">["state"]): Action[] {
  switch (state) {
    case "merged":
    case "nothing to review":
    case "sent back":
      return [];
    case "approved":
      return [dropWork];
    case "dropped":
      return [approveWork];
    default:
      return [approveWork, dropWork];
  }
}

/** The decisions that fit all of several needs. */
export function commonActions(needs: readonly Need[]): Action[] {
  const [first, ...others] = needs.map(actionsOf);
  return (first ?? []).filter((a) => others.every((all) => all.some((b) => b.id === a.id)));
}

/** The answer that a key gives: a digit for an option of a question of one part, and a and d, or 1 and 2, for yes and no to a permission. */
export function answerByKey(n: Need, key: string): string | undefined {
  const [part, ...more] = n.question?.parts ?? [];
  if (n.orders?.includes("answer") !== true || part === undefined || more.length > 0) {
    return undefined;
  }
  const permission = n.question?.permission !== undefined;
  const options = permission ? ["yes", "no"] : (part.options ?? []);
  return permission && key === "a" ? "yes" : permission && key === "d" ? "no" : /^[1-9]$/.test(key) ? options[Number(key) - 1] : undefined;
}

/** Answers what an agent or a node asks. */
export function sendAnswer(n: Need, body: Api<"Answer">): Promise<unknown> {
  return n.kind === "agent" ? api.POST("/api/agents/{name}/answer", { ...agent(n), body }) : api.POST("/api/runs/{id}/nodes/{node}/answer", { ...node(n), body });
}

// The server has one merge of tasks at a time.
let merging: Promise<unknown> = Promise.resolve();

/** Merges tasks, and throws if one stays out. */
function mergeTasks(all: readonly Need[]): Promise<unknown> {
  const merge = async () => {
    await api.POST("/api/tasks/merge", { body: { ids: all.map((n) => n.name) } });
    let { data } = await api.GET("/api/tasks/merge");
    while (data?.running === true) {
      await new Promise((later) => setTimeout(later, 300));
      ({ data } = await api.GET("/api/tasks/merge"));
    }
    const out = data?.result?.tasks.find((t) => !["merged", "contained", "nothing"].includes(t.outcome));
    if (data?.failed !== undefined && data.failed !== "") {
      throw new Problem(-1, data.failed, data.try);
    }
    if (out !== undefined) {
      throw new Problem(-1, `${out.id} is not merged: ${out.outcome}${out.task === "" ? "" : `, ${out.task} brings it in`}`, out.try === "" ? undefined : out.try);
    }
  };
  merging = merging.then(merge, merge);
  return merging;
}
