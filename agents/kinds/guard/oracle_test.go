package guard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/rights"
	"cmux/dag"
)

// world is a project with a worktree, and what must stay out of reach around
// it, in which real shells run what was granted. It knows nothing of how the
// guard reads a text: it sees what was run, what changed and what was printed.
type world struct {
	t       testing.TB
	dir     string
	old     string // a commit in which links were files, and the reverse
	treeID  string
	policy  places.Policy
	before  map[string]state
	history map[string]bool // path and content of every file of every commit
	runs    int
	more    []string // variables of the environment
}

// state is a file as it was.
type state struct {
	mode    fs.FileMode
	content string // or where a link leads
	stamp   [3]int64
}

const (
	canary = "CANARY"
	sep    = "\x1f" // between the words of a program
	end    = "\x1e" // of a program
	next   = "\x1d" // before a text
)

// granted programs are run after they have told what they were given.
var real_ = []string{"git", "cat", "head", "tail", "wc", "ls", "mkdir", "mv", "rm", "grep", "sed", "sort", "uniq", "diff", "touch", "find", "timeout"}

// fakes are programs that nothing granted may start, except the first two.
var fakes = strings.Fields(`cmux check pwn id sh bash zsh dash ksh env xargs cp ln tee less more pager vi editor gpg ssh EOF EOFpwn EOFx END x y a b w src main HEAD
	python3 perl awk rg cut tr printf test chmod curl sleep make go npm node lefthook git-lfs delta difft command exec eval noglob builtin coproc sudo FILE it 1 2 - -- .. README cmd CMD`)

// shells are those whose reading counts, with options that people set.
var shells = [][]string{
	{"bash", "--norc"},
	{"bash", "--norc", "-O", "extglob", "-O", "globstar", "-O", "nullglob", "-O", "dotglob", "-O", "cdable_vars", "-O", "expand_aliases"},
	{"bash", "--posix"},
	{"zsh", "-f"},
	{"zsh", "-f", "-o", "extendedglob", "-o", "nullglob", "-o", "shwordsplit", "-o", "magicequalsubst", "-o", "rcquotes", "-o", "globsubst", "-o", "cdablevars", "-o", "braceccl", "-o", "kshglob", "-o", "globdots", "-o", "autocd", "-o", "pathdirs"},
	{"zsh", "-f", "-o", "interactivecomments", "-o", "kshtypeset", "-o", "banghist", "-o", "ignorebraces", "-o", "shortloops", "-o", "multios", "-o", "cshnullglob", "-o", "globassign", "-o", "numericglobsort"},
	{"zsh", "--emulate", "sh", "-f"},
	{"dash"},
	{"sh"},
}

func newWorld(t testing.TB) *world {
	for _, s := range shells {
		if _, err := exec.LookPath(s[0]); err != nil {
			t.Skipf("%s is missing: .ci/tools zsh dash", s[0])
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, history: map[string]bool{}}
	w.programs()
	w.write("home/.gitconfig", "[user]\n\tname = a\n\temail = a@a\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[core]\n\tpager = less\n[init]\n\tdefaultBranch = main\n")
	for name, content := range map[string]string{
		"outside/secret": canary, "outside/src/a.txt": canary, "outside/sub/c": canary, "outside/link/new": canary,
		"root/README": "readme\n", "root/src/a.txt": "one\n", "root/src/b.txt": "two\n", "root/sub/c": "three\n", "root/with blank": "four\n",
		"root/link": "was a file\n", "root/link2": "x\n", "root/.claude/settings.json": "{}\n", "root/-n": "dash\n", "root/=pwn": "equals\n", "root/--output=out": "o\n", "root/a": "a\n",
		"root/olddir/x": "old\n",
	} {
		w.write(name, content)
	}
	w.git("root", "init", "-q", ".")
	w.commit("one")
	w.old = w.git("root", "rev-parse", "HEAD")
	w.treeID = w.git("root", "rev-parse", "HEAD:sub")
	for _, gone := range []string{"link", "link2", ".claude/settings.json", "olddir/x"} {
		w.must(os.Remove(filepath.Join(dir, "root", gone)))
	}
	for name, to := range map[string]string{"link": "../outside", "link2": "../outside/secret", "src/link2": "../../outside/secret", "inlink": "src", "gitdir": "../root/.git", "olddir": "../outside"} {
		w.must(os.RemoveAll(filepath.Join(dir, "root", name)))
		w.must(os.Symlink(to, filepath.Join(dir, "root", name)))
	}
	w.write("root/src/a.txt", "one, later\n")
	w.write("root/evil/README", "not the readme\n")
	w.commit("two")
	w.git("root", "worktree", "add", "-q", "-b", "w", "../tree")
	w.must(os.RemoveAll(filepath.Join(dir, "root/.git/hooks")))
	w.write("root/.git/info/exclude", "/pwn\n/git\n/cat\n")
	w.write("root/.cmux/state", canary)
	w.write("root/README", canary)
	b, err := os.ReadFile(filepath.Join(dir, "root/.git/config"))
	w.must(err)
	w.write("root/.git/config", string(b)+"# "+canary+"\n")
	w.write("tree/src/b.txt", "two, changed\n")
	w.write("tree/new", "new\n")
	w.must(os.Link(filepath.Join(dir, "bin/pwn"), filepath.Join(dir, "tree/pwn")))
	for _, name := range []string{"git", "cat", "ls"} {
		w.must(os.Link(filepath.Join(dir, "bin/pwn"), filepath.Join(dir, "tree", name)))
	}
	for _, commit := range strings.Fields(w.git("root", "rev-list", "--all")) {
		for _, path := range strings.Split(strings.TrimSuffix(w.git("root", "ls-tree", "-rz", "--name-only", commit), "\x00"), "\x00") {
			w.history[path+"\x00"+w.git("root", "cat-file", "blob", commit+":"+path)] = true
		}
	}
	path := filepath.Join(dir, "cmux") + ":" + os.Getenv("PATH") // the guard's own questions are not told
	w.must(os.Mkdir(filepath.Join(dir, "cmux"), 0o755))
	w.must(os.Link(filepath.Join(dir, "bin/cmux"), filepath.Join(dir, "cmux/cmux")))
	w.policy = places.Policy{
		Role: dag.RoleBuild, Root: filepath.Join(dir, "root"), Tree: filepath.Join(dir, "tree"), Branch: "w", Scope: []string{"src/"},
		Verify: []string{"check it"}, Resolve: places.Follow, Machine: places.Here(filepath.Join(dir, "tree"), append(w.env("bin"), "PATH="+path)),
	}
	w.before = w.look()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(content), 0o644))
}

// programs makes two folders of programs: in bin those that may be run are run,
// in mute none is. All tell what they were given.
func (w *world) programs() {
	script := func(folder, name, then string) {
		w.write(folder+"/"+name, "#!/bin/sh\nIFS='"+sep+"'\nprintf '%s"+end+"' \"$0"+sep+"$*\" >>'"+w.dir+"/log'\n"+then+"\n")
		w.must(os.Chmod(filepath.Join(w.dir, folder, name), 0o755))
	}
	for _, folder := range []string{"bin", "mute"} {
		script(folder, "pwn", "exit 0")
		w.write(folder+"/time", "#!/bin/sh\nexec \"$@\"\n") // of which most shells are capable themselves
		w.must(os.Chmod(filepath.Join(w.dir, folder, "time"), 0o755))
		for _, name := range fakes {
			if path := filepath.Join(w.dir, folder, name); name != "pwn" && name != ".." {
				w.must(os.Link(filepath.Join(w.dir, folder, "pwn"), path))
			}
		}
	}
	for _, name := range real_ {
		path, err := exec.LookPath(name)
		w.must(err)
		script("bin", name, "exec "+path+" \"$@\"")
		w.must(os.Link(filepath.Join(w.dir, "mute/pwn"), filepath.Join(w.dir, "mute", name)))
	}
}

func (w *world) env(bin string) []string {
	return []string{"PATH=" + filepath.Join(w.dir, bin), "HOME=" + filepath.Join(w.dir, "home"), "CDPATH=" + filepath.Join(w.dir, "outside"),
		"LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "PAGER=pwn", "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000"}
}

func (w *world) git(in string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = filepath.Join(w.dir, in), append(w.env("bin"), "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	if args[0] == "cat-file" || args[0] == "ls-tree" {
		return string(out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) commit(message string) {
	w.git("root", "add", "-A")
	w.git("root", "commit", "-q", "-m", message)
}

// look takes in every file; what has not been touched since is not read again.
func (w *world) look() map[string]state {
	w.t.Helper()
	seen := map[string]state{}
	for _, top := range []string{"root", "tree", "outside", "home"} {
		w.must(filepath.WalkDir(filepath.Join(w.dir, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			sys := info.Sys().(*syscall.Stat_t)
			s := state{mode: info.Mode()}
			name := path[len(w.dir)+1:]
			if !d.IsDir() {
				s.stamp = [3]int64{int64(sys.Ino), info.Size(), info.ModTime().UnixNano()}
				if was, ok := w.before[name]; ok && was.stamp == s.stamp {
					s.content = was.content
				} else if s.mode&fs.ModeSymlink != 0 {
					s.content, err = os.Readlink(path)
				} else if s.mode.IsRegular() {
					var b []byte
					b, err = os.ReadFile(path)
					s.content = string(b)
				}
			}
			seen[name] = s
			return err
		}))
	}
	return seen
}

// changed names what is not as it was, and puts it back.
func (w *world) changed() (names []string, now map[string]state) {
	w.t.Helper()
	now = w.look()
	differs := func(a, b state) bool { return a.mode != b.mode || a.content != b.content }
	for name, s := range now {
		if was, ok := w.before[name]; !ok || differs(s, was) {
			names = append(names, name)
		}
	}
	for name := range w.before {
		if _, ok := now[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		w.must(os.RemoveAll(filepath.Join(w.dir, name)))
	}
	for _, name := range names {
		was, ok := w.before[name]
		path := filepath.Join(w.dir, name)
		switch {
		case !ok:
		case was.mode.IsDir():
			w.must(os.MkdirAll(path, was.mode.Perm()))
		case was.mode&fs.ModeSymlink != 0:
			w.must(os.Symlink(was.content, path))
		default:
			w.must(os.WriteFile(path, []byte(was.content), was.mode.Perm()))
			w.must(os.Chmod(path, was.mode.Perm()))
		}
	}
	if len(names) > 0 {
		w.before = w.look()
	}
	return names, now
}

// promised reports whether a grant may change a file so.
func (w *world) promised(name string, now map[string]state) bool {
	rest, ok := strings.CutPrefix(name, "root/.git/")
	if ok {
		return strings.HasPrefix(rest, "objects/") || slices.Contains([]string{
			"worktrees/tree/index", "worktrees/tree/logs/HEAD", "worktrees/tree/COMMIT_EDITMSG", "refs/heads/w", "logs/refs/heads/w",
		}, rest)
	}
	rest, ok = strings.CutPrefix(name, "tree/")
	if !ok || strings.HasPrefix(rest, ".git") || strings.Contains(rest, ".claude") || strings.Contains(rest, ".cmux") || strings.Contains(rest, ".husky") {
		return false
	}
	s, is := now[name]
	if is && w.mayBeNew(name, rest, s) {
		return true
	}
	if !is {
		was := w.before[name]
		return was.mode.IsDir() || w.history[rest+"\x00"+was.content] || rest == "src/b.txt" // what git tracks may be removed
	}
	return s.mode.IsDir() || w.history[rest+"\x00"+s.content]
}

// mayBeNew reports whether a file of the scope is one that plain text was put into, or
// one that was moved there, in the place of nothing or of what git keeps, or one with more.
func (w *world) mayBeNew(name, rest string, s state) bool {
	if !strings.HasPrefix(rest, "src/") || !s.mode.IsRegular() || strings.Contains(rest, "/.") || strings.Contains(s.content, canary) {
		return false
	}
	kept := slices.ContainsFunc(slices.Collect(maps.Keys(w.history)), func(known string) bool { return strings.HasSuffix(known, "\x00"+s.content) })
	was, before := w.before[name]
	added := before && was.mode == s.mode && strings.HasPrefix(s.content, was.content)
	return added || (kept || s.mode.Perm()&0o111 == 0) && (!before || w.history[rest+"\x00"+was.content] && kept)
}

// told is what the programs said since it was last asked.
func (w *world) told() string {
	path := filepath.Join(w.dir, "log")
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	w.must(os.WriteFile(path, nil, 0o644))
	return string(b)
}

// ran are the programs of one text, in no order, as pipes have none.
func ran(told string) []string {
	programs := strings.Split(strings.TrimSuffix(told, end), end)
	for i, p := range programs {
		name, args, _ := strings.Cut(p, sep)
		if strings.HasPrefix(name, "/") {
			name = filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)
			name = strings.TrimPrefix(strings.TrimPrefix(name, "bin/"), "mute/")
		}
		programs[i] = name + sep + args
	}
	slices.Sort(programs)
	return programs
}

// foreign is a program among those that a grant does not name.
func foreign(programs []string) string {
	for _, p := range programs {
		name, _, _ := strings.Cut(p, sep)
		if name != "" && name != "cmux" && name != "check" && !slices.Contains(real_, name) {
			return p
		}
	}
	return ""
}

const hangs = time.Minute

// shell runs a script with arguments in a shell, in the worktree.
func (w *world) shell(argv []string, bin string, args ...string) (out string, err error) {
	w.runs++
	path, err := exec.LookPath(argv[0])
	w.must(err)
	ctx, cancel := context.WithTimeout(w.t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(append(argv[1:len(argv):len(argv)], "-c"), args...)...)
	var b bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = w.policy.Tree, append(w.env(bin), w.more...), &b, &b, time.Second
	_ = cmd.Run() // a text may fail
	if ctx.Err() != nil {
		err = fmt.Errorf("%v hangs", argv)
	}
	return b.String(), err
}

// alike runs texts in all shells, with programs that only tell what they were
// given, and says of which texts they differ.
func (w *world) alike(texts []string) (wrong map[string]string) {
	wrong = map[string]string{}
	first := make([][]string, len(texts))
	for i, argv := range shells {
		_, err := w.shell(argv, "mute", append([]string{`for t; do printf '` + next + `' >>"` + w.dir + `/log"; (eval "$t") </dev/null; done`, "x"}, texts...)...)
		parts := strings.Split(w.told(), next)[1:]
		names, now := w.changed()
		names = slices.DeleteFunc(names, func(n string) bool { return w.promised(n, now) }) // by the shells themselves
		switch {
		case err == nil && len(parts) == len(texts) && len(names) == 0:
		case len(texts) == 1:
			wrong[texts[0]] = fmt.Sprintf("%v: %v, changed %q, ran %q", argv, err, names, parts)
			return wrong
		default:
			for _, t := range texts {
				for t, why := range w.alike([]string{t}) {
					wrong[t] = why
				}
			}
			return wrong
		}
		for k, p := range parts {
			r := ran(p)
			if i == 0 {
				first[k] = r
			}
			if f := foreign(r); f == "" && slices.Equal(r, first[k]) {
				continue
			}
			if len(texts) > 1 { // a program of an earlier text may have spoken late
				maps.Copy(wrong, w.alike(texts[k:k+1]))
				continue
			}
			wrong[texts[k]] = fmt.Sprintf("%v runs %q, %v runs %q", argv, r, shells[0], first[k])
		}
	}
	return wrong
}

// does runs a text in one shell with the programs themselves, and says what it
// does that no grant promises.
func (w *world) does(argv []string, text string) string {
	w.t.Helper()
	out, err := w.shell(argv, "bin", text)
	r := ran(w.told())
	names, now := w.changed()
	names = slices.DeleteFunc(names, func(n string) bool { return w.promised(n, now) })
	switch {
	case err != nil:
		return err.Error()
	case foreign(r) != "":
		return fmt.Sprintf("%v runs %q", argv, foreign(r))
	case strings.Contains(out, canary), strings.Contains(out, "root:x:0"):
		return fmt.Sprintf("%v prints what it must not read: %q", argv, out)
	case len(names) > 0:
		return fmt.Sprintf("%v changes %q", argv, names)
	}
	return ""
}

// hunted is what a hunt came to.
type hunted struct{ tried, granted, wrong int }

func (w *world) granted(text string) bool {
	return guard.Decide(w.policy, guard.Call{Tool: "Bash", Input: object("command", text), Dir: w.policy.Tree}).Verdict == guard.Grant
}

// states are files that git does not keep as they are, and some that it keeps, of an
// agent of the organization.
func (w *world) states() {
	w.policy.Holder, w.policy.Linked = rights.Holder{Stays: true}, places.Linked
	for name, content := range map[string]string{"src/c.txt": "c\n", "src/deep/e.txt": "e\n", "src/eyed": "eyed\n", "src/mixed/kept": "k\n", "src/nested/x": "x\n", "src/exec.sh": "#!/bin/sh\npwn\n", "src/with blank": "w\n"} {
		w.write("tree/"+name, content)
		w.history[name+"\x00"+content] = true
	}
	w.must(os.Symlink("deep", filepath.Join(w.policy.Tree, "src/dlink")))
	w.must(os.Chmod(filepath.Join(w.policy.Tree, "src/exec.sh"), 0o755))
	w.git("tree", "add", "src")
	w.git("tree", "commit", "-q", "-m", "more")
	for name, content := range map[string]string{"src/b.txt": "two, changed again\n", "src/loose": "loose\n", "src/staged": "staged\n", "src/index": "index\n", "src/only/x": "index\n", "src/mixed/loose": "l\n", "src/ign": "ignored\n", "src/eyed": "changed\n", "src/noted": ""} {
		w.write("tree/"+name, content)
	}
	w.git("tree", "add", "src/staged", "src/index", "src/only/x")
	w.git("tree", "add", "-N", "src/noted")
	w.git("tree", "update-index", "--assume-unchanged", "src/eyed")
	w.must(os.Remove(filepath.Join(w.policy.Tree, "src/index")))
	w.must(os.RemoveAll(filepath.Join(w.policy.Tree, "src/only")))
	w.before = w.look()
}

// hunt tries texts until enough says so.
func (w *world) hunt(seed uint64, moves bool, enough func(hunted) bool) (h hunted) {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 1)), moves: moves, place: map[string]string{
		"OLD": w.old, "TREEID": w.treeID, "TREE": w.policy.Tree, "OUTSIDE": filepath.Join(w.dir, "outside"),
	}}
	var pool, batch []string
	seen := map[string]bool{}
	for !enough(h) {
		text := m.text(pool)
		if seen[text] || strings.ContainsRune(text, 0) || len(text) > 2000 {
			continue
		}
		seen[text] = true
		h.tried++
		if !w.granted(text) {
			continue
		}
		h.granted++
		if len(pool) < 4000 {
			pool = append(pool, text)
		}
		batch = append(batch, text)
		if len(batch) < 64 {
			continue
		}
		h.wrong += w.try(batch, h.granted)
		batch = nil
	}
	if len(batch) > 0 {
		h.wrong += w.try(batch, h.granted)
	}
	return h
}

func (w *world) try(texts []string, n int) (wrong int) {
	for text, why := range w.alike(texts) {
		wrong++
		w.t.Errorf("%q: %s", text, why)
	}
	for i, text := range texts {
		if why := w.does(shells[(n+i)%len(shells)], text); why != "" {
			wrong++
			w.t.Errorf("%q: %s", text, why)
		}
	}
	return wrong
}

// TestShellsAgree: what is granted does in every shell what grants promise.
// CMUX_HUNT=1h hunts for as long, from another seed each time.
func TestShellsAgree(t *testing.T) {
	t.Parallel()
	agree(t, false)
}

// TestMovesInShells: the same for texts that move, remove and write files.
func TestMovesInShells(t *testing.T) {
	t.Parallel()
	agree(t, true)
}

func agree(t *testing.T, moves bool) {
	w := newWorld(t)
	if moves {
		w.states()
		w.more = []string{"CDPATH="} // a plain name is a folder where the shell stands
		w.runsWith(w.more...)
	}
	seed, until, enough := uint64(7), time.Time{}, 128
	if testing.Short() {
		enough = 32
	}
	if d, err := time.ParseDuration(os.Getenv("CMUX_HUNT")); err == nil {
		seed, until = uint64(time.Now().UnixNano()), time.Now().Add(d)
	}
	h := w.hunt(seed, moves, func(h hunted) bool {
		if until.IsZero() {
			return h.granted >= enough
		}
		return time.Now().After(until) || h.wrong > 20
	})
	t.Logf("seed %d: %d texts, %d granted, %d runs of a shell, %d wrong", seed, h.tried, h.granted, w.runs, h.wrong)
	if h.granted < enough {
		t.Errorf("only %d texts were granted: nothing was proven", h.granted)
	}
}

// FuzzGrant: the same for texts that the engine makes.
func FuzzGrant(f *testing.F) {
	w := newWorld(f)
	for _, s := range []string{"git add -A && git commit -q -m \"$(cat <<'EOF'\nx\nEOF\n)\"", "cmux done -- 'it'\\''s'", "git log -5 --format='%h %s' main..w -- src", "git restore --source=HEAD -- sub/c; git status", "check it 2>&1 | tail -3", "cat src/a.txt || echo \"no\"", "for t in src sub; do ls \"$t\" | head -3; git log -2 -- $t; done; git stash list", "mkdir -p src/n && git mv src/a.txt src/n && printf 'x\\n' > src/n/f; rm src/a.txt", "mv src/a.txt src/n", "cat > src/f <<'EOF'\n$(pwn) `pwn` \\\n\ta \"b' ${c} !x\nEOF\ngit add src/f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w.t = t
		if len(text) < 2000 && w.granted(text) {
			w.try([]string{text}, len(text))
		}
	})
}

// TestOracleSees: what misled guards before does not escape the oracle.
func TestOracleSees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := filepath.Join(w.dir, "outside/made")
	for _, text := range []string{
		"echo x > " + out, "echo x > src/b.txt", "echo x > src/.made", "echo x > made", "rm new", "mv src/b.txt src/a.txt", "mv ../outside/secret src/made", "git restore --source=" + w.old + " .claude/settings.json", "git config core.pager pwn", "git config user.name x", "git branch other", "git tag v1",
		"cat link/secret", "cat ../root/.git/config", "cat /etc/passwd", "git show HEAD >/dev/null; pwn", "./pwn", "PATH=. cat x", "cd sub && cat c", // by CDPATH
		"git diff --no-index link/secret README", "git log -1 --format=%h --until now --output=" + out, "git log -iS --output=" + out,
		"git restore --source=" + w.old + " link && echo x > link", "git restore --source=" + w.treeID + " c", "git restore --source=HEAD:evil README", "rm ../root/README", "touch x",
	} {
		if w.does(shells[0], text) == "" {
			t.Errorf("bash: %q is taken for harmless", text)
		}
	}
	for _, text := range []string{
		"for t in E; do git commit -F - <<$t\nx\nE\ndone ls\necho 'a\n$t\npwn\ndone\ntrue '",
		"git commit -m \"$(cat <<'EOF'\nEOF pwn )\nEOF\n)\"", "cat x &> y", "echo \"$=HOME\" && git log \"$=HOME\"", "git log ^a", "cat =pwn", "git log 'a''b'", "git log {a,b}", "cat s*", "cat <(pwn)", "git log a{a-c}b", "git log $'a'", "git log a |& cat", "ls x=~", "cat !x\n|pwn",
	} {
		if wrong := w.alike([]string{text}); wrong[text] == "" && w.does(shells[0], text) == "" {
			t.Errorf("%q is taken for harmless in all shells", text)
		}
	}
}
