package control

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/control/orders"
	"cmux/agents/control/project"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree/hint"
)

func TestGitEnvPointsNowhereElse(t *testing.T) {
	c := project.Caller{Env: []string{"GIT_DIR=/x", "GIT_INDEX_FILE=/y", "GIT_AUTHOR_NAME=me", "LC_ALL=de_DE.UTF-8"}}
	got := strings.Join(c.CleanEnv(), " ")
	if got != "GIT_AUTHOR_NAME=me LC_ALL=C" {
		t.Errorf("git's environment is %q", got)
	}
}

func TestWriteConfig(t *testing.T) {
	s := newScratch(t, "")
	path := filepath.Join(s.Root, "flow.yml")
	_, err := s.Configurations().WriteConfig(path, "session: 'a b'\n")
	if text, _ := hint.Explain(err); !errors.Is(err, project.ErrUsage) || !strings.HasPrefix(text, "these answers make no valid configuration, so nothing was written:\nflow.yml:1:") {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was written: %v", err)
	}
	g, err := s.Configurations().WriteConfig(path, "session: s\nagents:\n  - {name: a, agent: command, task: 'true'}\n")
	if err != nil || g.Len() != 1 {
		t.Fatal(err)
	}
	again, _, err := s.Configurations().ReadConfig(t.Context(), path)
	if err != nil || again.Session != "s" {
		t.Errorf("%+v, %v", again, err)
	}
	if b, err := os.ReadFile(s.Configurations().Schema()); err != nil || !bytes.Equal(b, dag.Schema()) {
		t.Errorf("the schema: %v", err)
	}
}

// The project is found from anywhere in it, but not believed when its folder
// came with the repository.
func TestOpen(t *testing.T) {
	s := begun(t, chain)
	deep := filepath.Join(s.Root, "deep", "er")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	open := func(dir string, env ...string) (*Project, error) {
		return Open(t.Context(), project.Caller{Dir: dir, Env: append(slices.Clone(s.Env), env...), Now: s.Now})
	}
	for _, dir := range []string{s.Root, deep, filepath.Join(s.Root, ".cmux", "signals")} {
		if p, err := open(dir); err != nil || p.Root != s.Root {
			t.Errorf("%s: %+v, %v", dir, p, err)
		}
	}
	if p, err := open(t.TempDir(), "CMUX_HOME="+s.Root); err != nil || p.Root != s.Root {
		t.Errorf("%+v, %v", p, err)
	}
	_, err := open(s.Root, "CMUX_HOME=nowhere")
	refused(t, err, "CMUX_HOME is "+filepath.Join(s.Root, "nowhere")+", which is not a folder", "unset CMUX_HOME")
	bare := filepath.Join(t.TempDir(), "bare.git")
	s.gitIn(s.Root, "clone", "-q", "--bare", ".", bare)
	_, err = open(bare)
	tree := filepath.Join(filepath.Dir(bare), "main")
	refused(t, err, bare+" is a bare repository, and you stand in none of its worktrees", "git worktree add "+tree+" main && cd "+tree)
	s.gitIn(s.Root, "update-index", "--add", "--cacheinfo", "100644,"+s.gitIn(s.Root, "rev-parse", "HEAD:README")+",.cmux/config.yml")
	if _, err := open(s.Root); err != nil {
		t.Errorf("what may be tracked: %v", err)
	}
	s.gitIn(s.Root, "update-index", "--add", "--cacheinfo", "100644,"+s.gitIn(s.Root, "rev-parse", "HEAD:README")+",.cmux/runs/x/plan.json")
	_, err = open(s.Root)
	if _, try := hint.Explain(err); err == nil || try != "git rm -r -q --cached .cmux, look at what it holds, and commit" {
		t.Errorf("%v, try %q", err, try)
	}
}

// An order is a person's unless it is known to be anybody's.
func TestIsPersons(t *testing.T) {
	for _, c := range []struct {
		order, option string
		want          bool
	}{
		{"agents approve", "", true}, {"agents start", "", true}, {"agents start", "dry-run", false}, {"agents shared", "", false}, {"agents shared", "accept", true},
		{"agents status", "", false}, {"snapshots list", "", false}, {"snapshots restore", "", true}, {"done", "", false}, {"something new", "", true},
	} {
		if got := orders.IsPersons(orders.Order{Name: c.order, With: func(o string) bool { return o == c.option }}); got != c.want {
			t.Errorf("%s --%s: %v", c.order, c.option, got)
		}
	}
}

func TestLeftovers(t *testing.T) {
	s := worked(t)
	s.write(s.Configurations().Config(""), "session: scratch\nagents:\n  - {name: a, agent: command, task: 'true'}\n")
	s.begin(runner.StartOptions{Headless: true})
	tree := func(name string) string { return filepath.Join(filepath.Dir(s.Root), "scratch-"+name) }
	if f := s.findings()["worktrees"]; f.OK || f.Detail != "worktrees of nodes that are not in the newest run: "+tree("b") || !strings.HasPrefix(f.Try, "look into them") {
		t.Errorf("%+v", f)
	}
	if err := os.RemoveAll(tree("b")); err != nil {
		t.Fatal(err)
	}
	if f := s.findings()["worktrees"]; f.OK || f.Detail != "registered and gone: "+tree("b") || f.Try != "git worktree prune" {
		t.Errorf("%+v", f)
	}
}
