package standing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

// talker answers each turn with the first line of its script that it has not said yet and
// whose first half, before the bar, is in what it is told; or it passes.
const talker = `
f=$(eval "echo $SCRIPTED_CONVERSATION")
while read -r line; do
  printf '%s %s\n' "$(date +%s%N)" "$line" >> "$f"
  case "$line" in *'<turn id='*) ;; *) echo 'said' >> "$f"; echo '{}' | cmux hook turn-ended; continue;; esac
  printf '%s\n' "$line" >> "$0.heard"
  said='[PASS]'
  while IFS='|' read -r about text; do
    case "$line" in *"$about"*) grep -qxF "$text" "$0.said" 2>/dev/null && continue; echo "$text" >> "$0.said"; said=$text; break;; esac
  done < "$0.says"
  echo "said $said" >> "$f"
  printf '{"text": "%s"}' "$said" | cmux hook turn-ended
done`

// roomWorld is a world whose keeper carries rooms with real programs, without windows.
func roomWorld(t *testing.T) (w *world, keep func() (stop func() error)) {
	w = newWorld(t, scripted.ConversationVar+"="+t.TempDir()+"/$CMUX_NODE")
	w.kinds = agent.NewKinds(scripted.Kind(true))
	set := w.org().Settings
	set.Fence.Mode = dag.FenceOff
	if err := w.org().Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	w.unfenced()       // the scripts write beside their roles
	t.Cleanup(func() { // nothing of a test that has failed stays
		for _, a := range w.org().Agents {
			if l := a.Life; l.On() && l.PID > 0 {
				syscall.Kill(l.PID, syscall.SIGKILL)
			}
		}
	})
	return w, func() func() error {
		o := w.options()
		o.Patience = 0
		o.Windows, o.Host = Nowhere{}, Detached
		return w.keepBy(o)
	}
}

// room makes a room whose members say these lines, one a turn.
func (w *world) room(name string, s room.Settings, says map[string][]string, order ...string) *book.Book {
	w.t.Helper()
	b, err := book.Open(w.root, name, time.Now, true)
	if err != nil {
		w.t.Fatal(err)
	}
	var members []room.Line
	for _, who := range order {
		role := "role-" + who
		path := RolePath(w.root, role)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte("set -- "+path+"\n"+strings.ReplaceAll(talker, "$0", "$1")), 0o600),
			os.WriteFile(path+".says", []byte(strings.Join(says[who], "\n")+"\n"), 0o600)); err != nil {
			w.t.Fatal(err)
		}
		members = append(members, room.Line{Name: who, Agent: scripted.Name, Role: role})
	}
	if err := b.Create(w.t.Context(), s, members...); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			text, _ := os.ReadFile(b.Path())
			w.t.Logf("%s", text)
			for _, name := range w.org().Names() {
				text, _ := os.ReadFile(w.r.AgentRecords(name))
				w.t.Logf("%s:\n%s", name, text)
			}
		}
	})
	return b
}

// settles waits until a room has come to rest, with all that the person said in it, and
// returns its lines.
func (w *world) settles(b *book.Book) (lines []room.Line) {
	w.t.Helper()
	w.until("the room comes to rest", func(*Org) bool {
		all, bad, err := b.Lines()
		if err != nil || len(bad) > 0 {
			w.t.Fatal(err, bad)
		}
		lines = all
		s := room.Fold(b.Name, all)
		given := map[int64]int{}
		for _, l := range all {
			for _, n := range l.Messages {
				given[n]++
			}
		}
		return !s.Round.On && !slices.ContainsFunc(all, func(l room.Line) bool {
			return l.Kind == room.KindSaid && l.By == room.User && given[l.N] < len(l.Wakes)
		})
	})
	for _, broken := range room.Check(lines) {
		w.t.Error(broken)
	}
	return lines
}

// said is what was said, in the order of authors and turns.
func said(lines []room.Line) string {
	var all []string
	for _, l := range lines {
		if l.Kind == room.KindSaid {
			all = append(all, l.By+": "+l.Text+l.Aside)
		}
	}
	return strings.Join(all, "\n")
}

// Members answer, react to each other and settle; a wrapper and a keeper that are killed
// lose nothing, and nobody is told anything twice.
func TestRoom(t *testing.T) {
	w, keep := roomWorld(t)
	stop := keep()
	b := w.room("r", room.Defaults(), map[string][]string{
		"a": {"Which|Postgres.", "SQLite|@b how many writers?", "One|+1 b"},
		"b": {"Which|SQLite.", "writers|One."},
	}, "a", "b")
	if _, _, err := b.Say(t.Context(), book.Message{By: room.User, Text: "Which database?", Key: "k1"}); err != nil {
		t.Fatal(err)
	}
	lines := w.settles(b)
	got := said(lines)
	for _, want := range []string{"a: Postgres.", "b: SQLite.", "a: @b how many writers?", "b: One.", "a: +1 b"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not said once in\n%s", want, got)
		}
	}
	// A keeper that is killed, and a wrapper between two turns.
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(w.org().Agents["r.a"].Life.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Say(t.Context(), book.Message{By: room.User, Text: "And now?", Key: "k2"}); err != nil {
		t.Fatal(err)
	}
	stop = keep()
	lines = w.settles(b)
	w.heardOnce(lines)
	if err := b.Order(t.Context(), "o1", room.DoClose, 0); err != nil {
		t.Fatal(err)
	}
	w.until("the programs end", func(o *Org) bool { return !o.Agents["r.a"].Life.On() && !o.Agents["r.b"].Life.On() })
	w.answered(w.ask(run.OpStop, "", Ask{}))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// No more turns are under way at once than the configuration allows.
func TestRoomsMaxActive(t *testing.T) {
	for _, most := range []int{1, 2} {
		w, keep := roomWorld(t)
		set := w.org().Settings
		set.Rooms = map[string]string{"max_active": strconv.Itoa(most)}
		if err := w.org().Set(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		stop := keep()
		once := room.Defaults()
		once.Policy = room.Once
		b := w.room("r", once, map[string][]string{"a": {"Which|Postgres."}, "b": {"Which|SQLite."}}, "a", "b")
		if _, _, err := b.Say(t.Context(), book.Message{By: room.User, Text: "Which database?"}); err != nil {
			t.Fatal(err)
		}
		lines, open, peak := w.settles(b), 0, 0
		for _, l := range lines {
			switch l.Kind {
			case room.KindTurn:
				open++
			case room.KindOver:
				open--
			}
			peak = max(peak, open)
		}
		if got := said(lines); peak != most || !strings.Contains(got, "a: Postgres.") || !strings.Contains(got, "b: SQLite.") {
			t.Errorf("max_active %d: %d turns at once, and said:\n%s", most, peak, got)
		}
		if err := b.Order(t.Context(), "o1", room.DoClose, 0); err != nil {
			t.Fatal(err)
		}
		w.until("the programs end", func(o *Org) bool { return !o.Agents["r.a"].Life.On() && !o.Agents["r.b"].Life.On() })
		w.answered(w.ask(run.OpStop, "", Ask{}))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// heardOnce checks that no turn was told to its member twice.
func (w *world) heardOnce(lines []room.Line) {
	w.t.Helper()
	for _, l := range lines {
		if l.Kind != room.KindTurn {
			continue
		}
		heard, err := os.ReadFile(RolePath(w.root, "role-"+l.Member) + ".heard")
		if err != nil {
			w.t.Fatal(err)
		}
		if id := `<turn id="r/` + l.Turn + `-`; strings.Count(string(heard), id) != 1 {
			w.t.Errorf("%s heard %s %d times:\n%s", l.Member, l.Turn, strings.Count(string(heard), id), heard)
		}
	}
}

// Keepers, wrappers and programs that are killed at any moment lose no message and no answer.
func TestRoomKilled(t *testing.T) {
	kills := 8
	if !testing.Short() {
		kills = 200
	}
	w, keep := roomWorld(t)
	stop := keep()
	b := w.room("r", room.Defaults(), map[string][]string{"a": {"m|@b what of it?"}, "b": {"what of|Well."}}, "a", "b")
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range kills {
		key := fmt.Sprintf("m%d", i)
		if _, _, err := b.Say(t.Context(), book.Message{By: room.User, Text: "message " + key, Key: key}); err != nil {
			t.Fatal(err)
		}
		more := chance.IntN(9) // lines until the kill
		before, _, _ := b.Lines()
		w.until("the moment of the kill", func(*Org) bool {
			now, _, err := b.Lines()
			s := room.Fold("r", now)
			return err == nil && (len(now) >= len(before)+more || len(now) > len(before) && !s.Round.On)
		})
		name := []string{"r.a", "r.b"}[chance.IntN(2)]
		a := w.org().Agents[name]
		switch what := chance.IntN(3); {
		case what == 0:
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			stop = keep()
		case a == nil || !a.Life.On() || a.Life.PID == 0:
		case what == 1:
			syscall.Kill(a.Life.PID, syscall.SIGKILL)
		default:
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", a.Life.PID))
			for _, pid := range strings.Fields(string(children)) {
				if pid, err := strconv.Atoi(pid); err == nil {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
		if chance.IntN(2) == 0 {
			w.settles(b)
		}
	}
	lines := w.settles(b)
	for i := range kills {
		key := fmt.Sprintf("m%d", i)
		if strings.Count(said(lines)+"\n", "message "+key+"\n") != 1 {
			t.Errorf("%s does not stand once", key)
		}
	}
	for _, l := range lines {
		if l.Kind == room.KindOver && l.How != room.HowReplied && l.How != room.HowPassed {
			t.Errorf("a turn ended as %+v", l)
		}
	}
	w.answered(w.ask(run.OpStop, "", Ask{}))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// A program that takes no turn, one that ends with each, and a wrapper that hangs: their turns
// fail after some tries, and the others are not kept from theirs.
func TestRoomWithBadMembers(t *testing.T) {
	w, keep := roomWorld(t)
	stop := keep()
	set := room.Defaults()
	set.Timeouts.Send = 1
	b := w.room("r", set, map[string][]string{"a": {"Which|Postgres."}}, "a", "deaf", "ends")
	for name, script := range map[string]string{"deaf": "exec sleep 100000", "ends": "exit 1"} {
		if err := os.WriteFile(RolePath(w.root, "role-"+name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.org().Join(t.Context(), run.Member{Name: "g", Role: Worker, ID: "ag_1", Dir: w.root, Kind: scripted.Name, Headless: true}, ""); err != nil {
		t.Fatal(err)
	}
	if err := b.Change(t.Context(), func(room.State) (*room.Line, error) {
		return &room.Line{Kind: room.KindJoined, Name: "g", Agent: "g", Guest: true}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Say(t.Context(), book.Message{By: room.User, Text: "Which?", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	// A guest reads no first answer before they are over.
	mailed := func(who string) bool {
		return slices.ContainsFunc(w.mailFor("g"), func(subject string) bool { return strings.Contains(subject, who+" says") })
	}
	w.until("a answers, and what the person said is mailed", func(*Org) bool {
		first, asked := mailed("a"), mailed("user")
		all, _, err := b.Lines()
		if s := room.Fold("r", all); err == nil && s.Blind.On && first {
			t.Fatal("the guest has a first answer while others are awaited")
		}
		return asked && strings.Contains(said(all), "a: Postgres.")
	})
	lines := w.settles(b)
	w.until("its answer is mailed", func(*Org) bool { return mailed("a") })
	if text, err := os.ReadFile(w.org().Agents["r.a"].Member.Context); err != nil || !strings.HasPrefix(string(text), "You are a (role-a) in the room r:") {
		t.Errorf("its context is %.100q, %v", text, err)
	}
	got := map[string]room.How{}
	for _, l := range lines {
		if l.Kind == room.KindOver {
			got[l.Member] = l.How
		}
	}
	if got["a"] != room.HowReplied && got["a"] != room.HowPassed || got["deaf"] != room.HowFailed || got["ends"] != room.HowFailed {
		t.Errorf("the turns ended as %v", got)
	}
	w.answered(w.ask(run.OpStop, "", Ask{}))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// A member whose conversation is gone is told again where it is and what was said last; one
// that comes back in its conversation is not.
func TestRoomForgot(t *testing.T) {
	w, keep := roomWorld(t)
	stop := keep()
	b := w.room("r", room.Defaults(), map[string][]string{"a": {"Which|Postgres.", "still|Yes."}}, "a")
	env, err := w.r.Env()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, scripted.ConversationVar+"=") })
	talk := strings.ReplaceAll(strings.TrimPrefix(env[i], scripted.ConversationVar+"="), "$CMUX_NODE", "r.a")
	heard := func() string {
		text, err := os.ReadFile(RolePath(w.root, "role-a") + ".heard")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for n, want := range []struct {
		say               string
		openings, forgets int
	}{{"Which?", 1, 0}, {"Are you still sure?", 1, 0}, {"And now?", 2, 1}, {"And then?", 2, 1}} {
		if _, _, err := b.Say(t.Context(), book.Message{By: room.User, Text: want.say, Key: strconv.Itoa(n)}); err != nil {
			t.Fatal(err)
		}
		w.settles(b)
		got := heard()
		if opened := strings.Count(got, "You are a (role-a) in the room r"); opened != want.openings || strings.Count(got, "Your conversation is gone. This was said last:") != want.forgets {
			t.Errorf("after %q it has heard\n%s", want.say, got)
		}
		if want.forgets > 0 && !strings.Contains(got, "> Which?  [a] (r#7, answers r#3) > Postgres.") {
			t.Errorf("what was said last is not in\n%s", got)
		}
		for k, do := range []room.Do{room.DoClose, room.DoReopen} {
			if err := b.Order(t.Context(), fmt.Sprint(n, "-", k), do, 0); err != nil {
				t.Fatal(err)
			}
			if do == room.DoClose {
				w.until("its program ends", func(o *Org) bool { return !o.Agents["r.a"].Life.On() })
			}
			if n == 1 && do == room.DoClose {
				if err := os.Remove(talk); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.answered(w.ask(run.OpStop, "", Ask{}))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
