import { execFileSync } from "node:child_process";

import type { Organisation } from "./organisation";
import { idle } from "./organisation";

/** A project in which something of everything has happened, the same each time. */
export function setScene(org: Organisation): void {
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
  org.cmux("tasks", "add", "Paint the door", "It is still grey.");
  org.cmux("backlog", "add", "Write the manual");
  org.cmux("mailbox", "send", "user", "[QUESTION] Which color?", "Blue or **green**? See https://example.com/colors");
  org.cmux("mailbox", "send", "supervisor", "Good morning", "What is to be done today?");
  org.cmux("agents", "start", "--yes", "--detach");
  const deadline = Date.now() + 120_000;
  for (;;) {
    const status = org.cmux("agents", "status");
    if (/web\s.*failed/.test(status) && /api\s.*done/.test(status) && /approval\s.*needs input/.test(status)) {
      break;
    }
    if (Date.now() > deadline) {
      throw new Error(`the run does not come so far:\n${status}`);
    }
    execFileSync("sleep", ["0.2"]);
  }
}
