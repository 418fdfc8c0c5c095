package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
)

// player is a conversation with an app-server that the test plays, so that what
// it says comes in the order that the test wants.
type player struct {
	t     *testing.T
	agent *instance
	in    *os.File
	from  *bufio.Reader // what it is told, out of in
	to    io.Writer     // what it says

	mu    sync.Mutex
	heard []string // names of what the attempt was told
	fresh chan struct{}
}

// asked is what an app-server is asked.
type asked struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func play(t *testing.T) *player {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(filepath.Join(dir, "in"), 0o600))
	must(syscall.Mkfifo(filepath.Join(dir, "out"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "codex"), []byte("#!/bin/sh\nexec 3<&0\ncat <&3 >"+dir+"/in &\nexec cat "+dir+"/out\n"), 0o755))
	spawner, err := proc.NewSpawner()
	must(err)
	t.Cleanup(spawner.Close)
	mark := proc.Mark("CMUX_TEST=" + dir) // whose processes all end with the agent
	p := &player{t: t, fresh: make(chan struct{}, 1)}
	stage := &agent.Stage{
		Name: "a", Kind: "codex", Dir: dir, Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), string(mark)}, Prompt: "the task",
		Binary: "cmux", Files: agent.Files{Dir: dir, N: 1}, Out: io.Discard, Lines: new(event.Printer), Spawner: spawner, Mark: mark, Drain: time.Second,
		MayType: func(context.Context, news.Screen) (bool, error) { return true, nil },
		Tell: func(_ context.Context, events ...news.Event) error {
			p.mu.Lock()
			for _, e := range events {
				p.heard = append(p.heard, strings.TrimPrefix(fmt.Sprintf("%T", e), "news."))
			}
			p.mu.Unlock()
			select {
			case p.fresh <- struct{}{}:
			default:
			}
			return nil
		},
	}
	p.agent, err = newAgent(stage)
	must(err)
	must(p.agent.Start(t.Context()))
	in, err := os.OpenFile(filepath.Join(dir, "in"), os.O_RDONLY, 0)
	must(err)
	out, err := os.OpenFile(filepath.Join(dir, "out"), os.O_WRONLY, 0)
	must(err)
	p.in, p.from, p.to = in, bufio.NewReader(in), out
	t.Cleanup(func() {
		out.Close()
		if _, err := p.agent.Finish(context.Background(), 5*time.Second); err != nil {
			t.Error(err)
		}
		in.Close()
	})
	for p.next("initialize", "hooks/list", "thread/start") != "thread/start" {
	}
	p.next("turn/start")
	p.started("1")
	p.until("Converses", "WentOn", "WentOn")
	return p
}

// next waits for a request of one of these methods, and answers it.
func (p *player) next(methods ...string) string {
	p.t.Helper()
	r := p.take()
	if !slices.Contains(methods, r.Method) {
		p.t.Fatalf("was asked for %s, not %q", r.Method, methods)
	}
	p.say(`{"id":%s,"result":{"thread":{"id":"t"}}}`, r.ID)
	return r.Method
}

// take waits for a request and does not answer it.
func (p *player) take() (r asked) {
	p.t.Helper()
	for {
		line, err := p.from.ReadBytes('\n')
		if err != nil {
			p.t.Fatal(err)
		}
		if err := json.Unmarshal(line, &r); err != nil {
			p.t.Fatal(err)
		}
		if len(r.ID) > 0 {
			return r
		}
	}
}

// quiet makes sure that nothing is asked for the moment.
func (p *player) quiet() {
	p.t.Helper()
	if err := p.in.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		p.t.Fatal(err)
	}
	if b, err := p.from.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Errorf("something was asked: %q, %v", b, err)
	}
	if err := p.in.SetReadDeadline(time.Time{}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) say(format string, a ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.to, format+"\n", a...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) started(turn string) {
	p.say(`{"method":"turn/started","params":{"threadId":"t","turn":{"id":%q}}}`, turn)
}

func (p *player) completed(turn string) {
	p.say(`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":%q,"status":"completed"}}}`, turn)
}

func (p *player) command(what string) {
	p.say(`{"method":"item/%s","params":{"threadId":"t","item":{"type":"commandExecution","id":"c","command":"x"}}}`, what)
}

// until waits until the attempt was told this, signs of life and work apart, and
// forgets it.
func (p *player) until(want ...string) {
	p.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		p.mu.Lock()
		heard := slices.DeleteFunc(slices.Clone(p.heard), func(s string) bool { return !slices.Contains([]string{"Converses", "WentOn", "TurnEnded"}, s) })
		same := slices.Equal(heard, want)
		if same {
			p.heard = nil
		}
		p.mu.Unlock()
		if same {
			return
		}
		select {
		case <-p.fresh:
		case <-limit:
			p.t.Fatalf("heard %q, not %q", heard, want)
		}
	}
}

func (p *player) deliver(ctx context.Context) chan error {
	done := make(chan error, 1)
	go func() { done <- p.agent.Deliver(ctx, "a message") }()
	return done
}

func (p *player) delivered(done chan error) {
	p.t.Helper()
	if err := <-done; err != nil {
		p.t.Fatal(err)
	}
}

// Codex refuses what is said to a turn that is over before it tells that it is:
// the next turn is asked for when that was told, and not taken for ended by it.
func TestRefusedBeforeTheEndIsTold(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.command("started") // said to a turn at once while a command runs
	done := p.deliver(t.Context())
	r := p.take()
	if r.Method != "turn/steer" {
		t.Fatal(r.Method)
	}
	p.say(`{"id":%s,"error":{"code":-32600,"message":"no active turn to steer"}}`, r.ID)
	p.quiet()
	p.command("completed")
	p.completed("1")
	p.next("turn/start")
	p.delivered(done)
	p.until("TurnEnded", "WentOn")
	p.started("2")
	p.until("WentOn")
	if !p.agent.InTurn() {
		t.Error("it is in no turn")
	}
}

// What a turn left at work may end when the next turn has been asked for: that is
// no end of the next.
func TestWorkEndsBeforeTheNextTurnBegins(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.command("started")
	p.completed("1")
	p.until("TurnEnded")
	done := p.deliver(t.Context())
	r := p.take()
	if r.Method != "turn/start" {
		t.Fatal(r.Method)
	}
	p.command("completed")
	p.say(`{"id":%s,"result":{}}`, r.ID)
	p.delivered(done)
	p.started("2")
	p.until("WentOn", "WentOn")
	p.completed("2")
	p.until("TurnEnded")
}

// The end of a turn that another one has taken the place of is not that one's.
func TestEndOfATurnThatIsPassed(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.started("2")
	p.completed("1")
	p.until("WentOn")
	p.command("started")
	done := p.deliver(t.Context())
	p.next("turn/steer") // turn 2 runs
	p.delivered(done)
	p.completed("2")
	p.until("TurnEnded")
}

// What Codex was sent is given, though nobody waits for its answer any more.
func TestGivenThoughNobodyWaits(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.completed("1")
	p.until("TurnEnded")
	ctx, cancel := context.WithCancel(t.Context())
	done := p.deliver(ctx)
	r := p.take()
	cancel()
	p.say(`{"id":%s,"result":{}}`, r.ID)
	p.delivered(done)
	p.started("2")
	p.until("WentOn", "WentOn")
}
