package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// collisions is what stands, a line each.
func (p *project) collisions(r *run.Run) string {
	p.t.Helper()
	v, err := r.View(p.t.Context(), time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	var b strings.Builder
	for i := range v.Collisions {
		b.WriteString(v.Collisions[i].String() + "\n")
	}
	return b.String()
}

// collide waits until exactly this stands.
func (p *project) collide(r *run.Run, want string) {
	p.t.Helper()
	if want = strings.TrimSpace(want); want != "" {
		want += "\n"
	}
	got := ""
	defer func() {
		if p.t.Failed() {
			p.t.Logf("standing:\n%srecords:\n%s", got, p.records(r))
		}
	}()
	p.until("collisions\n"+want, func() bool { got = p.collisions(r); return got == want })
}

// steps is a task that carries out each of the steps in turn, once the file of
// its number is there.
func steps(commands ...string) string {
	all := []string{"set -e"}
	for i, c := range commands {
		all = append(all, fmt.Sprintf(`until test -e "$CMUX_ROOT/../$CMUX_NODE.%d"; do sleep 0.1; done; %s`, i+1, c))
	}
	return strings.Join(all, "; ")
}

// step lets a node carry out its next step.
func (p *project) step(node string, n int) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(p.root), fmt.Sprintf("%s.%d", node, n)), nil, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// What two nodes both change is seen when a commit appears, told of once, and
// gone when it is; a runner that takes over knows it and tells nothing again.
func TestCollisionsWhileAgentsWork(t *testing.T) {
	url, next, none := hookServer(t)
	commit := func(file, text string) string {
		return fmt.Sprintf("echo %s > %s; git add %s; git commit -q -m %s", text, file, file, text)
	}
	p := newProject(t, fmt.Sprintf(`
session: s
notify: {webhook: %q}
defaults: {agent: command}
agents:
  - {name: x, task: %q}
  - {name: y, task: %q}
  - {name: z, task: "true", depends_on: y}
`, url,
		steps(commit("README", "x1"), commit("other", "x2"), "true"),
		steps("echo mine > README", commit("README", "y1"), "git reset -q --hard main; "+commit("apart", "y2"), "true")))
	r := p.create()
	p.live(r, HowStart)
	p.becomes(r, "x: running\ny: running\nz: waiting")
	p.step("y", 1)
	tree := p.root + "/../s-y/README"
	p.until("y to edit", func() bool { b, _ := os.ReadFile(tree); return string(b) == "mine\n" })
	p.step("x", 1)
	p.collide(r, "x and y both change README; only one has committed README")
	if n := next(); n.Event != "collision" || n.Node != "x" || n.Other != "y" || n.Text != "x and y both change README; only one has committed README" {
		t.Errorf("%+v", n)
	}
	p.step("y", 2)
	p.collide(r, "x and y both change README; a merge would conflict in README")
	p.step("y", 3)
	p.collide(r, "")
	p.step("x", 2)
	p.step("x", 3)
	p.step("y", 4)
	p.becomes(r, "x: done\ny: done\nz: done")
	if n := next(); n.Event != "run_ended" {
		t.Errorf("%+v", n)
	}
	none()
	p.collide(r, "")
}

// Nodes that end before anybody looks are compared all the same, and what is
// built on another is no collision with it.
func TestCollisionsOfWhatIsDone(t *testing.T) {
	p := newProject(t, `
session: s
max_parallel: 1
defaults: {agent: command}
agents:
  - {name: x, task: "echo x > README"}
  - {name: y, task: "echo y > README"}
  - {name: on-x, task: "echo more >> README", depends_on: x}
  - {name: apart, task: "echo a > apart"}
  - {name: fails, task: "echo f > README; exit 1"}
  - {name: nothing, task: "true"}
`)
	r := p.create()
	p.carry(r)
	p.want(r, "x: done\ny: done\non-x: done\napart: done\nfails: failed (exit 1)\nnothing: done")
	want := `
x and y both change README; a merge would conflict in README
y and on-x both change README; a merge would conflict in README
`
	if got := p.collisions(r); got != want[1:] {
		t.Errorf("standing:\n%s\nrecords:\n%s", got, p.records(r))
	}
	// Another runner of the same run finds nothing new.
	known := p.count(r, func(rec *run.Record) bool { return rec.Type == run.Collided })
	if _, err := r.Ask(run.Request{Op: run.OpRetry, Node: "apart"}); err != nil {
		t.Fatal(err)
	}
	if state := p.carry2(r); state != dag.RunFailed {
		t.Error(state)
	}
	if got := p.count(r, func(rec *run.Record) bool { return rec.Type == run.Collided }); got != known || p.collisions(r) != want[1:] {
		t.Errorf("%d records of collisions, before %d:\n%s", got, known, p.collisions(r))
	}
}
