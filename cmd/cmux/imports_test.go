package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms says which of the top-level folders each of them may import, beside
// itself. Imports go downwards only.
var rooms = map[string][]string{
	"dag":      nil,
	"signals":  nil,
	"worktree": nil,
	"agents":   {"dag", "signals", "worktree"},
	"server":   {"agents", "dag", "signals", "worktree", "web"},
	"web":      nil,
	"cmd":      {"server", "agents", "dag", "signals", "worktree", "web"},
	"examples": {"server", "agents", "dag", "signals", "worktree"},
}

// parts orders what stands inside the room agents in the same way.
var parts = map[string][]string{
	"agents/proc":       nil,
	"agents/tmux":       nil,
	"agents/seal":       nil,
	"agents/run":        {"agents/proc", "agents/seal"},
	"agents/origin":     {"agents/proc", "agents/run"},
	"agents/prompt":     {"agents/proc", "agents/run"},
	"agents/guard":      nil,
	"agents/harmless":   nil,
	"agents/event":      {"agents/harmless"},
	"agents/transcript": {"agents/event"},
	"agents/modeltest":  nil,
	"agents/attempt":    {"agents/event", "agents/guard", "agents/harmless", "agents/proc", "agents/prompt", "agents/run"},
	"agents/scripted":   {"agents/attempt", "agents/proc", "agents/run"},
	"agents/wrapper":    {"agents/attempt", "agents/origin", "agents/proc", "agents/run"},
	"agents/runner":     {"agents/attempt", "agents/event", "agents/harmless", "agents/proc", "agents/run", "agents/tmux", "agents/wrapper"},
}

func TestImportsGoDownwards(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "cmux/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Name string
			Imports          []string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		from, fromPart := room(p.ImportPath)
		may, ok := rooms[from]
		if !ok {
			t.Errorf("%s is in no room; add no further top-level folder for code", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			if !strings.HasPrefix(i, "cmux/") {
				continue
			}
			to, toPart := room(i)
			if to != from && !slices.Contains(may, to) {
				t.Errorf("%s imports %s: %s may import %v", p.ImportPath, i, from, may)
			}
			// A program below a part, such as its benchmarks, is on top of all parts.
			if m, ok := parts[fromPart]; ok && p.Name != "main" && to == "agents" && toPart != fromPart && !slices.Contains(m, toPart) {
				t.Errorf("%s imports %s: it may import %v of agents", p.ImportPath, i, m)
			}
		}
	}
	if seen < len(parts) {
		t.Errorf("go list named %d packages, fewer than agents has", seen)
	}
}

// room is the top-level folder of a package, and the folder below it.
func room(path string) (room, part string) {
	rest := strings.TrimPrefix(path, "cmux/")
	room, _, _ = strings.Cut(rest, "/")
	elems := strings.SplitN(rest, "/", 3)
	return room, strings.Join(elems[:min(2, len(elems))], "/")
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
