package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/control/rooms"
	"cmux/agents/org/memoryconfig"
	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/records/note"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/testkit/agenttest/until"
	"cmux/signals"
	"cmux/worktree/hint"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newMemory is a project in which the file config.yml says something of memory.
func newMemory(t testing.TB, config string) *Memory {
	t.Helper()
	root := t.TempDir()
	must(t, signals.Init(root))
	must(t, os.WriteFile(filepath.Join(root, ".cmux", "config.yml"), []byte(config), 0o600))
	p := &project.Project{Root: root, Caller: project.Caller{Now: time.Now, Dir: root, Person: true, Env: []string{"PATH=" + t.TempDir()}}}
	return &Memory{Project: p, Rooms: &rooms.Rooms{Project: p, Records: &records.Records{Project: p}, Up: func(context.Context) error { return nil }}}
}

// program puts a claude into the PATH that prints something, after it has said that it is asked.
func (p *Memory) program(t testing.TB, prints string) (asked string) {
	t.Helper()
	bin := t.TempDir()
	asked = filepath.Join(bin, "asked")
	must(t, os.WriteFile(filepath.Join(bin, "out"), []byte(prints), 0o600))
	script := fmt.Sprintf("#!/bin/sh\nset -e\ncd %q\n[ -e asked ] && mv asked asked-before\ncat > asked.new\nmv asked.new asked\ncat out\n", bin)
	must(t, os.WriteFile(filepath.Join(bin, "claude"), []byte(script), 0o700))
	p.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	return asked
}

func answer(notes string) string {
	return `{"type":"result","subtype":"success","is_error":false,"usage":{"input_tokens":70,"output_tokens":30},"structured_output":{"notes":` + notes + `}}`
}

// talked makes a room in which something was said and decided.
func (p *Memory) talked(t testing.TB, name string, more ...room.Line) *book.Book {
	t.Helper()
	b, err := book.Open(p.Root, name, time.Now, true)
	must(t, err)
	settings := room.Defaults()
	settings.Topic = "Where to keep sessions"
	must(t, b.Create(t.Context(), settings, room.Line{Name: "ann", Agent: "scripted"}))
	lines := append([]room.Line{
		{Kind: room.KindSaid, By: room.User, Text: "Which database?", Wakes: []string{"ann"}}, // 3
		{Kind: room.KindRound, Round: 1, State: room.Began},
		{Kind: room.KindTurn, Turn: "t1", Member: "ann", Round: 1, Messages: []int64{3}},
		{Kind: room.KindTook, Turn: "t1"},
		{Kind: room.KindSaid, By: "ann", Turn: "t1", Text: "SQLite, in WAL mode."}, // 7
		{Kind: room.KindOver, Turn: "t1", Member: "ann", How: room.HowReplied, Said: 7, Used: 40, Took: 3000},
		{Kind: room.KindRound, Round: 1, State: room.Settled},
	}, more...)
	_, _, err = b.Append(t.Context(), func([]room.Line) ([]room.Line, error) { return lines, nil })
	must(t, err)
	return b
}

func shut() room.Line { return room.Line{Kind: room.KindOrder, By: room.User, Do: room.DoClose} }

func text(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// A promoted note is in MEMORY.md once, also if the first promotion was cut off, and what the
// person wrote there stays.
func TestPromote(t *testing.T) {
	p, ctx := newMemory(t, ""), t.Context()
	for _, f := range []string{"Sessions are in SQLite.", "Run make lint first.", "Known already."} {
		_, err := p.Add(ctx, note.Fields{Text: f, Kind: note.Practice})
		must(t, err)
	}
	file := filepath.Join(p.Root, "MEMORY.md")
	must(t, os.WriteFile(file, []byte("# Mine\n\n* Known already.\nno end"), 0o640))
	if n, err := p.Promote(ctx, "n1"); err != nil || n.State != note.Promoted {
		t.Errorf("%+v, %v", n, err)
	}
	const want = "# Mine\n\n* Known already.\nno end\n- Sessions are in SQLite.\n"
	if got := text(t, file); got != want {
		t.Errorf("%q", got)
	}
	_, err := p.Promote(ctx, "n1")
	if why, try := hint.Explain(err); !errors.Is(err, note.ErrPromoted) || !strings.Contains(why, "n1: it was moved into MEMORY.md") || try != "cmux memory show n1" {
		t.Errorf("again: %v, %q", err, try)
	}
	must(t, p.remember("Run make lint first.")) // and then it was killed
	for range 2 {
		_, err := p.Promote(ctx, "n2")
		if err != nil && !errors.Is(err, note.ErrPromoted) {
			t.Error(err)
		}
	}
	_, err = p.Promote(ctx, "n3")
	must(t, err)
	if got := text(t, file); got != want+"- Run make lint first.\n" {
		t.Errorf("%q", got)
	}
	if all, err := p.List(); err != nil || len(all.Notes) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if n, err := p.Show("n2"); err != nil || n.State != note.Promoted {
		t.Errorf("%+v, %v", n, err)
	}
	must(t, os.Remove(file))
	must(t, os.Symlink("elsewhere", file))
	_, err = p.Add(ctx, note.Fields{Text: "Another.", Kind: note.Practice})
	must(t, err)
	if _, err := p.Promote(ctx, "n4"); err == nil || !strings.Contains(err.Error(), "n4 stays a note") {
		t.Error(err)
	}
	if n, err := p.Show("n4"); err != nil || n.State != note.Shown {
		t.Errorf("%+v, %v", n, err)
	}
}

// A program's notes are learned once for each range, and say where they come from.
func TestLearn(t *testing.T) {
	p, ctx := newMemory(t, "memory: {model: small}\n"), t.Context()
	b := p.talked(t, "auth")
	asked := p.program(t, answer(`[{"text":"Sessions are in SQLite.","kind":"project","messages":[7]}]`))
	due, err := p.Due("")
	if err != nil || len(due) != 1 || due[0].Why != "" || due[0].By != "claude" || due[0].Model != "small" || due[0].Tokens < 1000 || due[0].Messages != 2 {
		t.Errorf("%+v, %v", due, err)
	}
	got, err := p.Learn(ctx, "auth", Options{})
	if err != nil || len(got.Notes) != 1 || got.Notes[0].By != "claude" || got.Tokens != 100 || got.Why != "" || got.From != 1 || got.To != 9 {
		t.Fatalf("%+v, %v", got, err)
	}
	if said := text(t, asked); !strings.Contains(said, "[ann] (#7)\n> SQLite, in WAL mode.") {
		t.Error(said)
	}
	w, err := p.Why("n1")
	if err != nil || len(w.Messages) != 1 || w.Messages[0].Text != "SQLite, in WAL mode." || w.Messages[0].By != "ann" || w.Missing != "" {
		t.Errorf("%+v, %v", w, err)
	}
	_, err = p.Learn(ctx, "auth", Options{})
	if _, try := hint.Explain(err); err == nil || try != "cmux memory learn auth --again" {
		t.Errorf("%v, %q", err, try)
	}
	if due, err := p.Due(""); err != nil || len(due) > 0 {
		t.Errorf("%+v, %v", due, err)
	}
	if got, err = p.Learn(ctx, "auth", Options{Again: true}); err != nil || len(got.Notes) != 0 {
		t.Errorf("repeated: %+v, %v", got, err)
	}
	if _, err := p.Learn(ctx, "nothing", Options{}); !errors.Is(err, project.ErrMissing) {
		t.Error(err)
	}
	_, _, err = b.Append(ctx, func([]room.Line) ([]room.Line, error) { return []room.Line{shut()}, nil })
	must(t, err)
	if due, err := p.Due("auth"); err != nil || len(due) > 0 {
		t.Errorf("closed without more: %+v, %v", due, err)
	}
	must(t, book.Move(p.Root, "auth", filepath.Join(t.TempDir(), "auth")))
	if w, err := p.Why("n1"); err != nil || w.Missing != "the room auth is gone" || len(w.Messages) > 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

// An answer that is not valid gives no note, and the range is learned from all the same. Without
// the program what can be counted is noted.
func TestLearnWithoutAnswer(t *testing.T) {
	for prints, want := range map[string]string{
		answer(`[{"text":"x","kind":"joke","messages":[7]}]`):                                                   "no kind of note",
		answer(`[{"text":"good","kind":"project","messages":[7]},{"text":"x","kind":"project","messages":[]}]`): "note 2 of the answer rests on no message",
		`{"type":"result","is_error":false,"result":"I do not want to."}`:                                       "does not have the form",
		`{"type":"result","is_error":true,"result":"no credit\nat all"}`:                                        "no credit",
		"rubbish": "printed no result",
	} {
		p := newMemory(t, "")
		p.talked(t, "auth")
		p.program(t, prints)
		got, err := p.Learn(t.Context(), "auth", Options{})
		if err != nil || len(got.Notes) > 0 || !strings.HasPrefix(got.Why, "claude haiku made no notes: ") || !strings.Contains(got.Why, want) {
			t.Errorf("%s: %+v, %v", prints, got, err)
		}
		l, err := p.list()
		must(t, err)
		if r := l.Reads(); len(r) != 1 || r[0].Why != got.Why || r[0].By != "claude" || len(l.Shown()) > 0 {
			t.Errorf("%s: %+v", prints, r)
		}
	}
	p := newMemory(t, "")
	p.talked(t, "auth")
	if due, err := p.Due("auth"); err != nil || due[0].By != note.ByHeuristic || due[0].Tokens != 0 {
		t.Errorf("%+v, %v", due, err)
	}
	got, err := p.Learn(t.Context(), "auth", Options{})
	if err != nil || len(got.Notes) != 2 || got.By != note.ByHeuristic || got.Why != "claude is not installed" {
		t.Errorf("%+v, %v", got, err)
	}
}

// If the caller ends while the program is asked, nothing was learned, and it is asked again.
func TestLearnCutOff(t *testing.T) {
	p := newMemory(t, "")
	p.talked(t, "auth")
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n> "+bin+"/up\nexec sleep 100\n"), 0o700))
	p.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		until.True(ctx, func() bool { _, err := os.Stat(filepath.Join(bin, "up")); return err == nil })
		cancel()
	}()
	if _, err := p.Learn(ctx, "auth", Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.program(t, answer(`[{"text":"Sessions are in SQLite.","kind":"project","messages":[7]}]`))
	if got, err := p.Learn(t.Context(), "auth", Options{}); err != nil || len(got.Notes) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Of two who learn from the same messages one does: the other is told what to look at.
func TestLearnedMeanwhile(t *testing.T) {
	p, ctx := newMemory(t, ""), t.Context()
	p.talked(t, "auth")
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "out"), []byte(answer(`[{"text":"Sessions are in SQLite.","kind":"project","messages":[7]}]`)), 0o600))
	must(t, os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\ncd "+bin+"\n> up\nwhile [ ! -e go ]; do sleep 0.01; done\ncat out\n"), 0o700))
	p.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	slow := make(chan error, 1)
	go func() {
		_, err := p.Learn(ctx, "auth", Options{})
		slow <- err
	}()
	until.True(ctx, func() bool { _, err := os.Stat(filepath.Join(bin, "up")); return err == nil })
	_, err := p.Learn(ctx, "auth", Options{Heuristic: true})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(bin, "go"), nil, 0o600))
	err = <-slow
	if _, try := hint.Explain(err); err == nil || !strings.Contains(err.Error(), "was learned from meanwhile") || try != "cmux memory list" {
		t.Errorf("%v, %q", err, try)
	}
	if all, err := p.List(); err != nil || len(all.Notes) != 2 || all.Notes[0].By != note.ByHeuristic {
		t.Errorf("%+v, %v", all, err)
	}
}

// keeps looks as a monitor does that has just begun, and holds what is there then against a fact.
func (p *Memory) keeps(t *testing.T, fact func(*note.List) bool) {
	t.Helper()
	must(t, p.Keeper(log.New(t.Output())).Look(t.Context()))
	l, err := p.list()
	must(t, err)
	if !fact(l) {
		t.Errorf("%+v", l)
	}
}

// By itself cmux learns once from what is due, and from nothing else; with ask it waits for the
// person. It records which turns got notes.
func TestKeep(t *testing.T) {
	for config, want := range map[string]int{"memory: {learn: auto}\n": 1, "memory: {learn: heuristic}\n": 1, "": 0, "memory: {learn: off}\n": 0} {
		p := newMemory(t, config)
		p.program(t, answer(`[{"text":"Sessions are in SQLite.","kind":"project","messages":[7]}]`))
		told, err := p.Add(t.Context(), note.Fields{Text: "Told.", Kind: note.Practice})
		must(t, err)
		p.talked(t, "open")
		p.talked(t, "closed", shut())
		// its use is recorded last
		p.talked(t, "told", room.Line{Kind: room.KindTurn, Turn: "t2", Member: "ann", Notes: []string{told.ID}})
		for range 2 {
			p.keeps(t, func(l *note.List) bool { return len(l.Get(told.ID).Used) == 1 && len(l.Reads()) == want })
		}
		l, err := p.list()
		must(t, err)
		if r := l.Reads(); want == 1 && (len(r) != 1 || r[0].Room != "closed" || r[0].Notes == 0) {
			t.Errorf("%s: %+v", config, r)
		}
		if u := l.Get(told.ID).Used; len(u) != 1 || u[0].Turn != "t2" || u[0].Member != "ann" || u[0].Room != "told" {
			t.Errorf("%+v", u)
		}
		if c, err := p.Config(); err != nil || c.Learn == memoryconfig.Off && strings.Contains(config, "auto") {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// Notes are found by their words, the pinned ones stand first, and what is refused says why.
func TestChanges(t *testing.T) {
	p, ctx := newMemory(t, ""), t.Context()
	for _, f := range []string{"One fact.", "Another fact.", "A third."} {
		_, err := p.Add(ctx, note.Fields{Text: f, Kind: note.Project})
		must(t, err)
	}
	_, err := p.Pin(ctx, "n1", true)
	must(t, err)
	if all, err := p.List(); err != nil || all.Notes[0].ID != "n1" || all.Notes[1].ID != "n3" {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := p.Search("fact"); err != nil || len(all.Notes) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	said := "Changed."
	if n, err := p.Edit(ctx, "n2", Change{Text: &said, Files: &[]string{"a.go"}}); err != nil || n.Text != said || n.About.Files[0] != "a.go" || n.Kind != note.Project {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := p.Forget(ctx, "n3", true); err != nil || n.Text != "" {
		t.Errorf("%+v, %v", n, err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(p.Search(" ")), "say what to search for"},
		{second(p.Show("n9")), `there is no note "n9"`},
		{second(p.Add(ctx, note.Fields{Text: "a third", Kind: note.Project})), "n3: it was forgotten"},
		{second(p.Add(ctx, note.Fields{Text: "changed", Kind: note.Project})), "n2: there is such a note already"},
		{second(p.Add(ctx, note.Fields{Text: "x", Kind: "joke"})), "no kind of note"},
		{second(p.Pin(ctx, "n3", true)), "n3: it was forgotten"},
		{second(p.Forget(ctx, "n9", false)), "there is no note"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || !errors.Is(c.err, project.ErrUsage) && !errors.Is(c.err, project.ErrMissing) {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
