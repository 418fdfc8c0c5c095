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
	{"dag", "dag/plainjson"},
	{"worktree/gitfile", ""},
	{"signals", "worktree/gitfile"},
	{"signals/mailbox", "signals"},
	{"worktree", "worktree/gitfile"},

	{"agents/proc", ""},
	{"agents/tmux", "agents/proc"},
	{"agents/harmless", ""},
	{"agents/endpoint", "signals"},
	{"agents/journal", "signals"},
	{"agents/audit", "agents/harmless signals"},
	{"agents/control/say", "agents/harmless"},
	{"agents/seal", ""},
	{"agents/ledger", "agents/harmless agents/seal signals"},
	{"agents/alert", "agents/ledger"},
	{"agents/upkeep", ""},
	{"agents/team", ""},
	{"agents/locks", "agents/ledger"},
	{"agents/incident", "agents/ledger"},
	{"agents/recovery", "agents/incident agents/ledger agents/seal signals worktree"},
	{"agents/lease", "agents/seal"},
	{"agents/limits", "agents/lease agents/seal signals"},
	{"agents/settings", "dag"},
	{"agents/question", ""},
	{"agents/notice", "agents/harmless dag signals"},
	{"agents/watchconfig", ""},
	{"agents/mail", "agents/harmless agents/journal agents/seal signals signals/mailbox"},
	{"agents/handover", ""},
	{"agents/news", "agents/question dag"},
	{"agents/rights", ""},
	{"agents/guard", "agents/rights agents/question dag"},
	{"agents/event", "agents/harmless dag signals"},
	{"agents/transcript", "agents/event dag"},
	{"agents/run", "agents/lease agents/limits agents/mail agents/proc agents/question agents/seal agents/settings dag dag/plainjson signals signals/mailbox worktree"},
	{"agents/origin", "agents/proc agents/run signals"},
	{"agents/task", "agents/ledger agents/run dag"},
	{"agents/schedule", "agents/ledger agents/task"},
	{"agents/prompt", "agents/run dag"},
	{"agents/agent", "agents/event agents/guard agents/news agents/proc agents/question dag signals"},
	{"agents/command", "agents/agent agents/proc dag"},
	{"agents/claude", "agents/agent agents/event agents/guard agents/handover agents/mail agents/news agents/proc agents/question agents/tmux agents/transcript dag signals"},
	{"agents/stdio", "agents/agent agents/event agents/guard agents/news agents/proc agents/question agents/transcript signals"},
	{"agents/codex", "agents/agent agents/event agents/guard agents/handover agents/news agents/proc agents/stdio agents/transcript dag worktree/gitfile"},
	{"agents/kimi", "agents/agent agents/event agents/guard agents/news agents/proc agents/question agents/stdio agents/transcript dag"},
	{"agents/acp", "agents/agent agents/event agents/guard agents/news agents/stdio agents/transcript dag"},
	{"agents/kinds", "agents/acp agents/agent agents/claude agents/codex agents/command agents/kimi dag"},
	{"agents/conversation", "agents/news agents/question dag"},
	{"agents/attempt", "agents/agent agents/audit agents/conversation agents/endpoint agents/event agents/guard agents/handover agents/harmless agents/journal agents/mail agents/news agents/proc agents/prompt agents/question agents/rights agents/run agents/tmux dag signals signals/mailbox worktree worktree/gitfile"},
	{"agents/wrapper", "agents/agent agents/attempt agents/lease agents/mail agents/origin agents/proc agents/run dag signals signals/mailbox"},
	{"agents/mcp", "agents/attempt agents/wrapper"},
	{"agents/host", "agents/agent agents/attempt agents/control/say agents/proc agents/run agents/tmux agents/wrapper dag signals worktree"},
	{"agents/standing", "agents/agent agents/alert agents/attempt agents/audit agents/control/say agents/host agents/harmless agents/lease agents/limits agents/mail agents/notice agents/proc agents/prompt agents/question agents/run agents/settings agents/task agents/team agents/tmux agents/upkeep agents/watchconfig dag signals signals/mailbox worktree"},
	{"agents/runner", "agents/agent agents/attempt agents/event agents/harmless agents/host agents/lease agents/limits agents/mail agents/notice agents/proc agents/prompt agents/run agents/settings agents/tmux dag signals signals/mailbox worktree"},
	{"agents/control", "agents/agent agents/alert agents/attempt agents/audit agents/control/say agents/endpoint agents/event agents/harmless agents/host agents/incident agents/journal agents/kinds agents/ledger agents/lease agents/limits agents/locks agents/mail agents/notice agents/origin agents/proc agents/question agents/recovery agents/rights agents/run agents/runner agents/schedule agents/seal agents/settings agents/standing agents/task agents/team agents/tmux agents/upkeep agents/watchconfig agents/wrapper dag signals signals/mailbox worktree"},

	{"web", ""},
	{"server/watch", "agents/watchconfig"},
	{"server/store", "agents/event agents/incident agents/journal agents/mail agents/proc agents/task signals signals/mailbox"},
	{"server/login", "agents/endpoint agents/settings"},
	{"server/selfsigned", "signals"},
	{"server/api", "agents/control agents/endpoint agents/event agents/harmless agents/incident agents/journal agents/run agents/schedule agents/standing agents/task agents/team agents/upkeep dag server/login server/store signals signals/mailbox worktree"},
	{"server/changes", "agents/alert agents/locks agents/recovery agents/run agents/schedule signals"},
	{"server/live", "agents/control agents/event server/login server/store"},
	{"server/health", ""},
	{"server/static", ""},
	{"server/terminal", "agents/control agents/tmux server/login signals"},
	{"server/watchdog", "agents/attempt agents/control agents/event agents/host agents/incident agents/ledger agents/mail agents/proc agents/run agents/runner agents/standing agents/task agents/tmux agents/watchconfig server/watch signals signals/mailbox worktree"},
	{"server", "agents/control agents/control/say agents/endpoint agents/schedule server/api server/changes server/health server/live server/login server/selfsigned server/static server/store server/terminal signals server/watchdog"},

	{"docs", ""},
	{"cmd/cmux/early", ""},
	{"cmd/cmux/quiet", ""},
	{"cmd/cmux/top", "agents/control agents/control/say agents/harmless agents/question agents/run dag signals"},
	{"cmd/cmux/reviewing", "agents/control agents/control/say agents/harmless agents/run"},
	{"cmd/cmux", "agents/agent agents/control agents/control/say agents/event agents/harmless agents/incident agents/journal agents/kinds agents/mcp agents/origin agents/recovery agents/run agents/runner agents/schedule agents/task agents/team agents/upkeep agents/wrapper cmd/cmux/early cmd/cmux/quiet cmd/cmux/top cmd/cmux/reviewing dag docs server server/store signals/mailbox web"},
}

// besides are the packages that only tests and benchmarks use. They may import
// any other, and none of the house imports them.
var besides = []string{
	"agents/agenttest",
	"agents/agenttest/fuzzing",
	"agents/agenttest/testall",
	"agents/agenttest/calls",
	"agents/agenttest/calls/plain",
	"agents/agenttest/until",
	"agents/chaos",
	"agents/host/hosttest",
	"agents/modeltest",
	"agents/modeltest/modeld",
	"agents/run/runtest",
	"agents/runner/benchruns",
	"agents/runner/benchruns/stamp",
	"agents/scripted",
	"agents/seal/sealtest",
	"signals/powercut",
	"agents/tmux/tmuxtest",
	"examples",
	"examples/pictures",
	"examples/storm",
}

func TestImportsGoDownwards(t *testing.T) {
	may := map[string][]string{}
	for _, h := range house {
		imports := strings.Fields(h.imports)
		for _, i := range imports {
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
	for _, not := range []string{"cmux/agents/modeltest", "cmux/agents/scripted", "testing"} {
		if slices.Contains(deps, not) {
			t.Errorf("the binary links %s", not)
		}
	}
	if !slices.Contains(deps, "cmux/agents/kinds") {
		t.Errorf("go list names none of the binary's packages: %q", deps)
	}
}
