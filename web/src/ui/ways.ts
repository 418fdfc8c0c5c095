/** Where the page does what a command of the terminal does. */
export interface Way {
  to: string;
  label: string;
}

const attach = /^cmux workers attach ([\w.-]+)$/;
const places: readonly (readonly [RegExp, Way])[] = [
  [/^cmux start\b/, { to: "/agents", label: "Start the organization" }],
  [/^cmux agents (resume|list|start)\b/, { to: "/runs", label: "Open the runs" }],
  [/^cmux (status|health|doctor)\b/, { to: "/health", label: "Open health" }],
  [/^cmux agents (status|review)\b/, { to: "/", label: "Open what needs you" }],
  [/^cmux tasks merge\b/, { to: "/tasks/merge", label: "Merge finished tasks" }],
  [/^cmux tasks\b/, { to: "/tasks", label: "Open the tasks" }],
  [/^cmux (workers|spawn)\b/, { to: "/agents", label: "Open the agents" }],
];

/** The place of the page that does the same as a command; undefined: only the command does it. */
export function wayOf(command: string): Way | undefined {
  const agent = attach.exec(command.trim())?.[1];
  return agent !== undefined ? { to: `/agents/${agent}?tab=terminal`, label: `Open the terminal of ${agent}` } : places.find(([re]) => re.test(command.trim()))?.[1];
}
