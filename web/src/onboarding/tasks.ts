/** A node of a first graph. */
export interface Sketch {
  name: string;
  task?: string;
  role?: "build" | "review" | "gate";
  kind?: string; // missing: that of the draft
  after: readonly string[];
}

/** Words that a task begins with, so that "fix the login and write the docs" is two. */
const verbs =
  "add|adjust|build|change|check|clean|convert|create|delete|deploy|describe|design|document|drop|explain|extend|extract|find|fix|handle|implement|improve|integrate|introduce|investigate|look|make|measure|mend|merge|migrate|move|optimize|polish|port|prepare|profile|publish|refactor|release|remove|rename|replace|report|restructure|review|rewrite|run|set|ship|simplify|speed|split|summarize|support|switch|test|translate|try|tune|update|upgrade|use|validate|verify|write";

const then = /(?:^|[,;.]?\s+)(?:and\s+)?(?:then|after that|afterwards|finally|next)\b[,:]?\s+/i;
const apart = new RegExp(`\\s*[;\\n]+\\s*|\\.\\s+(?=\\p{Lu})|,?\\s+and\\s+(?=(?:${verbs})\\b)|,\\s+(?=(?:${verbs})\\b)`, "iu");
const bullet = /^\s*(?:[-*•]|\d+[.)])\s+/;

const called = /^([A-Za-z][\w-]{0,31}):\s+(.*\S.*)$/s;

/** How many tasks a text can name. */
export const mostTasks = 100;

/**
 * The nodes that a text names: a task in each line or part of a sentence, at work at the same time; what
 * stands behind a "then" starts when all before it are done.
 */
export function sketch(text: string): Sketch[] {
  const stages = text
    .split("\n")
    .map((l) => l.replace(bullet, ""))
    .join("\n")
    .split(new RegExp(then, "gi"));
  const out: Sketch[] = [];
  const taken = new Set<string>();
  let before: string[] = [];
  for (const stage of stages) {
    const tasks = stage.split(apart).map((t) => t.trim().replace(/[.,;]+$/, "")).filter((t) => /[\p{L}\p{N}]/u.test(t));
    const names: string[] = [];
    for (const t of tasks.slice(0, mostTasks - out.length)) {
      const [, own = "", rest = t] = called.exec(t) ?? []; // "price: write the total" names its node
      const task = rest.charAt(0).toUpperCase() + rest.slice(1);
      const name = nameOf(own === "" ? task : own, taken);
      names.push(name);
      out.push({ name, task, after: before });
    }
    if (names.length > 0) {
      before = names;
    }
  }
  return out;
}

const small = new Set(["a", "an", "the", "of", "for", "to", "in", "on", "with", "all", "our", "my", "its", "and"]);

/** A name for a node: the first words of its task, unlike any other. */
export function nameOf(task: string, taken: Set<string>): string {
  const words = (task.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter((w, i) => i === 0 || !small.has(w));
  const base = words.slice(0, 3).join("-").slice(0, 32).replace(/-$/, "") || "task";
  let name = base;
  for (let n = 2; taken.has(name); n++) {
    name = `${base}-${n}`;
  }
  taken.add(name);
  return name;
}

/** The nodes with a review behind all of those that nothing follows. */
export function reviewed(nodes: readonly Sketch[]): Sketch[] {
  const followed = new Set(nodes.flatMap((n) => n.after));
  const last = nodes.filter((n) => !followed.has(n.name)).map((n) => n.name);
  return last.length === 0 ? [] : [...nodes, { name: nameOf("review", new Set(nodes.map((n) => n.name))), role: "review", task: "Review the changes of the nodes before this one: look for faults, missing tests and what the tasks asked for and did not get. Report what you find.", after: last }];
}

export interface Template {
  id: string;
  title: string;
  about: string;
  nodes: (task: string) => readonly Sketch[];
}

/** Graphs to begin with, for one task. */
export const templates: readonly Template[] = [
  { id: "one", title: "One agent, then a review", about: "An agent does the task, another reviews its changes.", nodes: (task) => reviewed([{ name: "build", task, after: [] }]) },
  {
    id: "plan",
    title: "Plan, your approval, then the work",
    about: "An agent writes a plan to PLAN.md. You approve it. An agent carries it out, another reviews the changes.",
    nodes: (task) =>
      reviewed([
        { name: "plan", task: `Write a plan for this task to PLAN.md and commit it. Change nothing else.\n\n${task}`, after: [] },
        { name: "approve-plan", role: "gate", after: ["plan"] },
        { name: "build", task: `Carry out the plan in PLAN.md for this task.\n\n${task}`, after: ["approve-plan"] },
      ]),
  },
  {
    id: "rivals",
    title: "Two agents, the better work",
    about: "Two agents do the task at the same time. A third compares their changes; you merge the one that you want.",
    nodes: (task) => reviewed([
      { name: "first", task, after: [] },
      { name: "second", task, after: [] },
    ]),
  },
];

/** A graph of commands, which needs no agent program and changes only files of its own: it has a failure to retry and a gate to approve. */
export const demo: readonly Sketch[] = [
  { name: "schema", kind: "command", task: "seq 1 20 > cmux-demo-schema.txt && git add cmux-demo-schema.txt && git commit -qm 'Write the schema'", after: [] },
  { name: "api", kind: "command", task: "for i in 1 2 3 4 5; do echo request $i; sleep 1; done; echo ok > cmux-demo-api.txt && git add cmux-demo-api.txt && git commit -qm 'Add the api'", after: ["schema"] },
  { name: "flaky", kind: "command", task: "case $CMUX_ATTEMPT in */1) echo 'the first attempt fails: retry it'; exit 1;; esac; echo passed", after: ["schema"] },
  { name: "approval", role: "gate", after: ["api", "flaky"] },
  { name: "ship", kind: "command", task: "cat cmux-demo-api.txt && echo shipped", after: ["approval"] },
];

/** What a graph that is written by hand begins with: a command, a gate and what comes after it. */
export function example(session: string, agent: string | undefined): string {
  const plain = /^[A-Za-z][\w-]*$/.test(session) && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(session);
  return `# The name of the run. Its branches are ${session}/NAME.
session: ${plain ? session : JSON.stringify(session)}
agents:
  # A command. Without set -e, its last line alone decides.
  - name: build
    agent: command
    task: |
      set -e
      echo hello > hello.txt
      git add hello.txt
      git commit -m "Say hello"

  # A gate waits for your approval.
  - name: approval
    role: gate
    depends_on: [build]

  # With agent: ${agent ?? "claude"}, the task is what an agent should do.
  - name: ship
    agent: command
    depends_on: [approval]
    task: cat hello.txt
`;
}
