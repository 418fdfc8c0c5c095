package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// goingConfig is the run of testdata/going.txt, with or without what only tmux
// and a person make sense of.
const goingConfig = `session: shop
defaults: {agent: command, role: review}
agents:
  - {name: d, task: "true"}
  - {name: f, task: "test -e ../fix"}
  - {name: after, task: "true", depends_on: f}
  - {name: hold, task: "until test -e ../go; do sleep 0.1; done"}
  - {name: g, role: gate}
  - {name: late, task: "true", depends_on: g}
`

// goingStates bring the run into each state.
var goingStates = map[string]string{
	"live": `
exec cmux agents start --yes --detach
waitfor '(?s)^d .*done.*^f .*failed.*^hold .*running.*^g .*needs input' cmux agents status
waitfor 'f.done' ls .cmux/signals
`,
	"failed": `
exec touch ../go
exec cmux agents start --yes --detach
waitfor '^g .*needs input' cmux agents status
exec cmux agents approve g
waitfor '^run .*: failed,' cmux agents status
waitfor 'f.done' ls .cmux/signals
`,
	"done": `
exec touch ../go ../fix
exec cmux agents start --yes --detach
waitfor '^g .*needs input' cmux agents status
exec cmux agents approve g
waitfor '^run .*: done,' cmux agents status
waitfor 'f.done' ls .cmux/signals
`,
	"headless": `
exec touch ../go
exec mkdir -p .cmux/signals
exec touch .cmux/signals/g.done
exec sh -c 'cmux agents start --yes --headless; test $? = 3'
`,
}

func init() {
	goingStates["stopped"] = goingStates["live"] + `
exec cmux agents stop
`
	goingStates["orphaned"] = goingStates["live"] + `
exec timeout 60 sh $WORK/orphan.sh
waitfor '^run .*: no runner' cmux agents status
`
	goingStates["rebooted"] = goingStates["live"] + `
exec tmux -L t kill-server
waitfor '(?s)^run .*: no runner.*^hold .*lost' cmux agents status
`
}

const goingOrphan = `
tmux -L t list-panes -s -t =shop: -f '#{@cmux_monitor}' -F '#{pane_id}' > ../pane
pane=$(cat ../pane)
test -n "$pane" || exit 2
tmux -L t set-hook -p -u -t $pane pane-died || exit 3
kill -KILL $(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' .cmux/locks/shop) || exit 4
`

// TestGoingOn walks the table of what an order does in each state of a run.
func TestGoingOn(t *testing.T) {
	table, err := os.ReadFile("testdata/going.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	seen := map[string]map[string]bool{}
	var files []string
	for n, line := range strings.Split(string(table), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cell := strings.Split(line, " | ")
		if len(cell) != 5 || goingStates[cell[0]] == "" {
			t.Fatalf("testdata/going.txt:%d: %q is no cell", n+1, line)
		}
		state, order, code, said, then := cell[0], cell[1], cell[2], cell[3], cell[4]
		if seen[order] == nil {
			seen[order] = map[string]bool{}
		}
		seen[order][state] = true
		if testing.Short() && n%6 != 0 {
			continue // make test-all walks all of them
		}
		edit := ""
		if strings.Contains(order, "update") {
			edit = "exec sh -c 'echo \"  - {name: new, task: \\\"true\\\"}\" >> .cmux-agents.yml'\n"
		}
		script := fmt.Sprintf(`# testdata/going.txt:%d: %s | %s
[!exec:tmux] skip 'no tmux'
repo shop
cd shop
cp $WORK/config.yml .cmux-agents.yml
%s
exec touch ../fix
%sexec sh -c '%s > ../said 2>&1; echo $? >> ../said'
exec cat ../said
stdout '(?s)%s.*^%s$'
waitfor '(?s)%s' cmux agents status
-- config.yml --
%s-- orphan.sh --
%s`, n+1, state, order, goingStates[state], edit, order, said, code, then, goingConfig, goingOrphan)
		path := filepath.Join(dir, fmt.Sprintf("%s-%03d.txtar", state, n+1))
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	for order, states := range seen {
		for state := range goingStates {
			if !states[state] {
				t.Errorf("testdata/going.txt does not say what %q does when the run is %s", order, state)
			}
		}
	}
	testscript.Run(t, testscript.Params{Files: files, RequireExplicitExec: true, Setup: setUpScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"waitfor": waitFor, "repo": makeRepo}})
}
