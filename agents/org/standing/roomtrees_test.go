package standing

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/org/treewatch"
	"cmux/agents/records/incident"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
	"cmux/worktree/git"
)

// git runs a shell script of git commands at the project's root.
func (w *world) git(script string) string {
	w.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// incidents waits for so many incidents in rooms, and returns all there are.
func (w *world) incidents(n int) []*incident.Incident {
	w.t.Helper()
	b, err := incident.OpenBook(w.root, time.Now, true)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []*incident.Incident
	w.until(fmt.Sprintf("%d incidents", n), func(*Org) bool {
		l, err := b.List()
		if err != nil {
			w.t.Fatal(err)
		}
		all = l.All()
		return len(all) >= n
	})
	return all
}

// unfenced has no fence around members: their person does not want one.
func (w *world) unfenced() {
	w.t.Helper()
	config := w.t.TempDir()
	w.t.Setenv("XDG_CONFIG_HOME", config)
	file := filepath.Join(config, "cmux", "config.yml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("fence: off\n"), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// lockedText is what a keeper logs.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *lockedText) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *lockedText) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// doer does in its turn what the person says behind "do:", in the shell, and answers.
const doer = `
f=$(eval "echo $SCRIPTED_CONVERSATION")
while read -r line; do
  printf '%s %s\n' "$(date +%s%N)" "$line" >> "$f"
  case "$line" in *'> do: '*) what=${line#*> do: }; eval "${what%%;end*}" > /dev/null 2>&1;; esac
  echo 'said Done.' >> "$f"
  printf '{"text": "Done."}' | cmux hook turn-ended
done`

// What changes at the checkout while a member is in a turn is an incident, once; what a person
// changes between turns, and what cmux does itself, is none.
func TestRoomTrees(t *testing.T) {
	w, _ := roomWorld(t)
	w.git("git init -q -b main; echo '*.ign' > .gitignore; echo a > a.txt; git add a.txt .gitignore; git commit -qm first; echo more >> a.txt")
	var said lockedText
	o := w.options()
	o.Patience, o.Windows, o.Host, o.Log = 0, Nowhere{}, Detached, log.NewWithOptions(&said, log.Options{Level: log.DebugLevel})
	b := w.room("r", room.Defaults(), nil, "h", "calm")
	for _, who := range []string{"h", "calm"} {
		if err := os.WriteFile(RolePath(w.root, "role-"+who), []byte(doer), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop := w.keepBy(o) // it starts members, with their roles as they are then
	n := 0
	says := func(to, text string) {
		n++
		if _, _, err := b.Say(t.Context(), book.Message{By: room.User, To: to, Text: text, Key: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
		lines := w.settles(b)
		turns := 0
		for _, l := range lines {
			if l.Kind == room.KindTurn {
				turns++
			}
		}
		w.until("the checkout is looked at after each turn", func(*Org) bool { return strings.Count(said.String(), "a checkout was looked at after a turn") == turns })
	}
	says("h", "do nothing")
	w.git("echo mine >> a.txt; echo new > new.txt; git add new.txt; git commit -qam mine") // between turns
	says("h", "do: echo x > .cmux/x; echo x > x.ign;end")
	says("h", "do: echo bad > stolen.txt; echo bad > a.txt;end")
	all := w.incidents(1)
	if got := all[0]; got.Kind != treewatch.Kind || got.About != "r" || got.Title != "room r: h (or you) changed a.txt, stolen.txt" ||
		!strings.Contains(got.Evidence[0].Text, "Turns under way: t3 of h. No fence kept") || !strings.HasPrefix(got.Advice.Command, "cmux rooms undo r ") {
		t.Errorf("%+v %+v", got, got.Advice)
	}
	// Two are in a turn, and one commits.
	says("", "do: case $CMUX_NODE in *.h) git add a.txt; git -c user.name=Bob -c user.email=bob@example.org commit -qm by-h; echo > .cmux/by-h;; *) until test -e .cmux/by-h; do sleep 0.01; done;; esac;end")
	w.incidents(2)
	// cmux moves the branch itself meanwhile, and says so.
	base := w.git("git rev-parse HEAD")
	next := w.git("git commit-tree -p HEAD -m next HEAD^{tree}")
	r := git.Repo{Root: w.root, GitDir: filepath.Join(w.root, ".git")}
	r.RecordOwn(git.Own{Ref: "refs/heads/main", Old: base, New: next})
	says("h", "do: git update-ref refs/heads/main "+next+";end")
	says("calm", "do: git rm -q --cached a.txt;end")
	all = w.incidents(3)
	if len(all) != 3 || !strings.HasPrefix(all[1].Title, "room r: calm or h (or you) changed a.txt, moved main from ") ||
		all[2].Title != "room r: calm (or you) changed a.txt" || all[0].Seen != 1 {
		for _, i := range all {
			t.Errorf("%s: %d, %+v", i.Title, i.Seen, i.Evidence)
		}
	}
	// What the member leaves for the person's own git to run is one of its own; a branch is none.
	says("h", "do: git config core.pager evil; printf x > .git/hooks/pre-commit; git branch more;end")
	all = w.incidents(4)
	if len(all) != 4 || all[3].Title != "room r: h (or you) changed what git does: setting core.pager, .git/hooks/pre-commit" || !strings.Contains(all[3].Evidence[0].Text, "setting core.pager: none -> evil") ||
		!strings.Contains(all[3].Advice.Command, "git config --local --unset") || !strings.Contains(all[3].Advice.Command, "rm "+filepath.Join(w.root, ".git/hooks/pre-commit")) {
		t.Errorf("%+v %+v", all[len(all)-1], all[len(all)-1].Advice)
	}
	// A checkout that git cannot read any more is one as well.
	says("h", "do: mv .git/index .git/index.was; echo broken > .git/index;end")
	all = w.incidents(5)
	if len(all) != 5 || all[4].Title != "room r: h (or you) left a checkout that git cannot read" || !strings.Contains(all[4].Evidence[0].Text, "index") {
		t.Errorf("%+v", all[len(all)-1])
	}
	w.git("mv .git/index.was .git/index")
	w.answered(w.ask(run.OpStop, "", Ask{}))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
