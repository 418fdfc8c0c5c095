import type { Argument, Order } from "@/palette/orders";

/** How people call a command, and where the page has more for it than a form of its arguments. */
export interface Named {
  label: string;
  words?: string; // other names that people use
  to?: string; // the page that does it
  dialog?: "run" | "task" | "worker"; // the page's own dialog for it
}

/** The commands by method and path; null: of no use in a palette. */
export const named: Readonly<Record<string, Named | null>> = {
  "POST /api/agents": { label: "Spawn a worker", words: "agent", dialog: "worker" },
  "POST /api/agents/demote": { label: "Demote every permanent worker", words: "ordinary" },
  "DELETE /api/agents/{name}": { label: "Remove a worker", words: "stop fire dismiss" },
  "POST /api/agents/{name}/answer": { label: "Answer an agent's question", words: "reply" },
  "POST /api/agents/{name}/assign": { label: "Assign work to an agent", words: "task delegate" },
  "POST /api/agents/{name}/clone": { label: "Clone a worker", words: "copy duplicate" },
  "POST /api/agents/{name}/demote": { label: "Demote a permanent worker", words: "ordinary" },
  "POST /api/agents/{name}/merge-clone": { label: "Merge a clone and remove it" },
  "POST /api/agents/{name}/release": { label: "Release an agent", words: "takeover hand back untake" },
  "POST /api/agents/{name}/reset": { label: "Reset an agent", words: "restart clear context new conversation compact" },
  "POST /api/agents/{name}/send": { label: "Send a message to an agent", words: "prompt talk chat" },
  "POST /api/agents/{name}/take": { label: "Take over an agent", words: "type keyboard terminal" },
  "POST /api/agents/{name}/wake": { label: "Wake an agent", words: "start revive crashed down" },
  "POST /api/alert": { label: "Send a test alert", words: "notification bell" },
  "POST /api/config/apply": { label: "Apply the settings file", words: "configuration config reload", to: "/settings" },
  "POST /api/config/check": null,
  "PUT /api/config/file": { label: "Edit the settings file", words: "organization configuration config.yml yaml verify checks permissions write", to: "/settings" },
  "POST /api/first-commit": { label: "Make the first commit", words: "git init repository begin initial" },
  "PUT /api/graph": { label: "Edit the graph", words: "agents configuration config yaml workflow dag write nodes", to: "/config/agents" },
  "POST /api/graph/add": { label: "Add a node to the graph", words: "agents step job", to: "/config/agents" },
  "POST /api/graph/check": null,
  "POST /api/graph/draft": null,
  "POST /api/graph/unfold": null,
  "POST /api/incidents/{id}/ack": { label: "Acknowledge an incident", words: "close know resolve alarm" },
  "POST /api/journal/entry": { label: "Add a journal entry", words: "note diary write" },
  "POST /api/journal/reflection": { label: "Add a note to today's reflection", words: "journal" },
  "POST /api/locks/{name}/break": { label: "Break a lock", words: "steal take away remove force" },
  "POST /api/locks/{name}/release": { label: "Release a lock", words: "unlock give back" },
  "POST /api/locks/{name}/take": { label: "Take a lock", words: "hold acquire" },
  "POST /api/login/links": null,
  "POST /api/login/logout-all": { label: "Log out everywhere", words: "logout sign out end login browser" },
  "POST /api/maintenance": { label: "Clean up", words: "maintenance prune remove old disk space worktrees gc", to: "/health?tab=maintenance" },
  "POST /api/memory/learn": { label: "Learn from a room", words: "notes memory remember", to: "/rooms?notes" },
  "POST /api/memory/notes": { label: "Write a note", words: "memory remember learn fact", to: "/rooms?notes" },
  "PATCH /api/memory/notes/{id}": { label: "Change a note", words: "memory edit pin", to: "/rooms?notes" },
  "DELETE /api/memory/notes/{id}": { label: "Forget a note", words: "memory erase remove", to: "/rooms?notes" },
  "POST /api/memory/notes/{id}/promote": { label: "Promote a note", words: "memory move MEMORY.md keep", to: "/rooms?notes" },
  "POST /api/messages": { label: "Send a message", words: "mail mailbox agent supervisor" },
  "POST /api/messages/{id}/read": null,
  "POST /api/messages/{id}/retry": { label: "Send an undelivered message again", words: "retry failed" },
  "PUT /api/personas/{name}": { label: "Edit a persona", words: "role file kind model member", to: "/personas" },
  "DELETE /api/personas/{name}": { label: "Remove a persona", words: "role file delete", to: "/personas" },
  "PATCH /api/prefs": null,
  "POST /api/projects": { label: "Register a project", words: "add repository" },
  "DELETE /api/projects/{name}": { label: "Unregister a project", words: "remove forget stop looking after repository" },
  "POST /api/projects/{name}/activate": { label: "Start a project's supervisor", words: "activate" },
  "POST /api/recover/now": { label: "Recover the project", words: "rollback repair fix broken restart" },
  "POST /api/recover/preview": { label: "Preview a recovery", words: "dry run rollback", to: "/health?tab=recover" },
  "POST /api/recover/undo": { label: "Undo the last recovery", words: "rollback revert" },
  "POST /api/rooms": { label: "Begin a room", words: "start make talk chat discuss conversation several agents debate", to: "/rooms?begin" },
  "POST /api/rooms/plan": null,
  "POST /api/rooms/{room}/cost": null,
  "POST /api/rooms/{room}/members/{name}/answer": { label: "Answer a room member's question", words: "reply permission" },
  "POST /api/cards": { label: "Add a card to a room", words: "task board kanban todo plan" },
  "PATCH /api/cards/{id}": { label: "Change a card", words: "edit roles planner implementer reviewer" },
  "POST /api/cards/{id}/start": { label: "Begin a card", words: "start plan implement" },
  "POST /api/cards/{id}/delegate": { label: "Ask who does a card", words: "delegate roles planner implementer reviewer" },
  "POST /api/cards/{id}/approve": { label: "Approve what a card has", words: "accept plan work review" },
  "POST /api/cards/{id}/send-back": { label: "Send a card back", words: "reject review plan work" },
  "POST /api/cards/{id}/move": { label: "Move a card", words: "column board drag" },
  "POST /api/cards/{id}/done": { label: "Call a card done", words: "override finish" },
  "POST /api/cards/{id}/cancel": { label: "Cancel a card", words: "drop remove" },
  "DELETE /api/rooms/{room}": { label: "Remove a room", words: "archive delete chat" },
  "PATCH /api/rooms/{room}": { label: "Change a room's settings", words: "policy turns tokens topic" },
  "POST /api/rooms/{room}/members": { label: "Invite somebody into a room", words: "add member guest join" },
  "DELETE /api/rooms/{room}/members/{name}": { label: "Dismiss a member from a room", words: "remove leave guest" },
  "POST /api/rooms/{room}/files": null,
  "POST /api/rooms/{room}/messages": { label: "Say something in a room", words: "talk chat write message" },
  "POST /api/rooms/{room}/decisions": { label: "Decide on a proposal in a room", words: "accept reject ask members vote dissent" },
  "POST /api/rooms/{room}/plan": { label: "Make a graph of a room's cards", words: "graph cards nodes" },
  "PUT /api/rooms/{room}/plan": null,
  "POST /api/rooms/{room}/plan/check": null,
  "POST /api/rooms/{room}/run": { label: "Start a room's cards as a run", words: "run graph cards implement" },
  "POST /api/rooms/{room}/undo": { label: "Undo a room's change", words: "checkout root revert incident" },
  "POST /api/rooms/{room}/orders": { label: "Pause, stop or close a room", words: "resume cancel continue skip reopen wake" },
  "POST /api/runs": { label: "Start a run", words: "graph workflow agents go new", dialog: "run" },
  "POST /api/runs/plan": null,
  "POST /api/runs/{id}/merge": { label: "Merge a run's work", words: "branches land ship integrate", to: "/review?tab=merge" },
  "POST /api/runs/{id}/nodes/{node}/answer": { label: "Answer a node's question", words: "reply send text" },
  "POST /api/runs/{id}/nodes/{node}/approve": { label: "Approve a gate", words: "node pass continue release" },
  "POST /api/runs/{id}/nodes/{node}/comments": { label: "Comment on a node's changes", words: "review feedback", to: "/review" },
  "POST /api/runs/{id}/nodes/{node}/override": { label: "Override a node", words: "call done ignore failure pass" },
  "POST /api/runs/{id}/nodes/{node}/release": { label: "Release a node", words: "takeover hand back agent" },
  "POST /api/runs/{id}/nodes/{node}/retry": { label: "Retry a node", words: "failed agent" },
  "POST /api/runs/{id}/nodes/{node}/review": { label: "Review a node's work", words: "approve send back drop reject", to: "/review" },
  "POST /api/runs/{id}/nodes/{node}/stop": { label: "Cancel a node", words: "agent" },
  "POST /api/runs/{id}/nodes/{node}/verify": { label: "Run a node's checks", words: "verify test" },
  "POST /api/runs/{id}/resume": { label: "Resume a run", words: "stopped go on restart" },
  "POST /api/runs/{id}/stop": { label: "Stop a run", words: "workflow agents" },
  "POST /api/runs/{id}/update": { label: "Apply the edited graph", words: "update a run config reload", to: "/config/agents" },
  "POST /api/schedule": { label: "Schedule a task or a message", words: "cron timer reminder later every", to: "/tasks?tab=schedule" },
  "DELETE /api/schedule/{id}": { label: "Remove an entry of the schedule", words: "cron timer" },
  "POST /api/schedule/{id}/run": { label: "Run an entry of the schedule now", words: "fire trigger cron" },
  "POST /api/sessions": { label: "Make a session", words: "supervisor group" },
  "DELETE /api/sessions/{name}": { label: "Remove a session", words: "end agents" },
  "POST /api/tasks": { label: "Add a task", words: "backlog work", dialog: "task" },
  "POST /api/tasks/merge": { label: "Merge finished tasks", words: "land ship integrate branches", to: "/tasks/merge" },
  "POST /api/tasks/{id}/assign": { label: "Give a task to an agent", words: "assign worker delegate" },
  "POST /api/tasks/{id}/cancel": { label: "Cancel a task", words: "remove drop" },
  "POST /api/tasks/{id}/comments": { label: "Comment on a task's changes", words: "review feedback", to: "/tasks" },
  "POST /api/tasks/{id}/done": { label: "Call a task done", words: "finish complete close override" },
  "POST /api/tasks/{id}/pause": { label: "Pause a task", words: "hold stop wait" },
  "POST /api/tasks/{id}/priority": { label: "Change a task's priority", words: "urgent important" },
  "POST /api/tasks/{id}/take": { label: "Take a task out of the backlog", words: "start" },
  "POST /api/teams": { label: "Create a team", words: "group agents template" },
  "POST /api/teams/plan": null,
  "DELETE /api/teams/{name}": { label: "Remove a team", words: "dissolve agents" },
  "POST /api/organization/start": { label: "Start the organization", words: "supervisor crew begin up" },
  "POST /api/organization/stop": { label: "Stop the organization", words: "supervisor crew end down everything all agents" },
};

/** What people call a command: its own summary if nobody gave it a name here. null: it is not shown. */
export function nameOf(o: Order): Named | null {
  const name = named[`${o.method} ${o.path}`];
  return name === undefined ? { label: o.summary } : name;
}

/** What the argument in a path of a group names. */
const one: Readonly<Record<string, string>> = { agents: "Agent", cards: "Card", incidents: "Incident", locks: "Lock", messages: "Message", projects: "Project", rooms: "Room", runs: "Run", schedule: "Entry", sessions: "Session", tasks: "Task", teams: "Team" };

const called: Readonly<Record<string, string>> = {
  dir: "Folder",
  on: "Lines",
  re: "Message that it answers",
  part_of: "Part of the task",
  what: "Task",
  verify: "Checks",
  zone: "Time zone",
  force: "At once",
  downstream: "Also what was built on it",
  fresh: "From the base again",
  question: "Question's id",
};

/** What people call an argument: `display_name` is Display name, the `id` of a run is Run. */
export function labelOf(o: Order, a: Argument): string {
  const group = /^\/api\/([a-z]+)\/\{([a-z]+)\}/.exec(o.path);
  if (a.in === "path" && group?.[2] === a.name) {
    return one[group[1] ?? ""] ?? "Name";
  }
  const name = called[a.name] ?? a.name.replaceAll("_", " ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}
