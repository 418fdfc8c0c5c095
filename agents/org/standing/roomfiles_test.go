package standing

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/org/seat"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
)

// What a message has attached is where its prompt says before the member reads that: also when
// the keeper was killed in between, with half of a copy there. Nobody else gets it.
func TestRoomGivesFiles(t *testing.T) {
	w, keep := roomWorld(t)
	stop := keep()
	b := w.room("r", room.Defaults(), map[string][]string{}, "a", "b")
	attached := func(name, text string) room.File {
		f, err := b.Attach(t.Context(), name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return *f
	}
	given := func(who string, f *room.File) string {
		text, err := os.ReadFile(filepath.Join(seat.Files(w.root, "r."+who), f.File))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	heard := func(who string) string {
		text, err := os.ReadFile(RolePath(w.root, "role-"+who) + ".heard")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	secret, report := attached("secret.txt", "for a alone"), attached("report.txt", strings.Repeat("for all", 10_000))
	if _, _, err := b.Say(t.Context(), book.Message{By: room.User, To: "a", Text: "This is for you.", Files: []room.File{secret}}); err != nil {
		t.Fatal(err)
	}
	w.settles(b)
	if given("a", &secret) != "for a alone" || given("b", &secret) != "" {
		t.Errorf("a has %q, b has %q", given("a", &secret), given("b", &secret))
	}
	if !strings.Contains(heard("a"), "attached: "+filepath.Join(seat.Files(w.root, "r.a"), secret.File)+" (11 B)") {
		t.Errorf("a is told\n%s", heard("a"))
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	// The keeper was killed after it had written that the turn begins.
	n, wakes, err := b.Say(t.Context(), book.Message{By: room.User, Text: "@a Read it.", Files: []room.File{report}})
	if err != nil || len(wakes) != 1 {
		t.Fatal(wakes, err)
	}
	_, _, err = b.Append(t.Context(), func(so []room.Line) ([]room.Line, error) {
		return []room.Line{{Kind: room.KindRound, Round: 2, State: room.Began}, {Kind: room.KindTurn, Turn: "t2", Member: "a", Round: 2, Messages: []int64{n}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(seat.Files(w.root, "r.a"), report.File), []byte("for"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop = keep()
	lines := w.settles(b)
	w.heardOnce(lines)
	if given("a", &report) != strings.Repeat("for all", 10_000) || !strings.Contains(heard("a"), report.File+" (68 KB)") {
		t.Errorf("a has %d bytes, and is told\n%s", len(given("a", &report)), heard("a"))
	}
	// A message that rides brings its file, too. One that is gone is named, and no turn waits for it.
	lost := attached("lost.txt", "x")
	if err := os.Remove(b.FilePath(&lost)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Append(t.Context(), func([]room.Line) ([]room.Line, error) {
		return []room.Line{{Kind: room.KindSaid, By: room.User, To: "b", Text: "Read them.", Wakes: []string{"b"}, Files: []room.File{lost}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.settles(b)
	if given("b", &secret) != "" || strings.Contains(heard("b"), "secret.txt") {
		t.Errorf("b has %q, and is told\n%s", given("b", &secret), heard("b"))
	}
	if _, lost, _ := strings.Cut(heard("b"), "The attached file lost.txt could not be given to b: files/"); given("b", &report) == "" || !strings.Contains(lost, "is missing") {
		t.Errorf("b has %d bytes, and is told\n%s", len(given("b", &report)), heard("b"))
	}
	w.answered(w.ask(run.OpStop, "", Ask{}))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
