import { execFileSync } from "node:child_process";

import type { Organization } from "./organization";
import { idle } from "./organization";

/** Every page of that project, by name; RUN stands for the id of its run. */
export const paths: Record<string, string> = {
  needs: "/",
  runs: "/runs",
  run: "/runs/RUN",
  "run-time": "/runs/RUN?tab=time",
  "run-table": "/runs/RUN?tab=table",
  node: "/runs/RUN/nodes/api",
  changes: "/runs/RUN/nodes/api?tab=changes",
  review: "/review",
  chat: "/chat",
  agents: "/agents",
  agent: "/agents/painter",
  rooms: "/rooms",
  tasks: "/tasks",
  task: "/tasks/t1",
  activity: "/activity",
  events: "/activity?tab=events",
  health: "/health",
  budget: "/budget",
  schedule: "/tasks?tab=schedule",
  teams: "/agents?tab=teams",
  explorer: "/explorer",
  projects: "/projects",
  settings: "/settings",
  "first-steps": "/first-steps",
  config: "/config/agents",
};

/** A project in which something of everything has happened, the same each time. */
export function setScene(org: Organization): void {
  org.write({
    "README.md": "# The shop\n\nSells *things*.\n",
    "api.txt": "one\ntwo\nthree\n",
    ".cmux-agents.yml": `session: release
main_pane: false
defaults: {agent: command}
agents:
  - {name: schema, task: "seq 1 40 > schema.txt && git add -A && git commit -qm 'The schema'", scope: [schema.txt]}
  - {name: api, task: "printf 'one\\n2\\nthree\\nfour\\n' > api.txt && git commit -qam 'Count better'", scope: [api.txt], depends_on: [schema]}
  - {name: web, task: "echo '<script>alert(1)</script>'; exit 3", depends_on: [schema]}
  - {name: docs, task: "echo documented", depends_on: [web]}
  - {name: approval, role: gate, depends_on: [api]}
  - {name: ship, task: "echo shipped", depends_on: [approval]}
`,
  });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "The shop");
  org.start(idle);
  org.cmux("workers", "spawn", "painter", "idle");
  comes(() => org.cmux("status"), /painter\s.*needs input/); // before what else needs a person
  org.cmux("tasks", "add", "Paint the door", "It is still grey.");
  org.cmux("backlog", "add", "Write the manual");
  org.cmux("mailbox", "send", "user", "[QUESTION] Which color?", "Blue or **green**? See https://example.com/colors");
  org.cmux("mailbox", "send", "supervisor", "Good morning", "What should we do today?");
  org.cmux("agents", "start", "--yes", "--detach");
  comes(() => org.cmux("agents", "status"), /web\s.*failed/, /api\s.*done/, /approval\s.*needs input/);
}

/** Waits until a text says all of this. */
function comes(read: () => string, ...wanted: RegExp[]): void {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const text = read();
    if (wanted.every((w) => w.test(text))) {
      return;
    }
    if (Date.now() > deadline) {
      throw new Error(`it does not come so far:\n${text}`);
    }
    execFileSync("sleep", ["0.2"]);
  }
}
