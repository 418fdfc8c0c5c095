package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/news"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line                  string
		request, answer, fail bool
	}{
		{line: `{"id":0,"method":"a","params":{}}`, request: true},
		{line: `{"jsonrpc":"2.0","id":"x","result":null}`, answer: true},
		{line: `{"id":1,"error":{"code":-1,"message":"m"}}`, answer: true},
		{line: `{"method":"a"}`},
		{line: `{"id":null,"method":"a"}`},
		{line: `{"id":null,"result":1}`, fail: true},
		{line: `{}`, fail: true},
		{line: `null`, fail: true},
		{line: `[1]`, fail: true},
		{line: `{"id":1`, fail: true},
		{line: `2026 ERROR something`, fail: true},
	} {
		m, err := Parse([]byte(c.line))
		if (err != nil) != c.fail || m.IsRequest() != c.request || m.IsAnswer() != c.answer {
			t.Errorf("%s: %+v, %v", c.line, m, err)
		}
		if c.answer && (m.Result == nil) == (m.Error == nil) {
			t.Errorf("%s: both or neither of result and error", c.line)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"id":0,"method":"a","params":{"b":1}}`, `{"id":"x","result":{}}`, `{"method":"a"}`, "{}", "x", `{"id":1,"error":{"code":1,"message":"m"},"result":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Parse(line)
		if err != nil {
			return
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := Parse(b)
		if err != nil || again.IsRequest() != m.IsRequest() || again.IsAnswer() != m.IsAnswer() || again.Method != m.Method {
			t.Errorf("%s: %+v, then %+v, %v", line, m, again, err)
		}
	})
}

// Lines come in any pieces.
func TestConnWrite(t *testing.T) {
	text := "{\"method\":\"a\"}\n\n  {\"method\":\"b\"}\r\nnoise\n{\"id\":7,\"result\":1}\n{\"method\":\"c\"}\n{\"method\":\"cut"
	for size := 1; size <= len(text); size++ {
		var got []string
		c := &Conn{handle: func(m Message) { got = append(got, m.Method) }, stray: func(l string) { got = append(got, "!"+l) }}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if s := strings.Join(got, " "); s != "a b !noise c" {
			t.Fatalf("in pieces of %d: %s", size, s)
		}
	}
}

func TestConnPassesOverALineWithoutEnd(t *testing.T) {
	var got []string
	c := &Conn{handle: func(m Message) { got = append(got, m.Method) }, stray: func(string) { got = append(got, "stray") }}
	piece := []byte(strings.Repeat("x", 1<<20))
	for range maxLine>>20 + 2 {
		c.Write(piece)
	}
	if len(c.partial) > 0 {
		t.Errorf("%d bytes are kept", len(c.partial))
	}
	c.Write([]byte("x\n{\"method\":\"a\"}\n"))
	if fmt.Sprint(got) != "[a]" {
		t.Error(got)
	}
}

func newConn(t *testing.T) (c *Conn, program *os.File, ended chan struct{}) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	ended = make(chan struct{})
	return &Conn{input: w, ended: ended, handle: func(Message) {}, stray: func(string) {}}, r, ended
}

func TestCall(t *testing.T) {
	c, program, ended := newConn(t)
	answer := func(format string) {
		m := make([]byte, 4096)
		n, err := program.Read(m)
		if err != nil {
			t.Error(err)
			return
		}
		msg, err := Parse(m[:n])
		if err != nil || !msg.IsRequest() {
			t.Errorf("%s: %v", m[:n], err)
		}
		fmt.Fprintf(c, format+"\n", msg.ID)
	}
	go answer(`{"id":%s,"result":{"a":5}}`)
	var got struct{ A int }
	if err := c.Call(t.Context(), "m", nil, &got); err != nil || got.A != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	go answer(`{"id":%s,"error":{"code":-7,"message":"no"}}`)
	var refused *Error
	if err := c.Call(t.Context(), "m", nil, &got); !errors.As(err, &refused) || refused.Code != -7 {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Call(ctx, "m", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(ended)
	if err := c.Call(t.Context(), "m", nil, nil); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	if len(c.waiting) > 0 {
		t.Errorf("still waited for: %v", c.waiting)
	}
}

// A program that reads nothing holds nobody for longer than they want to wait.
func TestSendToADeafProgram(t *testing.T) {
	c, _, _ := newConn(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Notify(ctx, "m", strings.Repeat("x", 1<<20)) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "cmux"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	p := places.Policy{Role: dag.RoleBuild, Root: "/p", Tree: "/t", Headless: true, Machine: places.Here("/", []string{"PATH=" + bin})}
	shell := func(command string) guard.Call {
		in, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		return guard.Call{Tool: "shell", Input: in}
	}
	for _, c := range []struct {
		command               string
		plain, headless, auto guard.Verdict
	}{
		{`cmux done "a b"`, guard.Allow, guard.Allow, guard.Allow},
		{`/bin/bash -lc 'cmux done "a b"'`, guard.Ask, guard.Deny, guard.Allow},
		{Inner(`/bin/bash -lc "cmux done 'a b'"`), guard.Allow, guard.Allow, guard.Allow},
		{Inner(`/tmp/bash -lc "cmux done 'a b'"`), guard.Ask, guard.Deny, guard.Allow},
		{`cmux done "$(rm -rf /)"`, guard.Deny, guard.Deny, guard.Deny},
		{`cmux done x; touch y`, guard.Ask, guard.Deny, guard.Allow},
		{`sh -c 'cmux done x; touch y'`, guard.Ask, guard.Deny, guard.Allow},
		{`git stash`, guard.Deny, guard.Deny, guard.Deny},
	} {
		s := &Session{Stage: new(agent.Stage)}
		if d := s.Judge(p, shell(c.command)); d.Verdict != c.headless {
			t.Errorf("%s: headless %s", c.command, d.Verdict)
		}
		s.Stage.Terminal = &agent.Terminal{}
		if d := s.Judge(p, shell(c.command)); d.Verdict != c.plain {
			t.Errorf("%s: in a pane %s", c.command, d.Verdict)
		}
		s.Stage.AutoAccept = true
		if d := s.Judge(p, shell(c.command)); d.Verdict != c.auto {
			t.Errorf("%s: with auto_accept %s", c.command, d.Verdict)
		}
	}
}

func TestAnswers(t *testing.T) {
	if got := answers("2\nas you like", [][]string{{"left", "right"}, nil}); !slices.Equal(got, []string{"right", "as you like"}) {
		t.Errorf("%q", got)
	}
}

func TestLenient(t *testing.T) {
	var v struct {
		A int
		B string
		C []int
	}
	Lenient(json.RawMessage(`{"A":5,"B":{"not":"a text"},"C":[1,2],"D":0}`), &v)
	if v.A != 5 || v.B != "" || len(v.C) != 2 {
		t.Errorf("%+v", v)
	}
	Lenient(json.RawMessage(`no JSON`), &v)
	if v.A != 5 {
		t.Errorf("%+v", v)
	}
}

func TestConsole(t *testing.T) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ptmx.Close()
	defer tty.Close()
	got := make(chan string, 16)
	stop := watchConsole(t.Context(), tty,
		func(_ context.Context, l string) { got <- "line " + l }, func(context.Context) { got <- "break" }, func() { got <- "left" })
	for _, c := range []struct{ keys, want string }{
		{"hello\r", "line hello"}, {"helx\x7flo\n", "line hello"}, {"half\x03", "break"}, {"\x03", "break"}, {"é ü\n", "line é ü"}, {"\n", "line "}, {"\x04", "left"},
	} {
		if _, err := ptmx.WriteString(c.keys); err != nil {
			t.Fatal(err)
		}
		if g := <-got; g != c.want {
			t.Errorf("%q: %q, want %q", c.keys, g, c.want)
		}
	}
	stop()
}

// What is no terminal may end without that meaning anything.
func TestConsoleWithoutATerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make(chan string, 16)
	stop := watchConsole(t.Context(), r,
		func(_ context.Context, l string) { got <- l }, func(context.Context) {}, func() { t.Error("left") })
	w.WriteString("a\n")
	if g := <-got; g != "a" {
		t.Error(g)
	}
	w.Close()
	stop()
}

// turns is a Driver whose program answers a prompt when its turn is over.
type turns struct {
	Driver
	a     *Agent
	ended chan struct{} // the end of a turn waits for it
}

func (d turns) Steer(context.Context, string) (bool, error) { return false, nil }

func (d turns) Handle(Message) {}

func (d turns) Prompt(ctx context.Context, text string) error {
	return d.a.RunTurn(ctx, "prompt", text, d.a.TurnTaken, func(json.RawMessage, error) {
		d.a.TurnOver()
		<-d.ended
		d.a.Tell(news.TurnEnded{})
	})
}

// A message for a turn that is about to end begins a turn of its own, and who
// delivered it has heard of the end before: else it would pass for that of the
// turn that has just begun.
func TestEndOfTheTurnBefore(t *testing.T) {
	for i := range 40 {
		inTurn := i%2 == 0 // the second message comes before the end, or while that is not told yet
		conn, program, ended := newConn(t)
		var mu sync.Mutex
		var heard []news.Event
		admitted := make(chan struct{}, 2)
		stage := &agent.Stage{
			MayType: func(context.Context, news.Screen) (bool, error) {
				admitted <- struct{}{}
				return true, nil
			},
			Tell: func(_ context.Context, events ...news.Event) error {
				for range 100 {
					runtime.Gosched() // it is slow to listen
				}
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, events...)
				return nil
			},
		}
		d := turns{ended: make(chan struct{})}
		a := NewAgent(stage, &d, "", Options{})
		d.a, a.begun, a.Conn = a, true, conn
		a.tasks.Go(a.deliverNews)
		if err := a.Deliver(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		<-admitted
		delivered := make(chan error)
		deliver := func() { delivered <- a.Deliver(t.Context(), "two") }
		if inTurn {
			go deliver()
		}
		b := make([]byte, 4096)
		n, err := program.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(b[:n])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, `{"id":%s,"result":{}}`+"\n", m.ID)
		if !inTurn {
			for a.InTurn() {
				runtime.Gosched()
			}
			go deliver()
			<-admitted
			for range 1000 {
				runtime.Gosched() // it may come as far as it will
			}
		}
		d.ended <- struct{}{}
		if err := <-delivered; err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if !slices.Equal(heard, []news.Event{news.WentOn{}, news.TurnEnded{}, news.WentOn{}}) {
			t.Errorf("heard %#v", heard)
		}
		mu.Unlock()
		close(d.ended)
		a.cancel()
		close(ended)
		a.tasks.Wait()
	}
}

// begins is a Driver whose program says itself that it has taken a prompt up.
type begins struct{ turns }

func (d begins) Prompt(ctx context.Context, text string) error {
	return d.a.RunTurn(ctx, "prompt", text, nil, func(json.RawMessage, error) { d.a.TurnOver() })
}

// A prompt that was sent is given, whatever becomes of the wait for it: said to be
// not given, it would be given twice.
func TestSentIsGiven(t *testing.T) {
	conn, program, ended := newConn(t)
	d := begins{}
	a := NewAgent(&agent.Stage{
		MayType: func(context.Context, news.Screen) (bool, error) { return true, nil },
		Tell:    func(context.Context, ...news.Event) error { return nil },
	}, &d, "", Options{})
	d.a, a.begun, a.Conn = a, true, conn
	a.tasks.Go(a.deliverNews)
	ctx, cancel := context.WithCancel(t.Context())
	delivered := make(chan error)
	go func() { delivered <- a.Deliver(ctx, "one") }()
	b := make([]byte, 4096)
	n, err := program.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(b[:n])
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-delivered; err != nil {
		t.Error(err)
	}
	if !a.InTurn() {
		t.Error("its turn is forgotten")
	}
	fmt.Fprintf(conn, `{"id":%s,"result":{}}`+"\n", m.ID)
	a.cancel()
	close(ended)
	a.tasks.Wait()
}

// recorder is a Driver that takes every prompt at once.
type recorder struct {
	Driver
	resumes bool
	prompts []string
}

func (d *recorder) Enter(context.Context) (string, bool, error) { return "c1", d.resumes, nil }

func (d *recorder) Prompt(_ context.Context, text string) error {
	d.prompts = append(d.prompts, text)
	return nil
}

// The program is never prompted with nothing, and what is handed over before the
// conversation has begun is not lost.
func TestFirstPrompt(t *testing.T) {
	for name, c := range map[string]struct {
		prompt, resumption string
		resumes            bool
		quiet              bool
		want               []string
		rests              bool
	}{
		"new":                         {"who you are", "", false, false, []string{"who you are"}, false},
		"resumed with something":      {"who you are", "go on", true, false, []string{"go on"}, false},
		"resumed with nothing":        {"who you are", "", true, false, nil, true},
		"waits for its first message": {"", "", false, true, nil, false},
		"waits again":                 {"", "", true, true, nil, false},
	} {
		conn, _, ended := newConn(t)
		var heard []news.Event
		last := make(chan struct{})
		d := &recorder{resumes: c.resumes}
		a := NewAgent(&agent.Stage{
			Stays: true, Resumption: c.resumption,
			MayType: func(context.Context, news.Screen) (bool, error) { return true, nil },
			Tell: func(_ context.Context, events ...news.Event) error {
				if heard = append(heard, events...); slices.Contains(events, news.Event(news.WentOn{})) {
					close(last)
				}
				return nil
			},
		}, d, c.prompt, Options{})
		a.Conn = conn
		a.tasks.Go(a.deliverNews)
		if c.quiet { // handed over before it has begun
			if err := a.Deliver(t.Context(), "hello"); err != nil {
				t.Fatal(err)
			}
			c.want = []string{"hello"}
		} else if err := a.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.Tell(news.WentOn{})
		<-last
		a.cancel()
		close(ended)
		a.tasks.Wait()
		if !slices.Equal(d.prompts, c.want) || a.ToldNothing() != c.quiet || slices.Contains(heard, news.Event(news.TurnEnded{InOrder: true})) != c.rests {
			t.Errorf("%s: prompts are %q, heard %#v", name, d.prompts, heard)
		}
	}
}
