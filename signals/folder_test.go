package signals

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// repo is a git repository with a project's folder full of files in it.
func repo(t *testing.T) (root string, git func(args ...string) string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "my project")
	home := t.TempDir()
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "LC_ALL=C"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	must(t, os.Mkdir(root, 0o755))
	git("init", "-q", "-b", "main")
	write(t, filepath.Join(root, "main.go"), "package main\n")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	must(t, Init(root))
	for _, f := range []string{"run.lock", "mailbox", "tasks.db", "signals/a.done", "runs/1/a/log", "worker-contexts/1/x"} {
		put(t, root, f)
	}
	return root, git
}

func put(t *testing.T, root, file string) {
	t.Helper()
	name := filepath.Join(root, Folder, file)
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	write(t, name, "0\n")
}

// files are the files in the project's folder, without git's own.
func files(t *testing.T, root string) (names []string) {
	t.Helper()
	folder := filepath.Join(root, Folder)
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(folder, path)
			names = append(names, rel)
		}
		return err
	})
	if !os.IsNotExist(err) {
		must(t, err)
	}
	return names
}

func TestFolderIsIgnored(t *testing.T) {
	root, git := repo(t)
	if got := git("status", "--porcelain", "-uall"); got != "" {
		t.Errorf("status: %s", got)
	}
	git("add", "-A")
	if got := git("status", "--porcelain", "-uall"); got != "" {
		t.Errorf("after add -A: %s", got)
	}
	if _, err := os.Lstat(filepath.Join(root, ".gitignore")); err == nil {
		t.Error("the person's .gitignore was made")
	}
}

func TestFolderSurvivesGitClean(t *testing.T) {
	root, git := repo(t)
	before := files(t, root)
	write(t, filepath.Join(root, "junk"), "")
	for _, how := range []string{"-fd", "-fdx", "-fdX"} {
		git("clean", how)
		if got := files(t, root); !slices.Equal(got, before) {
			t.Errorf("after clean %s: %v, want %v", how, got, before)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "junk")); err == nil {
		t.Error("clean did nothing at all")
	}
}

func TestJournalIsTrackable(t *testing.T) {
	for _, shared := range []string{"journal/2026-01-02/note.md", "journal/top.md"} {
		root, git := repo(t)
		put(t, root, shared)
		must(t, Init(root)) // as whoever makes the journal does
		if got := git("status", "--porcelain", "-uall"); got != "?? .cmux/"+shared+"\n" {
			t.Errorf("status: %q", got)
		}
		git("add", "-A")
		git("commit", "-q", "-m", "journal")
		if got := git("ls-files", ".cmux"); got != ".cmux/"+shared+"\n" {
			t.Errorf("tracked: %q", got)
		}
		put(t, root, "journal/more.md")
		if got := git("status", "--porcelain", "-uall"); got != "?? .cmux/journal/more.md\n" {
			t.Errorf("status of one more: %q", got)
		}
		// The files of the run stay. Files directly in the folder are lost once there is a
		// journal.
		git("clean", "-fdx")
		got := files(t, root)
		for _, f := range []string{"signals/a.done", "runs/1/a/log", shared} {
			if !slices.Contains(got, f) {
				t.Errorf("clean -fdx took %s; left is %v", f, got)
			}
		}
		must(t, Init(root))
		git("add", "-A")
		if got := git("status", "--porcelain"); got != "" {
			t.Errorf("status after clean and Init: %q", got)
		}
	}
}

func TestConfigIsTrackable(t *testing.T) {
	root, git := repo(t)
	put(t, root, "config.yml")
	must(t, Init(root))
	git("add", "-f", ".cmux/config.yml")
	if got := git("ls-files", ".cmux"); got != ".cmux/config.yml\n" {
		t.Errorf("tracked: %q", got)
	}
}

// git clean -ffdx removes everything. Init makes the folder again, and a watcher of the run
// finds that the markers went with their folder.
func TestForcedCleanIsSeen(t *testing.T) {
	root, git := repo(t)
	dir := filepath.Join(root, Folder, Dir)
	f := &folder{t: t, dir: dir, Scanner: NewScanner(dir, []string{"a", "b"})}
	rec := Recorded{Known: true, Marker: f.scan()[0].Marker, Published: true}
	rec.Content = Exit(1) // even a failed one is put back, not retried
	lock, err := TryLock(filepath.Join(root, Folder, "run.lock"))
	must(t, err)
	git("clean", "-ffdx")
	if err := lock.Check(); err == nil {
		t.Error("the lock's file is gone, and the lock does not know")
	}
	must(t, lock.Unlock())
	if got := files(t, root); got != nil {
		t.Fatalf("clean -ffdx left %v", got)
	}
	must(t, Init(root))
	if got := f.verdict(rec, 0); got != PutBack {
		t.Errorf("judged %v", got)
	}
}

func TestInitIsIdempotent(t *testing.T) {
	root := t.TempDir()
	must(t, Init(root))
	folder := filepath.Join(root, Folder)
	write(t, filepath.Join(folder, ".gitignore"), "# mine\n*\n")
	before := files(t, root)
	must(t, Init(root))
	if got := files(t, root); !slices.Equal(got, before) {
		t.Errorf("%v became %v", before, got)
	}
	if got := read(t, filepath.Join(folder, ".gitignore")); got != "# mine\n*\n" {
		t.Errorf("a changed .gitignore became %q", got)
	}
}

func TestInitConcurrently(t *testing.T) {
	root, git := repo(t)
	must(t, os.RemoveAll(filepath.Join(root, Folder)))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := Init(root); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	put(t, root, "run.lock")
	if got := git("clean", "-fdx"); strings.Contains(got, "Removing") {
		t.Error(got)
	}
}

// Init must not remove a repository that somebody put into the folder and uses.
func TestInitKeepsARepositoryInUse(t *testing.T) {
	root, _ := repo(t)
	object := filepath.Join(root, Folder, ".git", "objects", "ab")
	must(t, os.Mkdir(object, 0o755))
	put(t, root, "journal/x.md")
	must(t, Init(root))
	for _, f := range []string{object, filepath.Join(root, Folder, ".git", "HEAD"), filepath.Join(root, Folder, ".git", "refs")} {
		if _, err := os.Lstat(f); err != nil {
			t.Error(err)
		}
	}
}

func TestInitWhereAFileIs(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, Folder), "")
	if err := Init(root); err == nil || !strings.Contains(err.Error(), Folder) {
		t.Errorf("got %v", err)
	}
}

// What the person wrote into info/exclude stays as it is.
func TestInitKeepsThePersonsExcludes(t *testing.T) {
	root, _ := repo(t)
	name := filepath.Join(root, ".git", "info", "exclude")
	write(t, name, "/mine\n*.tmp") // no newline at the end
	must(t, Init(root))
	must(t, Init(root))
	if got := read(t, name); got != "/mine\n*.tmp\n"+excluded {
		t.Errorf("excludes are %q", got)
	}
	put(t, root, "journal/x.md")
	must(t, Init(root))
	if got := read(t, name); got != "/mine\n*.tmp\n" {
		t.Errorf("excludes are %q", got)
	}
	must(t, os.RemoveAll(filepath.Join(root, Folder, "journal")))
	must(t, Init(root))
	if got := read(t, name); got != "/mine\n*.tmp\n"+excluded {
		t.Errorf("excludes are %q", got)
	}
}

// A project may be a linked worktree (of a bare repository) or a submodule.
func TestInitWhereGitIsAFile(t *testing.T) {
	root, git := repo(t)
	tree := filepath.Join(t.TempDir(), "linked tree")
	git("worktree", "add", "-q", "--detach", tree)
	must(t, Init(tree))
	put(t, tree, "run.lock")
	for _, root := range []string{tree, root} {
		if got := git("-C", root, "status", "--porcelain", "-uall"); got != "" {
			t.Errorf("status in %s: %s", root, got)
		}
	}
	before := files(t, tree)
	git("-C", tree, "clean", "-fdx")
	if got := files(t, tree); !slices.Equal(got, before) {
		t.Errorf("after clean: %v, want %v", got, before)
	}
}

// A log and a lock in the folder keep working during a clean.
func TestRunLivesThroughGitClean(t *testing.T) {
	root, git := repo(t)
	ctx := context.Background()
	l := openLog(t, filepath.Join(root, Folder, "runs", "1", "log"))
	lock, err := TryLock(filepath.Join(root, Folder, "run.lock"))
	must(t, err)
	git("clean", "-fdx")
	must(t, lock.Check())
	must(t, l.Append(ctx, true, []byte(`1`)))
	must(t, lock.Unlock())
}

// What an agent program adds to info/exclude by itself is nobody's change: names in its
// own folder below its heading, and nothing else.
func TestExcludedByOthers(t *testing.T) {
	const block = "# claude-code-runtime\n**/.claude/scheduled_tasks.lock\n**/.claude/worktrees/\n"
	for have, want := range map[string]string{
		"":                                      "",
		block:                                   "",
		"/mine\n" + block + "*.tmp\n":           "/mine\n*.tmp\n",
		excluded + block:                        "",
		block + "*.secret\n":                    "*.secret\n",
		"# claude-code-runtime\n*.secret\n":     "# claude-code-runtime\n*.secret\n",
		"# claude-code-runtime\n**/.claude/*\n": "# claude-code-runtime\n**/.claude/*\n",
		"# mine\n**/.claude/worktrees/\n":       "# mine\n**/.claude/worktrees/\n",
	} {
		if got := string(ExcludedByOthers([]byte(have))); got != want {
			t.Errorf("of %q stays %q, want %q", have, got, want)
		}
	}
}
