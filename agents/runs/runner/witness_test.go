package runner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/claude"
	"cmux/agents/kinds/command"
	"cmux/agents/runs/host/hosttest"
	"cmux/agents/runs/mcp"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/agents/testkit/modeltest"
	"cmux/agents/testkit/scripted"
)

// TestMain lets the test binary be what runs keep a copy of: the wrapper, and
// the commands that agents call.
func TestMain(m *testing.M) {
	hosttest.Main()
	if len(os.Args) == 2 && os.Args[1] == "mcp" {
		if err := mcp.Serve(context.Background(), os.Getenv, os.Stdin, os.Stdout, "test"); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 {
		var err error
		switch os.Args[1] {
		case "agents":
			f := flag.NewFlagSet("exec", flag.ExitOnError)
			dir, n := f.String("run", "", ""), f.Int("attempt", 0, "")
			f.Parse(os.Args[3:])
			os.Exit(wrapper.Main(context.Background(), wrapper.Options{RunDir: *dir, Node: f.Arg(0), Attempt: *n, Kinds: aiKinds()}))
		case "done":
			err = wrapper.Done(context.Background(), os.Getenv, os.Args[len(os.Args)-1])
		case "hook":
			out, code, err := wrapper.Hook(context.Background(), os.Getenv, os.Args[2], os.Stdin)
			fmt.Print(out)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			os.Exit(code)
		default:
			os.Exit(withoutFence(m))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(withoutFence(m))
}

// withoutFence runs the tests as a person who wants no fence: their nodes write files that
// the tests wait for, and do what is found out then. The scripts of cmd/cmux have fences.
func withoutFence(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cmux-runner-")
	if err == nil {
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "cmux", "config.yml")
		err = errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("fence: off\n"), 0o600), os.Setenv("XDG_CONFIG_HOME", dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func aiKinds() agent.Kinds {
	return agent.NewKinds(command.Kind(), scripted.Kind(true), claude.Kind())
}

// A marker that appears while an agent runs a command and nobody is at a
// terminal is taken back and told of. Everything else is a person's.
func TestMarkerOfAnAgentsScript(t *testing.T) {
	const (
		config = `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: bad, task: "exit 1"}
  - {name: web, role: gate}
  - {name: api, agent: %s, task: '%s; touch $CMUX_RUN_DIR/wrote; while ! test -e $CMUX_RUN_DIR/go; do sleep 0.1; done; cmux hook shell-ended </dev/null; cmux done x'}
`
		began = "cmux hook shell-began </dev/null; "
		gate  = "touch $CMUX_ROOT/.cmux/signals/web.done"
		fail  = "echo 7 > $CMUX_ROOT/.cmux/signals/web.done"
		redo  = "while ! test -e $CMUX_RUN_DIR/failed; do sleep 0.1; done; touch $CMUX_ROOT/.cmux/signals/bad.done"
		self  = "echo 0 > $CMUX_ROOT/.cmux/signals/api.done"
		label = "bad: %s\nweb: %s\napi: %s"
	)
	nobody := func(context.Context, time.Time) (bool, error) { return false, nil }
	failing, waiting, running := "failed (exit 1)", "needs input", "running"
	for _, tt := range []struct {
		name, kind, script string
		look               func(context.Context, time.Time) (bool, error)
		bad, web, api      string
		incident           string // node of the marker; empty: none
	}{
		{"a gate", "scripted", began + gate, nobody, failing, waiting, running, "web"},
		{"a code", "scripted", began + fail, nobody, failing, waiting, running, "web"},
		{"no marker at all", "scripted", began + "echo done > $CMUX_ROOT/.cmux/signals/web.done", nobody, failing, waiting, running, "web"},
		{"a failed node's", "scripted", began + redo, nobody, failing, waiting, running, "bad"},
		{"its own", "scripted", began + self, nobody, failing, waiting, running, "api"},
		{"a person at a terminal", "scripted", began + gate,
			func(context.Context, time.Time) (bool, error) { return true, nil }, failing, "done (override)", running, ""},
		{"terminals that cannot be looked at", "scripted", began + gate,
			func(context.Context, time.Time) (bool, error) { return false, errors.New("no") }, failing, "done (override)", running, ""},
		{"no command", "scripted", gate, nobody, failing, "done (override)", running, ""},
		{"after the command", "scripted", began + "cmux hook shell-ended </dev/null; sleep 0.1; " + gate, nobody, failing, "done (override)", running, ""},
		{"after the turn", "scripted", began + "cmux hook turn-ended </dev/null; sleep 0.1; " + gate, nobody, failing, "done (override)", running, ""},
		{"of a command node", "command", gate, nobody, failing, "done (override)", running, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, fmt.Sprintf(config, tt.kind, tt.script))
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			r := p.create(func(o *StartOptions) { o.Binary, o.Kinds = self, aiKinds() })
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			over := make(chan error, 1)
			go func() {
				_, err := Run(ctx, Options{Run: r, How: HowStart, Kinds: aiKinds(), AtTerminal: tt.look})
				over <- err
			}()
			defer func() { cancel(); <-over }()
			p.until("bad has failed", func() bool { return strings.Contains(p.labels(r), "bad: "+failing) })
			p.write(strings.TrimPrefix(r.Dir, p.root+"/")+"/failed", "")
			p.until("the script has written", func() bool {
				_, err := os.Stat(r.Dir + "/wrote")
				return err == nil
			})
			p.becomes(r, fmt.Sprintf(label, tt.bad, tt.web, tt.api))
			told := func() int {
				return p.count(r, func(rec *run.Record) bool {
					if tt.incident == "" {
						return strings.Contains(rec.Detail, "does not count")
					}
					return rec.Type == run.Incident && rec.How == run.IncidentMarker && rec.Node == "api" && rec.Attempt == 1 &&
						strings.Contains(rec.Detail, "a marker of "+tt.incident+" appeared while api ran a command") &&
						strings.Contains(rec.Detail, "cmux agents override "+tt.incident)
				})
			}
			if tt.incident != "" {
				p.until("the incident is recorded", func() bool { return told() == 1 })
				want := "none"
				if tt.incident == "bad" {
					want = "1"
				}
				p.until("it is taken back", func() bool { return p.marker(tt.incident) == want })
				// The way out that it names.
				p.ask(r, run.Request{Op: run.OpOverride, Node: tt.incident})
				p.until("the override counts", func() bool { return strings.Contains(p.labels(r), tt.incident+": done (override)") })
			}
			p.write(strings.TrimPrefix(r.Dir, p.root+"/")+"/go", "")
			p.until("api is done", func() bool {
				return strings.Contains(p.labels(r), "api: done") && !strings.Contains(p.labels(r), "still open")
			})
			if n := told(); n != 0 && tt.incident == "" {
				t.Errorf("%d incidents", n)
			}
		})
	}
}

// A script that the real Claude Code runs writes the marker of another node.
func TestMarkerOfClaudesScript(t *testing.T) {
	server := modeltest.New(t, modeltest.Script{Name: "s", Turns: []modeltest.Turn{
		{modeltest.Shell("sh ./release.sh")}, {modeltest.Hold("told"), modeltest.Report("nothing was needed")}, {modeltest.Text("bye")},
	}})
	p := newProject(t, `
session: s
agents:
  - {name: web, role: gate}
  - {name: api, agent: claude, role: review, auto_accept: true, task: "Release it. #script:s"}
`)
	p.write("release.sh", "touch \"$CMUX_ROOT/.cmux/signals/web.done\"\necho wrote\n")
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	home := modeltest.Env(t, server, p.root)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := p.create(func(o *StartOptions) {
		o.Binary, o.Kinds, o.Env = self, aiKinds(), append(home.Env, "XDG_STATE_HOME="+state)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Options{Run: r, How: HowStart, Kinds: aiKinds(), AtTerminal: func(context.Context, time.Time) (bool, error) { return false, nil }})
		over <- err
	}()
	defer func() { cancel(); <-over }()
	request := server.WaitFor(t, func(r modeltest.Request) bool { return r.Turn == 1 })
	if results := request.ToolResults(); len(results) != 1 || !strings.Contains(results[0].Text, "wrote") {
		t.Fatalf("the script did not run: %+v", results)
	}
	told := func(rec *run.Record) bool {
		return rec.Type == run.Incident && rec.How == run.IncidentMarker && rec.Node == "api" && strings.Contains(rec.Detail, "a marker of web")
	}
	p.until("the incident is recorded", func() bool { return p.count(r, told) == 1 })
	p.becomes(r, "web: needs input\napi: running")
	p.until("it is taken back", func() bool { return p.marker("web") == "none" })
	// Between two commands a touch is a person's.
	p.touch("web")
	p.becomes(r, "web: done (override)\napi: running")
	server.Release("told")
	p.becomes(r, "web: done (override)\napi: done")
}

// Input counts from 16 s before the marker on, at terminals of no program.
func TestTyped(t *testing.T) {
	at := time.Now()
	ago := func(s int) time.Time { return at.Add(-time.Duration(s) * time.Second) }
	for _, tt := range []struct {
		name      string
		terminals []terminal
		programs  map[uint64]bool
		want      bool
	}{
		{"none", nil, nil, false},
		{"just now", []terminal{{1, ago(0)}}, nil, true},
		{"a step of the kernel's before", []terminal{{1, ago(15)}}, nil, true},
		{"long ago", []terminal{{1, ago(17)}}, nil, false},
		{"since", []terminal{{1, ago(-3)}}, nil, true},
		{"a program's", []terminal{{1, ago(0)}}, map[uint64]bool{1: true}, false},
		{"a program's, and a person's", []terminal{{1, ago(0)}, {2, ago(2)}}, map[uint64]bool{1: true}, true},
		{"a program's, and an idle one", []terminal{{1, ago(0)}, {2, ago(200)}}, map[uint64]bool{1: true}, false},
	} {
		if got := typed(tt.terminals, tt.programs, at); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
