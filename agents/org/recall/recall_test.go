package recall

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/org/memoryconfig"
	"cmux/agents/org/task"
	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/records/note"
	"cmux/agents/room"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func state(policy room.Policy, topic string, said ...room.Line) *room.State {
	lines := []room.Line{{N: 1, Kind: room.KindOpened, Settings: &room.Settings{Topic: topic, Policy: policy, Moderator: "ann"}}}
	for _, name := range []string{"ann", "bob"} {
		lines = append(lines, room.Line{N: int64(len(lines) + 1), Kind: room.KindJoined, Name: name})
	}
	for _, l := range said {
		l.N, l.Kind, l.By = int64(len(lines)+1), room.KindSaid, room.User
		lines = append(lines, l)
	}
	s := room.Fold("auth", lines)
	return &s
}

// A member is told what fits the topic, or the person's first message, or attached files; who
// moderates or coordinates is told about members as well. Nobody is told where that is off, or the
// file cannot be read.
func TestPick(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	said := new(bytes.Buffer)
	config := memoryconfig.Default()
	n := &Notes{Root: root, Now: time.Now, Config: func() memoryconfig.Config { return config }, Log: log.New(said)}
	pick := func(s *room.State, member string) string {
		return strings.Join(n.Pick(s, now, member), " ")
	}
	if got := pick(state(room.Everybody, "sessions"), "ann"); got != "" {
		t.Error(got)
	}
	b, err := note.OpenBook(root, time.Now, true)
	must(t, err)
	for _, f := range []note.Fields{
		{Text: "Sessions are in SQLite.", Kind: note.Project}, {Text: "codex: 3 answers about sessions.", Kind: note.Member},
		{Text: "It is generated.", Kind: note.Project, About: note.About{Files: []string{"docs/openapi.json"}}},
	} {
		f.By = note.ByUser
		_, _, err := b.Add(t.Context(), f)
		must(t, err)
	}
	for _, c := range []struct {
		s            *room.State
		member, want string
	}{
		{state(room.Everybody, "Where to keep sessions"), "ann", "n1"},
		{state(room.Moderator, "Where to keep sessions"), "bob", "n1"},
		{state(room.Everybody, "", room.Line{Text: "Which sessions?"}, room.Line{Text: "openapi"}), "ann", "n1"},
		{state(room.Everybody, "", room.Line{To: "bob", Text: "Which sessions?"}), "ann", ""},
		{state(room.Everybody, "", room.Line{Text: "Look.", Files: []room.File{{Name: "openapi.json"}}}), "ann", "n3"},
	} {
		if got := pick(c.s, c.member); got != c.want {
			t.Errorf("%s: %q, want %q", c.member, got, c.want)
		}
	}
	both := func(s *room.State, member string) {
		t.Helper()
		if got := n.Pick(s, now, member); len(got) != 2 || !slices.Contains(got, "n2") {
			t.Errorf("%s: %q", member, got)
		}
	}
	both(state(room.Moderator, "Where to keep sessions"), "ann")
	tasks, err := task.OpenBook(root, time.Now, true)
	must(t, err)
	title := "Sessions"
	_, _, err = tasks.Change(t.Context(), func(l *task.List) ([]task.Change, error) {
		return []task.Change{{Task: l.NextID(), Op: task.OpAdd, By: "user", Fields: task.Fields{Title: &title, Card: &task.Card{Room: "auth", Coordinator: "bob"}}}}, nil
	})
	must(t, err)
	both(state(room.Everybody, "Where to keep sessions"), "bob")
	if got := pick(state(room.Everybody, "sessions"), "ann"); got != "n1" {
		t.Error(got)
	}
	_, _, err = b.Forget(t.Context(), "n3", false)
	must(t, err)
	if got := n.Told([]string{"n1", "n3", "n9"}); !slices.Equal(got, []string{"n1: Sessions are in SQLite."}) {
		t.Errorf("%q", got)
	}
	config.Inject = false
	if got := pick(state(room.Everybody, "sessions"), "ann"); got != "" {
		t.Error(got)
	}
	config.Inject = true
	must(t, os.WriteFile(filepath.Join(root, ".cmux", note.Name), []byte("{}\n"), 0o600))
	if got := pick(state(room.Everybody, "sessions"), "ann"); got != "" || !strings.Contains(said.String(), "members of rooms are told none") {
		t.Errorf("%q, %s", got, said)
	}
}
