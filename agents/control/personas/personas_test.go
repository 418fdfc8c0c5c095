package personas

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/control/rooms"
	"cmux/agents/kinds/agent"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/signals"
)

func newPersonas(t testing.TB) *Personas {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	p := &project.Project{Root: root, Caller: project.Caller{Now: time.Now, Dir: root, Person: true, Kinds: agent.NewKinds(agent.Kind{Name: "scripted", Judge: true, Can: agent.Capability{Headless: "yes"}})}}
	return &Personas{&rooms.Rooms{Project: p, Records: &records.Records{Project: p}, Up: func(context.Context) error { return nil }}}
}

func (p *Personas) role(t testing.TB, name, text string) {
	t.Helper()
	dir := filepath.Join(p.Root, ".cmux", "roles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v; want %q", err, says)
	}
}

// A role file is made, edited and removed; what somebody else wrote meanwhile is not lost.
func TestPersonas(t *testing.T) {
	p := newPersonas(t)
	if all, err := p.List(); err != nil || len(all) != 0 {
		t.Fatalf("%+v, %v; want none", all, err)
	}
	_, err := p.Get("reviewer")
	refused(t, err, `there is no role "reviewer"`)
	made, err := p.Save(t.Context(), "reviewer", Saving{Kind: "scripted", Model: "large", Text: "You review."})
	if err != nil || made.Kind != "scripted" || made.Model != "large" || made.Text != "You review.\n" || made.File != filepath.Join(".cmux", "roles", "reviewer.md") {
		t.Fatalf("%+v, %v", made, err)
	}
	for name, s := range map[string]Saving{"../x": {Text: "x"}, "a b": {Text: "x"}, "a": {Text: " \n"}, "b": {Text: "x", Kind: "nothing"}, "c": {Text: "x", Model: "a\nb"}, "d": {Text: "x\x00"}} {
		if _, err := p.Save(t.Context(), name, s); err == nil {
			t.Errorf("%q %+v is written", name, s)
		}
	}
	_, err = p.Save(t.Context(), "reviewer", Saving{Text: "Another."})
	refused(t, err, "there is a role reviewer already")

	p.role(t, "reviewer", "---\nkind: scripted\nsince: May\n---\nChanged by hand.\n")
	_, err = p.Save(t.Context(), "reviewer", Saving{Text: "Mine.", Sum: made.Sum})
	refused(t, err, "has changed since it was read")
	refused(t, p.Remove(t.Context(), "reviewer", made.Sum), "has changed since it was read")
	now, err := p.Get("reviewer")
	if err != nil || now.Text != "Changed by hand.\n" {
		t.Fatalf("%+v, %v", now, err)
	}
	if now, err = p.Save(t.Context(), "reviewer", Saving{Text: "Mine.", Sum: now.Sum}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(p.Root, now.File)); string(b) != "---\nsince: May\n---\nMine.\n" {
		t.Errorf("%q", b)
	}

	// What an open room uses stays.
	b, err := book.Open(p.Root, "r", time.Now, true)
	if err == nil {
		err = b.Create(t.Context(), room.Defaults(), room.Line{Name: "ann", Agent: "scripted"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Append(t.Context(), func([]room.Line) ([]room.Line, error) {
		return []room.Line{{Kind: room.KindJoined, Name: "rae", Agent: "scripted", Role: "reviewer"}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if now, err = p.Get("reviewer"); err != nil || strings.Join(now.Used, " ") != "r.rae" {
		t.Errorf("%+v, %v", now, err)
	}
	refused(t, p.Remove(t.Context(), "reviewer", now.Sum), "is used by r.rae")
	if _, err := p.Order(t.Context(), "r", rooms.Order{Do: room.DoClose}); err != nil {
		t.Fatal(err)
	}
	p.role(t, "worker", "cmux's")
	p.role(t, "no name", "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(p.Root, ".cmux", "roles", "link.md")); err != nil {
		t.Fatal(err)
	}
	all, err := p.List()
	if err != nil || len(all) != 2 || all[0].Name != "reviewer" || len(all[0].Used) != 0 || !all[1].Own {
		t.Fatalf("%+v, %v", all, err)
	}
	refused(t, p.Remove(t.Context(), "worker", all[1].Sum), "is cmux's own")
	_, err = p.Save(t.Context(), "link", Saving{Text: "x"})
	if err == nil {
		t.Error("a link is written")
	}
	if err := p.Remove(t.Context(), "reviewer", all[0].Sum); err != nil {
		t.Error(err)
	}
	_, err = p.Save(t.Context(), "reviewer", Saving{Text: "x", Sum: all[0].Sum})
	refused(t, err, "was removed since it was read")
}
