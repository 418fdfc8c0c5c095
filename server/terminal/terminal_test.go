package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"cmux/agents/control/terminals"
	"cmux/agents/platform/tmux"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Output that does not fit is dropped and the screen is drawn again; other messages are
// kept.
func TestViewer(t *testing.T) {
	v := newViewer()
	v.print([]byte("lost"))
	if f, behind := v.take(); f != nil || !behind {
		t.Fatalf("before the first screen: %v", f)
	}
	v.draw([]byte(`{"type":"screen"}`), []byte("S"))
	v.print([]byte("a"))
	v.print([]byte("b"))
	v.tell([]byte(`{"type":"state"}`))
	v.print([]byte("c"))
	var got []string
	for f, _ := v.take(); f != nil; f, _ = v.take() {
		got = append(got, string(f.b))
	}
	if want := `{"type":"screen"} Sab {"type":"state"} c`; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	for range 3 {
		v.tell([]byte("again"))
		v.print([]byte("-"))
	}
	if n := len(texts(v.queue)); n != 1 {
		t.Errorf("the same refusal waits %d times", n)
	}
	for f, _ := v.take(); f != nil; f, _ = v.take() {
	}
	for range maxWaiting/1000 + 1 {
		v.print(bytes.Repeat([]byte("x"), 1000))
	}
	v.tell([]byte("kept"))
	if f, behind := v.take(); behind || string(f.b) != "kept" {
		t.Errorf("%v", f)
	}
	if f, behind := v.take(); f != nil || !behind {
		t.Errorf("%v, %v", f, behind)
	}
	v.print([]byte("more"))
	v.draw([]byte(`{"type":"screen","cols":1}`), []byte("old"))
	v.draw([]byte(`{"type":"screen","cols":2}`), []byte("new"))
	if f, _ := v.take(); string(f.b) != `{"type":"screen","cols":2}` {
		t.Errorf("%s", f.b)
	}
	if f, _ := v.take(); string(f.b) != "new" || v.size != 0 {
		t.Errorf("%s, and %d bytes wait", f.b, v.size)
	}
}

func TestTypedSince(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	before := map[string]time.Time{"/dev/pts/1": at(100)}
	for _, c := range []struct {
		now  []tmux.Sitter
		want string
	}{
		{nil, ""},
		{[]tmux.Sitter{{Name: "/dev/pts/1", Typed: at(100)}}, ""},
		{[]tmux.Sitter{{Name: "/dev/pts/1", Typed: at(101)}}, "/dev/pts/1"},
		{[]tmux.Sitter{{Name: "/dev/pts/1", Typed: at(100)}, {Name: "/dev/pts/2", Typed: at(1)}}, "/dev/pts/2"},
	} {
		if got := typedSince(c.now, before); got != c.want {
			t.Errorf("%v: %q, want %q", c.now, got, c.want)
		}
	}
}

// Nothing is removed but pipes of cmux's own, and nothing where a link leads.
func TestSweep(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, signals.Folder, "terminals")
	at := func(path string) string { return filepath.Join(root, path) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(dir, 0o700))
	must(os.Mkdir(at("src"), 0o700))
	kept := []string{"src/main.go", "src/1-1", ".cmux/terminals/2-2", ".cmux/terminals/notes", ".cmux/terminals/01-1", ".cmux/terminals/1-1x"}
	for _, name := range kept[:len(kept)-2] {
		must(os.WriteFile(at(name), nil, 0o600))
	}
	for _, name := range append(kept[len(kept)-2:], ".cmux/terminals/1-1", ".cmux/terminals/12-345", "src/3-3") {
		must(unix.Mkfifo(at(name), 0o600))
	}
	must(os.Symlink(at("src/3-3"), at(".cmux/terminals/3-3")))
	kept = append(kept, "src/3-3", ".cmux/terminals/3-3")
	stays := func() {
		t.Helper()
		for _, name := range kept {
			if _, err := os.Lstat(at(name)); err != nil {
				t.Error(err)
			}
		}
	}
	must(leave(dir))
	stays()
	for _, name := range []string{"1-1", "12-345"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	must(os.RemoveAll(dir))
	must(os.Symlink("../src", dir))
	kept = []string{"src/main.go", "src/1-1", "src/3-3", ".cmux/terminals"}
	for name, f := range map[string]func() error{
		"sweep": func() error { return sweep(dir) },
		"leave": func() error { return leave(dir) },
		"a pipe": func() error {
			_, err := openTap(filepath.Join(dir, "9-9"), nil)
			return err
		},
	} {
		var in *signals.FileError
		if err := f(); !errors.As(err, &in) {
			t.Errorf("%s by a link: %v", name, err)
		}
		stays()
	}
	if _, err := os.Lstat(at("src/9-9")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe is made where the link leads: %v", err)
	}
	must(os.Remove(dir))
	must(leave(dir))
}

// A terminal is not shown by a link, and what is behind it stays.
func TestLinkedFolder(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, signals.Folder), 0o700), os.Symlink(other, filepath.Join(dir, signals.Folder, "terminals")),
		unix.Mkfifo(filepath.Join(other, "1-1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h := NewHub(t.Context(), Options{Dir: filepath.Join(dir, signals.Folder, "terminals")})
	var in *signals.FileError
	if err := h.folder(); !errors.As(err, &in) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(other, "1-1")); err != nil {
		t.Error(err)
	}
}

// source is one program in a pane, and one with a log.
type source struct {
	seat *terminals.Seat
	log  string

	mu   sync.Mutex
	said []string // take, release
	deny error
}

func (s *source) AgentSeat(_ context.Context, name string) (*terminals.Seat, error) {
	if name == s.seat.Name {
		return s.seat, nil
	}
	return nil, hint.New(fmt.Errorf("there is no agent %q", name), "cmux workers list")
}

func (s *source) NodeSeat(_ context.Context, _, node string) (*terminals.Seat, error) {
	return &terminals.Seat{Name: node, Run: "r1"}, nil
}

func (s *source) TakeSeat(_ context.Context, _ *terminals.Seat, by string) (func(context.Context, bool) error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deny != nil {
		return nil, s.deny
	}
	s.said = append(s.said, "take")
	return func(ctx context.Context, typed bool) error {
		time.Sleep(time.Millisecond) // a while in which who called may go
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if typed {
			s.said = append(s.said, "typed,")
		}
		s.said = append(s.said, "release")
		return nil
	}, nil
}

func (s *source) SeatLog(ctx context.Context, _ *terminals.Seat, w io.Writer) error {
	_, err := io.WriteString(w, s.log)
	return err
}

func (s *source) heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, " ")
}

// room is a hub, and a pane that it shows.
type room struct {
	t      *testing.T
	source *source
	url    string
	client *tmux.Client
	server tmux.Server
	place  tmux.Place
	dir    string
	end    func()
}

func newRoom(t *testing.T, script string) *room {
	t.Helper()
	if err := tmux.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("/tmp", "ct") // paths of sockets end near 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	s := tmux.Server{Socket: "t", Config: filepath.Join(dir, "tmux.conf"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMUX_TMPDIR=" + dir, "SHELL=/bin/sh", "TERM=xterm-256color", "LC_ALL=C.UTF-8"}}
	t.Cleanup(func() {
		s.Exec(context.Background(), "kill-server")
		os.RemoveAll(dir)
	})
	c, err := s.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	place, err := c.NewSession(t.Context(), "shop", "api", tmux.Spec{Dir: dir, Argv: []string{"sh", "-c", "stty raw -echo; " + script}},
		tmux.Marks{Pane: tmux.NodeMarks("org", "api")})
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, server: s, client: c, place: place, dir: dir,
		source: &source{seat: &terminals.Seat{Name: "api", Server: &s, Pane: place.Pane, Owner: "org"}, log: "one\ntwo\r\n"}}
	ctx, cancel := context.WithCancel(t.Context())
	if err := os.Mkdir(filepath.Join(dir, signals.Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	pipes := filepath.Join(dir, signals.Folder, "terminals")
	hub := NewHub(ctx, Options{Source: r.source, Dir: pipes, Failed: func(err error) { t.Error(err) }})
	mux := http.NewServeMux()
	hub.Routes(mux)
	web := httptest.NewServer(mux)
	r.url = web.URL
	r.end = sync.OnceFunc(func() {
		cancel()
		hub.Run()
		web.Close()
		if all, err := os.ReadDir(pipes); err == nil {
			t.Errorf("pipes are left: %v", all)
		}
	})
	t.Cleanup(r.end)
	return r
}

// peer is a client of a test.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
	text string // what was printed since the last screen, with it
	last map[string]any
	seen int // screens
	err  error
}

func (r *room) open(path string) *peer {
	r.t.Helper()
	c, _, err := websocket.Dial(r.t.Context(), r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c.SetReadLimit(1 << 20)
	r.t.Cleanup(func() { c.CloseNow() })
	return &peer{t: r.t, conn: c}
}

func (p *peer) say(text string) {
	p.t.Helper()
	if err := p.conn.Write(p.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) typed(text string) {
	p.t.Helper()
	if err := p.conn.Write(p.t.Context(), websocket.MessageBinary, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

// until hears until ok.
func (p *peer) until(what string, ok func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute) // it ends a hang, and no slow machine
	defer cancel()
	for !ok() {
		kind, b, err := p.conn.Read(ctx)
		if p.err = err; err != nil {
			p.t.Fatalf("waiting for %s: %v; last %v, text %.300q", what, err, p.last, p.text)
		}
		if kind == websocket.MessageBinary {
			p.text += string(b)
			continue
		}
		p.last = nil
		if err := json.Unmarshal(b, &p.last); err != nil {
			p.t.Fatal(err)
		}
		if p.last["type"] == "screen" {
			p.text = ""
			p.seen++
		}
	}
}

func (p *peer) shows(text string) {
	p.t.Helper()
	p.until(text, func() bool { return strings.Contains(p.text, text) })
}

func (p *peer) holder(who string) {
	p.t.Helper()
	p.until("holder "+who, func() bool { return p.last["type"] == "state" && p.last["holder"] == who })
}

func (p *peer) refused(why string) {
	p.t.Helper()
	p.until("refusal: "+why, func() bool {
		return p.last["type"] == "refused" && strings.Contains(fmt.Sprint(p.last["detail"]), why)
	})
}

const echo = "printf 'ready\\r\\n'; exec cat -u"

func TestWatchAndType(t *testing.T) {
	r := newRoom(t, echo)
	const path = "/api/agents/api/terminal"
	one, two := r.open(path), r.open(path)
	one.shows("ready")
	two.shows("ready")
	one.typed("no")
	one.refused("take it before you type")
	one.say(`{"type":"take"}`)
	one.holder("you")
	two.holder("other")
	two.say(`{"type":"take"}`)
	two.refused("another page types in it")
	two.typed("no")
	two.refused("take it before you type")
	one.typed("hello\r\n")
	one.say(`{"type":"paste","text":"pa\u001bsted"}`)
	two.shows("hello\r\npasted")
	one.shows("hello\r\npasted")
	one.say(`{"type":"release"}`)
	two.holder("")
	two.say(`{"type":"take"}`)
	two.holder("you")
	two.conn.CloseNow() // who goes has released it
	one.holder("")
	one.holder("other")
	one.holder("")
	if got := r.source.heard(); got != "take typed, release take release" {
		t.Error(got)
	}
	one.say(`{"type":"take"}`)
	one.holder("you")
	go r.end() // and so has a server that ends
	var err error
	for err == nil {
		_, _, err = one.conn.Read(t.Context())
	}
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Error(err)
	}
	r.end()
	if got := r.source.heard(); got != "take typed, release take release take release" {
		t.Error(got)
	}
	if s, err := r.client.Look(t.Context(), r.place.Pane); err != nil || s.Tap != "" || s.Width != tmux.DefaultWidth {
		t.Errorf("the pane afterwards: %+v, %v", s, err)
	}
}

// The page follows the pane's size; a program that ends ends the typing.
func TestSizeAndEnd(t *testing.T) {
	r := newRoom(t, "printf ready; read x; printf bye")
	p := r.open("/api/agents/api/terminal")
	p.say(`{"type":"take"}`) // at once
	p.holder("you")
	p.shows("ready")
	if _, err := r.client.Run(t.Context(), "resize-window", "-t", string(r.place.Window), "-x", "100", "-y", "30"); err != nil {
		t.Fatal(err)
	}
	p.until("the new size", func() bool { return p.last["type"] == "screen" && p.last["cols"] == 100.0 && p.last["rows"] == 29.0 })
	p.shows("ready")
	p.typed("\n")
	p.shows("bye")
	p.until("its end", func() bool { return p.last["type"] == "state" && p.last["live"] == false && p.last["holder"] == "" })
	p.say(`{"type":"take"}`)
	p.refused("its program has ended")
	if _, err := r.client.Run(t.Context(), "respawn-pane", "-t", string(r.place.Pane), "printf again; exec cat"); err != nil {
		t.Fatal(err)
	}
	p.shows("again")
	if err := r.client.KillPane(t.Context(), r.place.Pane); err != nil {
		t.Fatal(err)
	}
	p.until("that it is gone", func() bool { return p.last["why"] == "its pane is gone" })
}

// A person in tmux who types is not typed into, and ends the typing of a page.
func TestPersonInTmux(t *testing.T) {
	r := newRoom(t, echo)
	p := r.open("/api/agents/api/terminal")
	p.shows("ready")
	p.say(`{"type":"take"}`)
	p.holder("you")
	p.typed("page\r\n")
	p.shows("page")
	args, err := r.server.AttachArgs(r.place.Session)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := startPTY(t, args, r.server.Env)
	if err != nil {
		t.Fatal(err)
	}
	p.until("its loss", func() bool {
		return p.last["type"] == "state" && p.last["holder"] == "" && strings.Contains(fmt.Sprint(p.last["why"]), "somebody sits at it in tmux, at /dev/")
	})
	if _, err := tty.Write([]byte("mine")); err != nil {
		t.Fatal(err)
	}
	p.shows("mine")
	p.say(`{"type":"take"}`)
	p.refused("somebody sits at it in tmux")
	if got := r.source.heard(); got != "take release" {
		t.Error(got)
	}
}

func startPTY(t *testing.T, args, env []string) (*os.File, error) {
	cmd := command(t, args, env)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, tty)
	t.Cleanup(func() {
		tty.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return tty, nil
}

// Who does not read is drawn the screen when they do, and holds nobody up.
func TestSlowClient(t *testing.T) {
	r := newRoom(t, "printf ready; read x; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); printf 'line %0100d\\r\\n' $i; done; printf THEEND; exec cat")
	slow, fast := r.open("/api/agents/api/terminal"), r.open("/api/agents/api/terminal")
	fast.shows("ready")
	fast.say(`{"type":"take"}`)
	fast.holder("you")
	fast.typed("\n")
	fast.until("the end", func() bool {
		if len(fast.text) > 1<<20 {
			fast.text = fast.text[len(fast.text)-1000:]
		}
		return strings.Contains(fast.text, "THEEND")
	})
	read := 0
	slow.until("the end", func() bool {
		if len(slow.text) > 1<<20 {
			read += len(slow.text)
			slow.text = slow.text[len(slow.text)-1000:]
		}
		return strings.Contains(slow.text, "THEEND")
	})
	if slow.seen < 2 {
		t.Errorf("%d screens and %d bytes", slow.seen, read)
	}
}

func TestLogsAndRefusals(t *testing.T) {
	r := newRoom(t, echo)
	p := r.open("/api/runs/r1/nodes/build/terminal")
	p.until("a log", func() bool { return p.last["type"] == "screen" && p.last["log"] == true })
	p.until("its end", func() bool { return p.last["type"] == "ended" })
	if p.text != "one\r\ntwo\r\n" {
		t.Errorf("%q", p.text)
	}
	p.typed("x")
	p.refused("it has no pane")
	_, resp, err := websocket.Dial(t.Context(), r.url+"/api/agents/nobody/terminal", nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("an agent that is not there: %v, %v", resp, err)
	}
	r.source.seat.Owner = "another" // the id of a pane of an earlier tmux server
	p = r.open("/api/agents/api/terminal")
	p.until("a log", func() bool { return p.last["log"] == true })
	r.source.seat.Owner = "org"
	p = r.open("/api/agents/api/terminal")
	p.shows("ready")
	p.typed(strings.Repeat("x", maxTyped+1))
	p.refused("none was typed")
	p.say(`{"type":"grab"}`)
	p.refused("say take, release or paste")
	r.source.deny = errors.New("it does not listen")
	p.say(`{"type":"take"}`)
	p.refused("it does not listen")
	for range sentBurst + sentRate {
		if p.conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"release"}`)) != nil {
			break
		}
	}
	for err = nil; err == nil; {
		_, _, err = p.conn.Read(t.Context())
	}
	if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("a flood: %v", err)
	}
}

func command(t *testing.T, args, env []string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = env
	return cmd
}
