import type { Tone } from "@/ui/label";

/** What a line of the story is about. */
export type About = "people" | "work" | "tasks" | "messages" | "trouble";

/** An event of the log, asked for or live. */
export interface Logged {
  seq: number;
  at: string;
  source: string; // mailbox, tasks, journal, incidents, audit, agent:NAME, run:ID/NODE
  kind: string;
  body: unknown;
}

export interface Named {
  text: string;
  to?: string; // a page of it
}

/** A line of the story: who did what to what. */
export interface Told {
  key: string;
  seq: number; // of its event; 0: it is of a run
  at: string;
  about: About;
  tone: Tone;
  who: Named;
  does: string;
  what: Named | undefined;
  more: string; // why, or what was said
  times: number; // how often in a row
}

/** What is known beside the log. */
export interface Known {
  run: (id: string) => string | undefined; // what it is called
  task: (id: string) => string | undefined; // its title
}

/** The kinds of events that a story is made of; those of all others would only be left out. */
export const kinds: readonly string[] = [
  ...["order", "entry", "message", "delivery"],
  ...["add", "move", "verdict", "override", "merge"],
  ...["open", "reopen", "close", "ack"],
  ...["status", "question", "answer", "interrupted", "report", "check", "hand_back", "denied", "fenced", "limit", "end"],
];

type Told0 = Pick<Told, "about" | "who" | "does"> & Partial<Pick<Told, "tone" | "what" | "more">>;

/** The event as a line; undefined: it is one of the many that nobody looks back for. */
export function tell(e: Logged, known: Known): Told | undefined {
  const b = new Body(e.body);
  const [area, rest] = split(e.source);
  const told = byArea(area, rest, e.kind, b, known);
  return told && { key: `e${e.seq}`, seq: e.seq, at: e.at, tone: "muted", what: undefined, times: 1, ...told, more: oneLine(told.more ?? "") };
}

function byArea(area: string, rest: string, kind: string, b: Body, known: Known): Told0 | undefined {
  switch (area) {
    case "mailbox":
      return ofMail(kind, b);
    case "tasks":
      return ofTask(kind, b, known);
    case "incidents":
      return ofIncident(kind, b);
    case "journal":
      return kind === "entry" ? { about: "people", who: person(b.text("by")), does: "wrote in the journal", more: b.text("title") || b.text("text") } : undefined;
    case "audit":
      return kind === "order" ? ofCommand(b, known) : undefined;
    case "run": {
      const told = ofAgent(worker(area, rest), area, kind, b);
      return told && { what: inRun(rest.slice(0, rest.indexOf("/")), known), ...told };
    }
    case "agent":
      return ofAgent(worker(area, rest), area, kind, b);
    default:
      return undefined;
  }
}

function ofMail(kind: string, b: Body): Told0 | undefined {
  if (kind === "message") {
    const to = b.text("to");
    return { about: "messages", who: person(b.text("from")), does: "wrote to", what: person(to, true), more: b.text("subject") || b.text("body"), tone: to === "user" ? "info" : "muted" };
  }
  const state = b.text("state");
  return kind === "delivery" && (state === "failed" || state === "expired") ? { about: "trouble", tone: "bad", who: cmux, does: "could not deliver a message to", what: person(b.text("to"), true), more: b.text("why") } : undefined;
}

function ofTask(op: string, b: Body, known: Known): Told0 | undefined {
  const id = b.text("task");
  const title = b.text("title") || known.task(id) || "";
  const task: Named = { text: title === "" ? id : `${id} ${oneLine(title)}`, to: `/tasks/${encodeURIComponent(id)}` };
  const by = person(b.text("by"));
  const reason = b.text("reason");
  switch (op) {
    case "add":
      return { about: "tasks", who: by, does: b.is("backlog") ? "added to the backlog" : "added the task", what: task };
    case "override":
      return { about: "tasks", tone: "ok", who: by, does: "called done", what: task, more: reason };
    case "merge":
      return { about: "tasks", tone: "ok", who: by, does: "merged", what: task };
    case "verdict": {
      const end = new Body(b.value("end"));
      const outcome = end.text("outcome");
      return outcome === "cancelled" ? undefined : { about: "tasks", tone: outcome === "done" ? "ok" : "bad", who: task, does: outcome === "done" ? "is done" : `ended: ${outcome || "failed"}`, more: end.text("detail") };
    }
    case "move":
      return ofMove(b.text("to"), b.text("agent"), reason, by, task);
    default:
      return undefined;
  }
}

function ofMove(to: string, agent: string, reason: string, by: Named, task: Named): Told0 | undefined {
  switch (to) {
    case "assigned":
      return { about: "tasks", who: by, does: `gave ${agent === "" ? "an agent" : agent} the task`, what: task, more: reason };
    case "working":
      return { about: "tasks", tone: "info", who: task, does: "is under way", more: reason };
    case "checking":
      return undefined; // done, or failed, comes next
    case "cancelled":
      return { about: "tasks", tone: "warn", who: by, does: "cancelled", what: task, more: reason };
    case "paused":
      return { about: "tasks", tone: "warn", who: by, does: "paused", what: task, more: reason };
    case "open":
      return { about: "tasks", who: by, does: "put back", what: task, more: reason };
    case "needs input":
    case "blocked":
    case "failed":
      return { about: "trouble", tone: to === "needs input" ? "warn" : "bad", who: task, does: to === "needs input" ? "needs you" : to === "failed" ? "failed" : "is blocked", more: reason };
    default:
      return { about: "tasks", who: task, does: `is ${to}`, more: reason };
  }
}

function ofIncident(op: string, b: Body): Told0 | undefined {
  const id = b.text("incident");
  const title = b.text("title");
  const what: Named = { text: title === "" ? `incident ${id}` : oneLine(title), to: `/health?tab=incidents&incident=${encodeURIComponent(id)}` };
  switch (op) {
    case "open":
      return { about: "trouble", tone: "bad", who: cmux, does: "found a problem:", what };
    case "reopen":
      return { about: "trouble", tone: "bad", who: cmux, does: "found the problem again:", what };
    case "close":
      return { about: "trouble", tone: "ok", who: person(b.text("by")), does: "closed", what, more: b.text("text") || b.text("outcome") };
    case "ack":
      return { about: "people", who: person(b.text("by")), does: "acknowledged", what, more: b.text("text") };
    default:
      return undefined;
  }
}

function ofAgent(who: Named, area: string, kind: string, b: Body): Told0 | undefined {
  const text = b.text("text");
  switch (kind) {
    case "status":
      switch (b.text("state")) {
        case "needs input":
          return { about: "trouble", tone: "warn", who, does: "needs you", more: text };
        case "taken over":
          return { about: "people", tone: "warn", who: you, does: "took over", what: who };
        case "setting up":
          return area === "run" ? { about: "work", tone: "info", who, does: "started" } : undefined; // a task that is under way says it
        default:
          return undefined;
      }
    case "question":
      return { about: "trouble", tone: "warn", who, does: "asks", more: text };
    case "answer":
      return { about: "people", who: you, does: "answered", what: who, more: text };
    case "interrupted":
      return { about: "people", tone: "warn", who: you, does: "interrupted", what: who };
    case "report": {
      const done = b.text("state") === "done";
      return { about: "work", tone: done ? "ok" : "bad", who, does: done ? "reported done" : "reported that it is blocked", more: text };
    }
    case "check":
      return b.is("failed") ? { about: "trouble", tone: "bad", who, does: "failed the check", what: { text: oneLine(b.text("command")) } } : undefined;
    case "hand_back": // what begins a turn is one too: a message or a task, which have lines of their own
      return /^(<message |New task |\[TASK-)/.test(text) ? undefined : { about: "work", tone: "warn", who: cmux, does: "sent back", what: who, more: text };
    case "denied":
      return { about: "trouble", tone: "bad", who: cmux, does: `refused ${b.text("tool") || "a call"} of`, what: who, more: text };
    case "fenced":
      return { about: "trouble", tone: "warn", who: cmux, does: "kept a write out of the fence of", what: who, more: text };
    case "limit":
      return { about: "trouble", tone: "warn", who, does: "reached a limit", more: text };
    case "end": {
      const state = b.text("state");
      const done = state.startsWith("done");
      return { about: "work", tone: done ? "ok" : b.is("failed") || state.startsWith("failed") ? "bad" : "muted", who, does: done ? "is done" : `ended: ${state || "no result"}`, more: text };
    }
    default:
      return undefined;
  }
}

/** What a person's command does, by its words at the command line. Those of tasks and messages have lines of their own. */
const commands: Readonly<Record<string, string>> = {
  "agents start": "started a run",
  "agents stop": "stopped",
  "agents resume": "resumed a run",
  "agents update": "updated a run",
  "agents approve": "approved the gate",
  "agents override": "called done",
  "agents retry": "retried",
  "agents release": "released",
  "agents answer": "answered",
  "agents review": "reviewed",
  "agents merge": "merged a run",
  "agents verify": "ran the checks of",
  "agents cleanup": "cleaned up a run",
  "workers spawn": "spawned",
  "workers kill": "removed",
  "workers reset": "reset",
  "workers wake": "woke",
  "workers take": "took over",
  "workers release": "released",
  "workers clone": "cloned",
  "workers demote": "demoted",
  "workers answer": "answered",
  "workers merge-clone": "merged the clone",
  "terminal take": "took the terminal of",
  start: "started the organization",
  stop: "stopped the organization",
  restart: "restarted the organization",
};

const elsewhere = /^(tasks|backlog|mailbox|journal|incidents|workers (assign|send))\b/;

function ofCommand(b: Body, known: Known): Told0 | undefined {
  const order = b.text("order");
  const about = b.text("about");
  const who = person(b.text("by"));
  const refused = b.text("refused");
  if (b.text("how") === "request" || (refused === "" && elsewhere.test(order))) {
    return undefined;
  }
  const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/api\/.*)$/.exec(order) ?? [];
  const told = path === undefined ? { does: commands[order] ?? "ran", what: commands[order] === undefined ? { text: `cmux ${order} ${about}`.trim() } : named(order, about) } : ofCall(method ?? "", path, known);
  if (told === undefined) {
    return undefined;
  }
  return refused === "" ? { about: "people", who, ...told } : { about: "trouble", tone: "bad", who: cmux, does: `refused that ${who.text} ${told.does}`, what: told.what, more: refused };
}

function named(order: string, about: string): Named | undefined {
  return about === "" ? undefined : order.startsWith("workers") || order.startsWith("terminal") ? person(about, true) : { text: about };
}

/** What a call of the page does, by its last word; those with lines of their own, and those that change nothing, are left out. */
const calls: Readonly<Record<string, string>> = {
  approve: "approved the gate",
  override: "called done",
  retry: "retried",
  stop: "cancelled",
  release: "released",
  take: "took over",
  answer: "answered",
  review: "reviewed",
  comments: "commented on",
  verify: "ran the checks of",
  reset: "reset",
  wake: "woke",
  clone: "cloned",
  demote: "demoted",
  resume: "resumed",
  update: "updated",
  merge: "merged",
};

function ofCall(method: string, path: string, known: Known): { does: string; what: Named | undefined } | undefined {
  const [group = "", name = "", verb = "", node = "", last = ""] = path.slice("/api/".length).split("/").map(decoded);
  switch (group) {
    case "runs": {
      if (name === "" || name === "plan") {
        return name === "" ? { does: "started a run", what: undefined } : undefined;
      }
      const run: Named = { text: known.run(name) ?? name, to: `/runs/${encodeURIComponent(name)}` };
      return verb === "nodes" ? { does: calls[last] ?? last, what: worker("run", `${name}/${node}`) } : { does: verb === "stop" ? "stopped the run" : `${calls[verb] ?? verb} the run`, what: run };
    }
    case "agents":
      if (name === "") {
        return { does: "spawned a worker", what: undefined };
      }
      return verb === "assign" || verb === "send" ? undefined : { does: method === "DELETE" ? "removed" : (calls[verb] ?? verb), what: person(name, true) };
    case "graph":
      return method === "PUT" ? { does: "edited", what: { text: "the graph", to: "/config/agents" } } : undefined;
    case "config":
      return { does: "applied", what: { text: "the settings file", to: "/settings" } };
    case "locks":
      return { does: verb === "break" ? "broke the lock" : verb === "take" ? "took the lock" : "released the lock", what: { text: name, to: "/agents?tab=locks" } };
    case "schedule":
      return { does: method === "DELETE" ? "removed from the schedule" : "changed the schedule", what: { text: name === "" ? "a new entry" : name, to: "/tasks?tab=schedule" } };
    case "teams":
      return name === "plan" ? undefined : { does: method === "DELETE" ? "removed the team" : "created a team", what: name === "" ? undefined : { text: name, to: "/agents?tab=teams" } };
    case "projects":
    case "sessions":
      return { does: `${method === "DELETE" ? "removed" : verb === "activate" ? "started" : "added"} a ${group.slice(0, -1)}`, what: name === "" ? undefined : { text: name, to: "/projects" } };
    case "recover":
      return name === "preview" ? undefined : { does: name === "undo" ? "undid a recovery of" : "started a recovery of", what: { text: "the project", to: "/health?tab=recover" } };
    case "maintenance":
      return { does: "cleaned up", what: undefined };
    default:
      return undefined;
  }
}

/** The runs of the project as lines: when each began, and how it ended. What no agent does is in no log. */
export function tellRuns(runs: readonly { id: string; session: string; state: string; done: number; nodes: number; failed: number; started_at: string | null; ended_at: string | null }[]): Told[] {
  return runs.flatMap((r) => {
    const who: Named = { text: `Run ${r.session}`, to: `/runs/${encodeURIComponent(r.id)}` };
    const line = (key: string, at: string | null, rest: Pick<Told, "about" | "tone" | "does" | "more">): Told[] => (at === null ? [] : [{ key: `${key} ${r.id}`, seq: 0, at, who, what: undefined, times: 1, ...rest }]);
    const many = `${r.done} of ${r.nodes} nodes done${r.failed > 0 ? `, ${r.failed} failed` : ""}`;
    return [
      ...line("end", r.ended_at, { about: r.state === "failed" ? "trouble" : "work", tone: r.state === "done" ? "ok" : r.state === "failed" ? "bad" : "warn", does: r.state === "done" ? "is done" : r.state === "failed" ? "failed" : `ended: ${r.state}`, more: many }),
      ...line("start", r.started_at, { about: "work", tone: "info", does: "started", more: `${r.nodes} ${r.nodes === 1 ? "node" : "nodes"}` }),
    ];
  });
}

/** What the story takes of a run's node. */
export interface NodeTimes {
  name: string;
  spans: readonly { attempt: number; ended: string | null; label: string; state: string }[]; // its attempts; label says how each ended
}

/** The nodes of a run as lines: how each attempt ended. `logged` says of which the log has it. */
export function tellNodes(run: { id: string; session: string }, nodes: readonly NodeTimes[], logged: (source: string) => boolean): Told[] {
  return nodes.flatMap((n) =>
    logged(`run:${run.id}/${n.name}`)
      ? []
      : n.spans.flatMap(({ attempt, ended, label, state }): Told[] => {
          if (ended === null || label === "") {
            return [];
          }
          const bad = state === "failed" || state === "lost";
          return [{ key: `node ${run.id} ${n.name} ${attempt}`, seq: 0, at: ended, about: bad ? "trouble" : "work", tone: bad ? "bad" : state === "done" ? "ok" : "warn", who: worker("run", `${run.id}/${n.name}`), does: state === "done" ? "is done" : `ended: ${label}`, what: inRun(run.id, { run: () => run.session }), more: "", times: 1 }];
        }),
  );
}

/** How near in time two lines are about the same thing, in milliseconds. */
const together = 3000;

/**
 * The story, the newest first: lines in order of time; what is said twice (a task that needs you, and its
 * agent) once; and equal lines in a row as one.
 */
export function story(lines: readonly Told[]): Told[] {
  const sorted = [...lines].sort((a, b) => Date.parse(b.at) - Date.parse(a.at) || b.seq - a.seq);
  const out: Told[] = [];
  for (const t of sorted) {
    const last = out.at(-1);
    if (last?.who.text === t.who.text && saysSame(last, t)) {
      out[out.length - 1] = { ...last, times: last.times + 1 };
    } else if (!out.slice(-3).some((o) => o.who.text !== t.who.text && saysSame(o, t))) {
      out.push(t);
    }
  }
  return out;
}

function saysSame(a: Told, b: Told): boolean {
  if (a.does !== b.does || a.what?.text !== b.what?.text) {
    return false;
  }
  if (a.who.text === b.who.text) {
    return a.more.replace(/\d+/g, "#") === b.more.replace(/\d+/g, "#"); // reminder 1, 2, 3
  }
  return a.more !== "" && a.more === b.more && Math.abs(Date.parse(a.at) - Date.parse(b.at)) < together;
}

export const you: Named = { text: "You" };
const cmux: Named = { text: "cmux" };

/** Who a name stands for; of an agent with the way to it. */
function person(name: string, object = false): Named {
  return name === "user" ? { text: object ? "you" : "You" } : name === "cmux" || name === "" ? cmux : { text: name, to: `/agents/${encodeURIComponent(name)}` };
}

/** The run that a node is of. */
function inRun(id: string, known: Pick<Known, "run">): Named {
  return { text: `in ${known.run(id) ?? id}`, to: `/runs/${encodeURIComponent(id)}` };
}

/** The agent or node of a source. */
export function worker(area: string, rest: string): Named {
  if (area === "agent") {
    return person(rest);
  }
  const at = rest.indexOf("/");
  const [run, node] = [rest.slice(0, at), rest.slice(at + 1)];
  return { text: node, to: `/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(node)}` };
}

export function split(source: string): [string, string] {
  const at = source.indexOf(":");
  return at < 0 ? [source, ""] : [source.slice(0, at), source.slice(at + 1)];
}

export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** What a line of the log holds, whatever that is. */
class Body {
  private readonly of: Readonly<Record<string, unknown>>;
  constructor(body: unknown) {
    this.of = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  }
  value(key: string): unknown {
    return this.of[key];
  }
  text(key: string): string {
    const v = this.of[key];
    return typeof v === "string" ? v : "";
  }
  is(key: string): boolean {
    return this.of[key] === true;
  }
}
