package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// house is every package of cmux, from the ground up, with those of the others
// that it imports. A package imports only what stands above it in this list, so
// imports go downwards; which room may stand on which, DESIGN §2 says.
var house = []struct {
	pkg     string
	imports string
}{
	{"dag/plainjson", ""},
	{"dag/keys", ""},
	{"dag/scopes", ""},
	{"dag", "dag/keys dag/plainjson dag/scopes"},
	{"worktree/hint", ""},
	{"worktree/gitfile", ""},
	{"signals", "worktree/gitfile"},
	{"signals/mailbox", "signals"},
	{"worktree/git", "worktree/gitfile worktree/hint"},
	{"worktree/common", "worktree/git worktree/hint"},
	{"worktree/lookout", "worktree/gitfile"},
	{"worktree/separate", "worktree/git worktree/gitfile"},
	{"worktree/merge", "worktree/git"},
	{"worktree/submodule", "worktree/git worktree/gitfile worktree/hint"},
	{"worktree/footprint", "worktree/git"},
	{"worktree/prepare", "worktree/git worktree/gitfile worktree/hint worktree/submodule"},
	{"worktree/mounts", ""},
	{"worktree", "worktree/common worktree/git worktree/gitfile worktree/hint worktree/merge worktree/mounts worktree/prepare worktree/separate worktree/submodule"},

	{"agents/platform/proc", ""},
	{"agents/platform/tmux/proxy", ""},
	{"agents/platform/tmux", "agents/platform/proc agents/platform/tmux/proxy"},
	{"agents/platform/harmless", ""},
	{"agents/platform/fence/stage", ""},
	{"agents/platform/fence", "agents/platform/fence/stage"},
	{"agents/platform/endpoint", "signals"},
	{"agents/platform/say", "agents/platform/harmless"},
	{"agents/platform/seal", ""},
	{"agents/platform/settings", "dag dag/keys"},
	{"agents/platform/lease", "agents/platform/seal agents/platform/settings"},
	{"agents/platform/limits", "agents/platform/lease agents/platform/seal signals"},
	{"agents/platform/notice", "agents/platform/harmless dag signals"},

	{"agents/records/journal", "signals"},
	{"agents/records/audit", "agents/platform/harmless signals"},
	{"agents/records/ledger", "agents/platform/harmless agents/platform/seal signals"},
	{"agents/records/alert", "agents/records/ledger"},
	{"agents/records/locks", "agents/records/ledger"},
	{"agents/records/incident", "agents/records/ledger"},
	{"agents/records/note", "agents/platform/harmless agents/records/journal agents/records/ledger signals"},
	{"agents/records/mail", "agents/platform/harmless agents/platform/seal agents/records/journal signals signals/mailbox"},
	{"agents/records/event", "agents/platform/harmless dag signals"},
	{"agents/records/unfinished", "signals"},

	{"agents/kinds/question", ""},
	{"agents/kinds/handover", ""},
	{"agents/kinds/news", "agents/kinds/question dag"},
	{"agents/kinds/rights", ""},
	{"agents/kinds/guard/places", "agents/kinds/rights dag dag/scopes"},
	{"agents/kinds/guard/grant", "agents/kinds/guard/places agents/kinds/rights dag worktree/gitfile"},
	{"agents/kinds/guard", "agents/kinds/guard/grant agents/kinds/guard/places agents/kinds/question agents/kinds/rights dag"},
	{"agents/kinds/transcript", "agents/records/event dag"},
	{"agents/kinds/agent", "agents/kinds/guard/places agents/kinds/news agents/kinds/question agents/platform/proc agents/records/event agents/records/unfinished dag signals"},
	{"agents/kinds/command", "agents/kinds/agent agents/platform/proc dag"},
	{"agents/kinds/claude", "agents/kinds/agent agents/kinds/guard agents/kinds/guard/places agents/kinds/handover agents/kinds/news agents/kinds/question agents/kinds/transcript agents/platform/proc agents/platform/tmux agents/records/event agents/records/mail dag signals"},
	{"agents/kinds/stdio", "agents/kinds/agent agents/kinds/guard agents/kinds/guard/places agents/kinds/news agents/kinds/question agents/kinds/transcript agents/platform/proc agents/records/event signals"},
	{"agents/kinds/codex", "agents/kinds/agent agents/kinds/guard agents/kinds/guard/places agents/kinds/handover agents/kinds/news agents/kinds/stdio agents/kinds/transcript agents/platform/fence agents/platform/proc agents/records/event dag worktree/gitfile"},
	{"agents/kinds/kimi", "agents/kinds/agent agents/kinds/guard agents/kinds/guard/places agents/kinds/news agents/kinds/question agents/kinds/stdio agents/kinds/transcript agents/platform/proc agents/records/event dag"},
	{"agents/kinds/acp", "agents/kinds/agent agents/kinds/guard agents/kinds/guard/places agents/kinds/news agents/kinds/stdio agents/kinds/transcript agents/records/event dag"},
	{"agents/kinds", "agents/kinds/acp agents/kinds/agent agents/kinds/claude agents/kinds/codex agents/kinds/command agents/kinds/kimi dag"},

	{"agents/runs/owner", "agents/kinds/rights"},
	{"agents/runs/run", "agents/kinds/question agents/platform/lease agents/platform/limits agents/platform/proc agents/platform/seal agents/platform/settings agents/records/mail agents/runs/owner dag dag/plainjson signals signals/mailbox worktree worktree/common worktree/git worktree/hint"},
	{"agents/runs/origin", "agents/platform/proc agents/runs/run signals"},
	{"agents/runs/prompt", "agents/records/event agents/runs/run dag"},
	{"agents/runs/conversation", "agents/kinds/news agents/kinds/question agents/platform/say agents/runs/owner dag"},
	{"agents/runs/attempt/output", "signals"},
	{"agents/runs/attempt/workspace", "agents/runs/conversation agents/runs/prompt agents/runs/run dag dag/scopes signals worktree worktree/common worktree/git worktree/gitfile worktree/prepare worktree/separate"},
	{"agents/runs/attempt/verdict", "agents/kinds/agent agents/platform/harmless agents/platform/proc agents/records/event agents/runs/attempt/output agents/runs/attempt/workspace agents/runs/conversation agents/runs/prompt agents/runs/run dag signals worktree worktree/common worktree/git worktree/merge worktree/prepare"},
	{"agents/runs/attempt", "agents/kinds/agent agents/kinds/guard/places agents/kinds/handover agents/kinds/news agents/kinds/question agents/kinds/rights agents/platform/endpoint agents/platform/fence agents/platform/proc agents/platform/tmux agents/records/audit agents/records/event agents/records/journal agents/records/mail agents/records/unfinished agents/runs/attempt/output agents/runs/attempt/verdict agents/runs/attempt/workspace agents/runs/conversation agents/runs/prompt agents/runs/run dag dag/scopes signals signals/mailbox worktree worktree/git worktree/gitfile worktree/lookout worktree/separate"},
	{"agents/runs/wrapper", "agents/kinds/agent agents/platform/lease agents/platform/proc agents/records/mail agents/runs/attempt agents/runs/origin agents/runs/run dag signals signals/mailbox"},
	{"agents/runs/mcp", "agents/runs/attempt agents/runs/wrapper"},
	{"agents/runs/host", "agents/kinds/agent agents/platform/proc agents/platform/say agents/platform/tmux agents/runs/attempt agents/runs/run agents/runs/wrapper dag signals worktree"},
	{"agents/runs/lives", "agents/runs/attempt agents/runs/host"},
	{"agents/runs/monitor", "agents/platform/tmux agents/runs/run signals"},
	{"agents/runs/shares", "agents/platform/lease agents/platform/limits"},
	{"agents/runs/runner", "agents/kinds/agent agents/platform/fence agents/platform/harmless agents/platform/lease agents/platform/limits agents/platform/notice agents/platform/proc agents/platform/settings agents/platform/tmux agents/records/event agents/records/mail agents/runs/attempt agents/runs/host agents/runs/lives agents/runs/monitor agents/runs/owner agents/runs/prompt agents/runs/run agents/runs/shares dag signals signals/mailbox worktree worktree/common worktree/git worktree/hint worktree/lookout worktree/merge worktree/separate"},

	{"agents/far", "agents/runs/attempt agents/runs/run"},
	{"agents/far/pipe", "agents/far"},
	{"agents/far/farhost", "agents/far agents/platform/proc agents/runs/attempt agents/runs/host agents/runs/run dag signals signals/mailbox worktree/git"},
	{"agents/far/machine", "agents/far agents/kinds/agent agents/platform/lease agents/platform/proc agents/platform/seal agents/records/mail agents/runs/attempt agents/runs/host agents/runs/run dag signals signals/mailbox worktree worktree/git worktree/hint"},

	{"agents/room/marks", ""},
	{"agents/room", "agents/platform/harmless agents/room/marks"},
	{"agents/room/carrier", "agents/records/ledger agents/room"},
	{"agents/room/minutes", "agents/records/journal agents/room"},
	{"agents/room/book", "agents/platform/harmless agents/records/ledger agents/room agents/room/marks signals worktree/hint"},
	{"agents/room/lessons", "agents/platform/harmless agents/records/note agents/room"},

	{"agents/org/roomconfig", "agents/room agents/room/book dag/keys"},
	{"agents/org/memoryconfig", "dag/keys"},
	{"agents/org/seat", "agents/room agents/runs/run signals/mailbox"},
	{"agents/org/upkeep", ""},
	{"agents/org/team", ""},
	{"agents/org/recovery", "agents/platform/seal agents/records/incident agents/records/ledger signals worktree worktree/git"},
	{"agents/org/watchconfig", "dag/keys"},
	{"agents/org/task", "agents/records/ledger agents/runs/run dag"},
	{"agents/org/recall", "agents/org/memoryconfig agents/org/task agents/records/note agents/room"},
	{"agents/org/schedule", "agents/org/task agents/records/ledger"},
	{"agents/org/subject", "agents/org/task agents/room/book agents/runs/run dag worktree worktree/git worktree/hint"},
	{"agents/org/treewatch", "agents/platform/fence agents/platform/harmless agents/platform/say agents/records/event agents/records/incident agents/room/book agents/runs/run signals worktree worktree/common worktree/footprint worktree/git worktree/separate"},
	{"agents/org/persona", ""},
	{"agents/org/standing", "agents/kinds/agent agents/kinds/question agents/kinds/rights agents/org/memoryconfig agents/org/persona agents/org/recall agents/org/roomconfig agents/org/seat agents/org/subject agents/org/task agents/org/team agents/org/treewatch agents/org/upkeep agents/org/watchconfig agents/platform/harmless agents/platform/lease agents/platform/limits agents/platform/notice agents/platform/proc agents/platform/say agents/platform/settings agents/platform/tmux agents/records/alert agents/records/audit agents/records/event agents/records/incident agents/records/journal agents/records/mail agents/room agents/room/book agents/room/carrier agents/room/minutes agents/runs/attempt agents/runs/host agents/runs/lives agents/runs/monitor agents/runs/owner agents/runs/prompt agents/runs/run agents/runs/shares dag dag/keys signals signals/mailbox worktree worktree/git worktree/merge"},
	{"agents/org/card", "agents/org/task agents/platform/harmless agents/room/marks agents/runs/run dag dag/keys"},
	{"agents/org/trees", "agents/org/standing worktree worktree/git worktree/merge worktree/separate"},

	{"agents/control/project", "agents/kinds/agent agents/org/standing agents/org/task agents/platform/proc agents/platform/say agents/platform/tmux agents/records/ledger agents/records/mail agents/room agents/room/book agents/runs/origin agents/runs/run agents/runs/runner dag signals signals/mailbox worktree worktree/git worktree/gitfile worktree/hint"},
	{"agents/control/runview", "agents/platform/say agents/runs/run dag"},
	{"agents/control/configfile", "agents/control/project agents/platform/say agents/runs/run agents/runs/runner dag dag/keys signals worktree/git worktree/hint"},
	{"agents/control/checks", ""},
	{"agents/control/draft", "agents/kinds agents/kinds/agent agents/platform/say dag dag/keys worktree/hint"},
	{"agents/control/finding", "worktree/hint"},
	{"agents/control/preflight", "agents/control/finding agents/kinds agents/kinds/agent agents/platform/fence agents/platform/proc agents/platform/say agents/runs/runner dag worktree worktree/common worktree/git worktree/hint"},
	{"agents/control/files", "agents/control/project agents/kinds/guard/places agents/platform/endpoint agents/platform/fence agents/runs/run dag signals worktree worktree/git worktree/gitfile worktree/separate"},
	{"agents/control/runs", "agents/control/files agents/control/project agents/control/runview agents/kinds/question agents/org/task agents/platform/fence agents/platform/limits agents/platform/notice agents/platform/proc agents/platform/say agents/runs/run agents/runs/runner dag dag/keys signals worktree worktree/common worktree/git worktree/hint worktree/merge"},
	{"agents/control/machines", "agents/control/project agents/far agents/far/farhost agents/far/pipe agents/platform/proc agents/platform/settings agents/runs/host agents/runs/run dag worktree/git worktree/hint"},
	{"agents/control/commands", "agents/control/configfile agents/control/machines agents/control/preflight agents/control/project agents/control/runs agents/control/runview agents/far agents/kinds/question agents/org/standing agents/platform/harmless agents/platform/say agents/runs/attempt agents/runs/run agents/runs/runner dag signals worktree worktree/common worktree/hint"},
	{"agents/control/graphs", "agents/control/commands agents/control/configfile agents/control/project agents/control/runs agents/control/runview agents/runs/run dag"},
	{"agents/control/merging", "agents/control/project agents/control/runs agents/control/runview agents/platform/proc agents/platform/say agents/runs/attempt agents/runs/run signals worktree worktree/common worktree/git worktree/hint worktree/merge"},
	{"agents/control/remains", "agents/control/commands agents/control/project agents/control/runs agents/control/runview agents/platform/proc agents/platform/say agents/runs/run agents/runs/runner dag signals worktree worktree/git worktree/hint"},
	{"agents/control/logs", "agents/control/files agents/control/project agents/control/runs agents/platform/harmless agents/platform/say agents/records/event agents/runs/attempt agents/runs/run signals worktree/hint"},
	{"agents/control/records", "agents/control/finding agents/control/project agents/org/standing agents/platform/say agents/records/audit agents/records/incident agents/records/journal agents/records/ledger agents/runs/run dag worktree/hint"},
	{"agents/control/tasks", "agents/control/files agents/control/finding agents/control/merging agents/control/project agents/org/standing agents/org/task agents/platform/proc agents/platform/say agents/runs/attempt agents/runs/run dag signals signals/mailbox worktree worktree/git worktree/hint worktree/merge worktree/separate"},
	{"agents/control/letters", "agents/control/project agents/org/standing agents/records/alert agents/records/mail agents/runs/host agents/runs/run agents/runs/wrapper signals signals/mailbox worktree/hint"},
	{"agents/control/locking", "agents/control/letters agents/control/project agents/platform/proc agents/records/locks agents/runs/run signals signals/mailbox worktree/hint"},
	{"agents/control/schedules", "agents/control/letters agents/control/project agents/control/tasks agents/org/schedule agents/org/task agents/records/ledger agents/records/mail signals/mailbox worktree/hint"},
	{"agents/control/crew", "agents/control/commands agents/control/letters agents/control/project agents/control/runs agents/control/tasks agents/org/standing agents/org/task agents/platform/say agents/runs/attempt agents/runs/host agents/runs/run agents/runs/runner dag signals worktree worktree/git worktree/hint worktree/merge"},
	{"agents/control/serving", "agents/control/commands agents/control/project agents/org/standing agents/platform/endpoint agents/runs/origin agents/runs/run signals worktree/hint"},
	{"agents/control/orders", "agents/control/project agents/control/records agents/kinds/rights agents/org/standing agents/runs/origin agents/runs/run agents/runs/wrapper worktree/hint"},
	{"agents/control/terminals", "agents/control/commands agents/control/crew agents/control/logs agents/control/project agents/control/records agents/control/runs agents/control/runview agents/kinds agents/org/standing agents/platform/say agents/platform/tmux agents/runs/run agents/runs/runner dag signals worktree/hint"},
	{"agents/control/rooms", "agents/control/commands agents/control/crew agents/control/project agents/control/records agents/kinds agents/kinds/agent agents/org/persona agents/org/roomconfig agents/org/seat agents/org/standing agents/org/subject agents/org/treewatch agents/platform/tmux agents/records/event agents/records/incident agents/records/journal agents/records/ledger agents/records/note agents/room agents/room/book agents/room/carrier agents/room/marks agents/room/minutes agents/runs/run signals signals/mailbox worktree worktree/footprint worktree/hint"},
	{"agents/control/cards", "agents/control/commands agents/control/configfile agents/control/crew agents/control/project agents/control/rooms agents/control/runs agents/control/runview agents/control/tasks agents/org/card agents/org/standing agents/org/task agents/platform/say agents/platform/seal agents/room agents/room/book agents/runs/run dag dag/keys signals worktree/hint"},
	{"agents/control/memory", "agents/control/project agents/control/rooms agents/kinds agents/kinds/agent agents/org/memoryconfig agents/org/standing agents/org/task agents/platform/harmless agents/records/journal agents/records/ledger agents/records/note agents/room agents/room/book agents/room/lessons agents/runs/run signals worktree/hint"},
	{"agents/control/personas", "agents/control/project agents/control/records agents/control/rooms agents/org/persona agents/org/standing agents/room agents/room/book agents/runs/run signals"},
	{"agents/control/overview", "agents/control/letters agents/control/locking agents/control/logs agents/control/project agents/control/records agents/control/rooms agents/control/runs agents/control/runview agents/control/serving agents/control/tasks agents/kinds/question agents/org/recovery agents/org/standing agents/org/task agents/org/watchconfig agents/platform/notice agents/platform/say agents/records/audit agents/records/incident agents/records/journal agents/room agents/runs/host agents/runs/run dag signals signals/mailbox worktree worktree/git worktree/gitfile worktree/hint worktree/separate"},
	{"agents/control/teams", "agents/control/crew agents/control/overview agents/control/project agents/control/tasks agents/org/standing agents/org/task agents/org/team signals worktree/hint"},
	{"agents/control/health", "agents/control/crew agents/control/orders agents/control/overview agents/control/project agents/control/records agents/control/remains agents/control/tasks agents/kinds/agent agents/org/recovery agents/org/standing agents/org/task agents/org/trees agents/org/upkeep agents/org/watchconfig agents/platform/proc agents/records/incident agents/records/journal agents/records/mail agents/runs/attempt agents/runs/run dag signals signals/mailbox worktree worktree/git worktree/hint"},
	{"agents/control", "agents/control/cards agents/control/checks agents/control/commands agents/control/configfile agents/control/crew agents/control/draft agents/control/files agents/control/finding agents/control/graphs agents/control/health agents/control/letters agents/control/locking agents/control/logs agents/control/memory agents/control/merging agents/control/orders agents/control/overview agents/control/preflight agents/control/project agents/control/records agents/control/remains agents/control/rooms agents/control/runs agents/control/runview agents/control/schedules agents/control/serving agents/control/tasks agents/control/teams agents/control/terminals agents/kinds agents/kinds/agent agents/org/standing agents/org/task agents/org/trees agents/platform/endpoint agents/platform/harmless agents/platform/lease agents/platform/limits agents/platform/notice agents/platform/proc agents/platform/say agents/platform/seal agents/platform/settings agents/platform/tmux agents/records/journal agents/runs/run agents/runs/runner dag signals signals/mailbox worktree worktree/hint"},

	{"web", ""},
	{"server/watch", "agents/org/watchconfig"},
	{"server/store", "agents/org/task agents/platform/proc agents/records/event agents/records/incident agents/records/journal agents/records/mail agents/records/note agents/room/book signals signals/mailbox"},
	{"server/login", "agents/platform/endpoint agents/platform/settings"},
	{"server/selfsigned", "signals"},
	{"server/api", "agents/control agents/control/cards agents/control/commands agents/control/configfile agents/control/crew agents/control/draft agents/control/files agents/control/finding agents/control/graphs agents/control/health agents/control/letters agents/control/locking agents/control/logs agents/control/memory agents/control/merging agents/control/overview agents/control/personas agents/control/project agents/control/records agents/control/remains agents/control/rooms agents/control/runs agents/control/schedules agents/control/tasks agents/control/teams agents/org/card agents/org/schedule agents/org/standing agents/org/task agents/org/team agents/org/upkeep agents/platform/endpoint agents/platform/harmless agents/records/event agents/records/incident agents/records/journal agents/records/ledger agents/records/note agents/room agents/room/marks agents/runs/run dag server/login server/store signals signals/mailbox worktree worktree/hint"},
	{"server/changes", "agents/org/recovery agents/org/schedule agents/records/alert agents/records/locks agents/records/note agents/runs/run signals"},
	{"server/live", "agents/control/letters agents/records/event agents/records/unfinished agents/room server/login server/store signals"},
	{"server/health", ""},
	{"server/static", ""},
	{"server/terminal", "agents/control/project agents/control/terminals agents/platform/tmux server/login signals worktree/hint"},
	{"server/watchdog", "agents/control agents/control/overview agents/org/standing agents/org/task agents/org/watchconfig agents/platform/proc agents/platform/tmux agents/records/event agents/records/incident agents/records/ledger agents/records/mail agents/runs/attempt agents/runs/host agents/runs/run agents/runs/runner server/watch signals signals/mailbox worktree/git"},
	{"server", "agents/control agents/control/letters agents/control/overview agents/control/records agents/control/tasks agents/org/schedule agents/platform/endpoint agents/platform/say server/api server/changes server/health server/live server/login server/selfsigned server/static server/store server/terminal server/watchdog signals worktree/hint"},

	{"docs", ""},
	{"cmd/cmux/early", ""},
	{"cmd/cmux/quiet", ""},
	{"cmd/cmux/top", "agents/control agents/control/logs agents/control/overview agents/control/runs agents/control/runview agents/control/terminals agents/kinds/question agents/platform/harmless agents/platform/say agents/runs/run dag signals worktree/hint"},
	{"cmd/cmux/reviewing", "agents/control agents/control/commands agents/control/runs agents/platform/harmless agents/platform/say agents/runs/run worktree/hint"},
	{"cmd/cmux/cli", "agents/control agents/control/commands agents/control/locking agents/control/orders agents/control/project agents/control/runs agents/control/terminals agents/kinds/agent agents/kinds/rights agents/platform/harmless agents/platform/say agents/records/event agents/room/book agents/runs/attempt agents/runs/wrapper dag worktree/hint"},
	{"cmd/cmux/agents", "agents/control agents/control/commands agents/control/configfile agents/control/logs agents/control/machines agents/control/merging agents/control/overview agents/control/project agents/control/remains agents/control/runs agents/control/runview agents/control/terminals agents/platform/say agents/platform/settings agents/runs/origin agents/runs/run agents/runs/runner cmd/cmux/cli cmd/cmux/reviewing cmd/cmux/top dag worktree/hint"},
	{"cmd/cmux/help", "agents/control/project agents/control/runs agents/kinds/agent agents/platform/say cmd/cmux/cli docs"},
	{"cmd/cmux/incidents", "agents/control agents/control/health agents/control/overview agents/control/records agents/org/recovery agents/org/upkeep agents/platform/say agents/records/incident cmd/cmux/cli"},
	{"cmd/cmux/journal", "agents/control agents/control/records agents/platform/say agents/records/journal cmd/cmux/cli server/store"},
	{"cmd/cmux/locks", "agents/control agents/control/locking agents/control/project agents/kinds/agent agents/runs/attempt cmd/cmux/cli"},
	{"cmd/cmux/machines", "agents/control/commands agents/control/machines agents/control/preflight agents/control/project agents/far agents/far/machine agents/far/pipe agents/kinds agents/kinds/agent agents/platform/say agents/runs/attempt cmd/cmux/cli worktree/hint"},
	{"cmd/cmux/mailbox", "agents/control agents/control/letters agents/platform/say agents/runs/wrapper cmd/cmux/cli signals/mailbox"},
	{"cmd/cmux/node", "agents/control/commands agents/control/project agents/kinds/agent agents/runs/mcp agents/runs/wrapper cmd/cmux/cli"},
	{"cmd/cmux/org", "agents/control agents/control/commands agents/control/crew agents/control/logs agents/control/overview agents/control/project agents/control/rooms agents/control/serving agents/control/teams agents/org/standing agents/org/task agents/org/team agents/platform/say agents/room agents/runs/run agents/runs/runner cmd/cmux/cli cmd/cmux/top dag"},
	{"cmd/cmux/schedule", "agents/control agents/control/project agents/control/schedules agents/org/schedule agents/org/task agents/platform/say cmd/cmux/cli"},
	{"cmd/cmux/serve", "agents/control agents/control/commands agents/control/project agents/control/serving agents/kinds/agent agents/platform/say agents/runs/run cmd/cmux/cli server web"},
	{"cmd/cmux/setup", "agents/control agents/control/checks agents/control/commands agents/control/draft agents/control/project agents/kinds agents/platform/say cmd/cmux/cli dag worktree/hint"},
	{"cmd/cmux/cards", "agents/control agents/control/cards agents/control/project agents/org/task agents/platform/say cmd/cmux/cli"},
	{"cmd/cmux/memory", "agents/control agents/control/memory agents/control/project agents/platform/say agents/records/note cmd/cmux/cli"},
	{"cmd/cmux/rooms", "agents/control agents/control/cards agents/control/memory agents/control/project agents/control/rooms agents/control/serving agents/org/memoryconfig agents/platform/say agents/room agents/room/book agents/room/marks cmd/cmux/cli"},
	{"cmd/cmux/tasks", "agents/control agents/control/runs agents/control/tasks agents/org/task agents/platform/say agents/runs/run cmd/cmux/cli"},
	{"cmd/cmux", "agents/control/commands agents/control/files agents/control/health agents/control/project agents/control/runs agents/kinds agents/kinds/agent agents/platform/harmless cmd/cmux/agents cmd/cmux/cards cmd/cmux/cli cmd/cmux/early cmd/cmux/help cmd/cmux/incidents cmd/cmux/journal cmd/cmux/locks cmd/cmux/machines cmd/cmux/mailbox cmd/cmux/memory cmd/cmux/node cmd/cmux/org cmd/cmux/quiet cmd/cmux/rooms cmd/cmux/schedule cmd/cmux/serve cmd/cmux/setup cmd/cmux/tasks dag"},
}

// besides are the packages that only tests and benchmarks use. They may import
// any other, and none of the house imports them.
var besides = []string{
	"agents/far/fartest",
	"agents/testkit/agenttest",
	"agents/testkit/agenttest/fuzzing",
	"agents/testkit/agenttest/golden",
	"agents/testkit/agenttest/testall",
	"agents/testkit/agenttest/calls",
	"agents/testkit/agenttest/calls/plain",
	"agents/testkit/agenttest/until",
	"agents/testkit/chaos",
	"cmd/cmux/cli/clitest",
	"agents/runs/host/hosttest",
	"agents/testkit/modeltest",
	"agents/testkit/modeltest/modeld",
	"agents/runs/run/runtest",
	"agents/runs/runner/benchruns",
	"agents/runs/runner/benchruns/stamp",
	"agents/testkit/scripted",
	"agents/platform/seal/sealtest",
	"signals/powercut",
	"agents/platform/tmux/tmuxtest",
	"examples",
	"examples/pictures",
	"examples/storm",
}

// layers are the folders of agents, from the ground up.
var layers = []string{"platform", "records", "kinds", "runs", "far", "room", "org", "control"}

// below are the packages of cmd/cmux that nouns may import.
var below = []string{"cmd/cmux/cli", "cmd/cmux/reviewing", "cmd/cmux/top"}

func TestImportsGoDownwards(t *testing.T) {
	may := map[string][]string{}
	floor := 0
	for _, h := range house {
		if in, ok := strings.CutPrefix(h.pkg, "agents/"); ok {
			room, _, _ := strings.Cut(in, "/")
			at := slices.Index(layers, room)
			if at < floor {
				t.Errorf("%s stands after the room %s", h.pkg, layers[floor])
			}
			floor = max(floor, at)
		}
		imports := strings.Fields(h.imports)
		for _, i := range imports {
			if strings.HasPrefix(h.pkg, "cmd/cmux/") && strings.HasPrefix(i, "cmd/cmux/") && !slices.Contains(below, i) {
				t.Errorf("%s imports %s: a noun imports no other noun", h.pkg, i)
			}
			if _, ok := may[i]; !ok {
				t.Errorf("%s imports %s, which does not stand above it in the list", h.pkg, i)
			}
		}
		may[h.pkg] = imports
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "cmux/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, "cmux/")
		found[pkg] = true
		allowed, ok := may[pkg]
		if !ok {
			if !slices.Contains(besides, pkg) {
				t.Errorf("%s stands nowhere in the house: list it with what it may import; a new top-level folder needs DESIGN §2", pkg)
			}
			continue
		}
		var does []string
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, "cmux/"); ok {
				does = append(does, ours)
			}
		}
		for _, i := range does {
			if !slices.Contains(allowed, i) {
				t.Errorf("%s imports %s: it may import %q", pkg, i, allowed)
			}
		}
		for _, i := range allowed {
			if !slices.Contains(does, i) {
				t.Errorf("%s no longer imports %s: take it off the list", pkg, i)
			}
		}
	}
	for _, pkg := range append(slices.Collect(maps.Keys(may)), besides...) {
		if !found[pkg] {
			t.Errorf("%s is listed and not there", pkg)
		}
	}
}

// TestReleasedBinaryHasNoTestParts: what stands in for models and agents stays
// out of the binary that people run.
func TestReleasedBinaryHasNoTestParts(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	for _, not := range []string{"cmux/agents/testkit/modeltest", "cmux/agents/testkit/scripted", "testing"} {
		if slices.Contains(deps, not) {
			t.Errorf("the binary links %s", not)
		}
	}
	if !slices.Contains(deps, "cmux/agents/kinds") {
		t.Errorf("go list names none of the binary's packages: %q", deps)
	}
}
