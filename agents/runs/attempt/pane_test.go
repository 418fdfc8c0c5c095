package attempt_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"cmux/agents/kinds/agent"
	"cmux/dag"
)

// pane stands in for tmux: the far end of the terminal that the wrapper has.
type pane struct {
	keyboard *os.File
	tty      *os.File
	resized  chan struct{}

	mu   sync.Mutex
	seen bytes.Buffer
}

func (f *fixture) inPane() *pane {
	f.t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		f.t.Fatal(err)
	}
	p := &pane{keyboard: ptmx, tty: tty, resized: make(chan struct{}, 1)}
	p.size(f.t, 40, 100)
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(p, ptmx)
	}()
	f.t.Cleanup(func() { tty.Close(); <-read; ptmx.Close() })
	f.job.Terminal = &agent.Terminal{In: tty, Out: tty, Term: "screen", Resized: p.resized}
	f.job.Spec.Headless = false
	return p
}

func (p *pane) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

func (p *pane) shows(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.seen.String(), text)
}

func (p *pane) size(t *testing.T, rows, cols uint16) {
	t.Helper()
	if err := pty.Setsize(p.keyboard, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		t.Fatal(err)
	}
}

func TestPane(t *testing.T) {
	f := newFixture(t, dag.Node{Task: `echo "term $TERM $(stty size)"; read -r x; echo "got $x"
trap 'echo "now $(stty size)"' WINCH; echo ready; while [ ! -e go ]; do sleep 0.1; done
trap 'echo interrupted; exit 5' INT; echo waiting; while :; do sleep 0.1; done`})
	p := f.inPane()
	before, err := unix.IoctlGetTermios(int(p.tty.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	wait := f.start(t.Context())
	eventually(t, "the program has a terminal of the pane's size", func() bool { return p.shows("term screen 40 100") })
	p.keyboard.WriteString("typed\r")
	eventually(t, "what is typed arrives", func() bool { return p.shows("got typed") })
	eventually(t, "it is ready", func() bool { return p.shows("ready") })
	p.size(t, 30, 80)
	p.resized <- struct{}{}
	eventually(t, "the program hears of the new size", func() bool { return p.shows("now 30 80") })
	touchGo(t, f)
	eventually(t, "it waits", func() bool { return p.shows("waiting") })
	p.keyboard.WriteString("\x03")
	end, err := wait()
	if err != nil || end.Outcome != dag.Failed || end.Exit != 5 || end.Reason != dag.ReasonExit {
		t.Errorf("^C: %+v, %v", end, err)
	}
	if !strings.Contains(f.log(), "interrupted\r\n") {
		t.Errorf("log:\n%s", f.log())
	}
	after, err := unix.IoctlGetTermios(int(p.tty.Fd()), getTermios)
	if err != nil || *after != *before {
		t.Errorf("the pane's terminal is not what it was: %v", err)
	}
	f.leaveNothing()
}

// A pager waits for a person's keys, and a node has nobody to press them: what
// start was typed with is not taken, what the node's own env says is.
func TestPaneHasNoPager(t *testing.T) {
	task := "git init -q repo && git -C repo commit -q --allow-empty -m 'the first' && git -C repo log --format=%s"
	const person = "sed 's/^/paged: /'; read -r key </dev/tty"
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"of start", nil, "the first"},
		{"of the node", map[string]string{"GIT_PAGER": "sed 's/^/mine: /'"}, "mine: the first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, dag.Node{Task: task, Env: c.env, Timeout: dag.Duration(20 * time.Second)})
			f.inPane()
			f.job.Env = append(f.job.Env, "GIT_PAGER="+person, "PAGER="+person,
				"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
			if end := f.run(); end.Outcome != dag.Done {
				t.Fatalf("%+v\n%s", end, f.log())
			}
			if log := f.log(); !strings.Contains(log, "\n"+c.want) || strings.Contains(log, "paged: ") {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// A program that reads nothing does not keep what is typed from ending with it.
func TestPaneIgnoresInput(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "stty raw -echo; echo up; while [ ! -e go ]; do sleep 0.1; done; exit 0"})
	p := f.inPane()
	wait := f.start(t.Context())
	eventually(t, "it is up", func() bool { return p.shows("up") })
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		for range 64 {
			p.keyboard.Write(bytes.Repeat([]byte("x"), 1024))
		}
	}()
	touchGo(t, f)
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("%+v, %v", end, err)
	}
	// What nobody read is still in the pane's own terminal.
	eventually(t, "the typist is through", func() bool {
		flush(t, int(p.tty.Fd()))
		select {
		case <-typed:
			return true
		default:
			return false
		}
	})
}

func touchGo(t *testing.T, f *fixture) {
	t.Helper()
	write(t, f.job.Spec.Place.Dir+"/go", "")
}
