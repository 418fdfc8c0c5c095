package worktree

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/signals"
	"cmux/worktree/git"
)

// try runs git and does not mind when it refuses.
func try(dir string, args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	_ = cmd.Run()
}

// mess does random things to a working tree.
func mess(t *testing.T, rng *rand.Rand, dir string) (log []string) {
	names := []string{"a.txt", "dir/b.txt", "dir/sub/c", "dir", "new\nline", "sp ace", "ünï", `q"uo\te`, "-dash", "x.ign", "ignored/deep/f", "tab\there", "bad\xffutf8", "crlf.txt"}
	for range 3 + rng.IntN(14) {
		name := names[rng.IntN(len(names))]
		full := filepath.Join(dir, name)
		op := rng.IntN(13)
		log = append(log, fmt.Sprintf("%d %q", op, name))
		switch op {
		case 0, 1, 2:
			os.RemoveAll(full)
			if os.MkdirAll(filepath.Dir(full), 0o777) == nil {
				os.WriteFile(full, []byte(fmt.Sprintf("%d\r\n%d\n\x00", rng.IntN(4), rng.IntN(4))), 0o644)
			}
		case 3:
			os.RemoveAll(full)
		case 4:
			os.RemoveAll(full)
			if os.MkdirAll(filepath.Dir(full), 0o777) == nil {
				os.Symlink("target "+name, full)
			}
		case 5:
			if info, err := os.Lstat(full); err == nil && info.Mode().IsRegular() {
				os.Chmod(full, []os.FileMode{0o755, 0o644}[rng.IntN(2)])
				if name == "x.ign" || name == "ünï" { // git has no say in the mode of what it does not have
					os.Chmod(full, []os.FileMode{0o600, 0o700}[rng.IntN(2)])
				}
			}
		case 6, 7:
			try(dir, "add", "--", name)
		case 8:
			try(dir, "add", "-N", "-f", "--", name)
		case 9:
			try(dir, "rm", "-q", "-r", "--cached", "--", name)
		case 10:
			try(dir, "update-index", []string{"--assume-unchanged", "--skip-worktree"}[rng.IntN(2)], "--", name)
		case 11:
			try(dir, "mv", "--", name, names[rng.IntN(len(names))])
		case 12:
			switch rng.IntN(6) {
			case 0:
				try(dir, "merge", "-q", "theirs")
			case 1:
				try(dir, "rebase", "-q", "theirs")
			case 2:
				try(dir, "cherry-pick", "theirs")
			case 3:
				try(dir, "checkout", "-q", "--detach")
			case 4:
				// A committed file that is clean but for its line ends comes back clean, with git's line ends.
				try(dir, "commit", "-q", "-m", "some", "--", "a.txt", "dir", "sp ace")
			case 5:
				try(dir, "revert", "--no-commit", "HEAD")
			}
		}
	}
	return log
}

// What a snapshot holds comes back identical, and taking it changes nothing.
func TestSnapshotRoundTrip(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	r := newRepo(t)
	write(t, r.Root, ".gitattributes", "crlf.txt text eol=lf\n")
	commit(t, r.Root, "attributes", "crlf.txt", "x\n", "dir/sub/c", "c\n")
	branchWith(t, r, "theirs", head(t, r), "a.txt", "theirs\n", "dir/b.txt", "theirs\n", "sp ace", "theirs\n")
	for round := range rounds {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		branch := fmt.Sprint("b", round)
		tree := lend(t, r, LendSpec{Path: beside(r, branch), Branch: branch, Owner: "o"})
		commit(t, tree.Path, "ours", "a.txt", "ours\n", "dir/b.txt", "b\nours\n")
		log := mess(t, rng, tree.Path)
		before := shape(t, tree.Path)
		head := sh(t, tree.Path, "rev-parse", "HEAD")

		snap, err := r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: branch, Reason: "test"})
		if err != nil {
			t.Fatalf("seed %d %v: %v", seed, log, err)
		}
		if after := shape(t, tree.Path); after != before {
			t.Fatalf("seed %d %v: the snapshot changed the tree:\n%s\n\n%s", seed, log, before, after)
		}
		removed, err := r.Remove(t.Context(), tree.Path, RemoveSpec{Name: branch})
		if err != nil {
			t.Fatalf("seed %d %v: %v", seed, log, err)
		}
		if snap != nil && removed == nil { // removed may hold what only the worktree's log names
			t.Fatalf("seed %d %v: Snapshot %v, Remove %v", seed, log, snap, removed)
		}
		if removed == nil {
			continue
		}
		if removed.Head != head {
			t.Fatalf("seed %d: head %s, want %s", seed, removed.Head, head)
		}
		if round%10 == 0 {
			sh(t, r.Root, "gc", "-q", "--prune=now")
		}
		found := must[*Snapshot](t)(r.FindSnapshot(t.Context(), branch))
		if found.Commit != removed.Commit || found.Operation != removed.Operation {
			t.Fatalf("listed %+v, taken %+v", found, removed)
		}
		again, err := r.Restore(t.Context(), found, RestoreSpec{})
		if err != nil {
			t.Fatalf("seed %d %v: %v", seed, log, err)
		}
		if after := shape(t, again.Path); after != before {
			t.Fatalf("seed %d %v:\n%s\n\nrestored as\n%s", seed, log, before, after)
		}
		if again.Owner != "o" {
			t.Errorf("owner %q", again.Owner)
		}
	}
	sh(t, r.Root, "fsck", "--connectivity-only")
}

func TestSnapshotOfNothing(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	if snap, err := r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w"}); snap != nil || err != nil {
		t.Errorf("%+v, %v", snap, err)
	}
	sh(t, tree.Path, "checkout", "-q", "--detach")
	if snap, err := r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w"}); snap != nil || err != nil {
		t.Errorf("detached at a held commit: %+v, %v", snap, err)
	}
	id := commit(t, tree.Path, "on no branch")
	snap, err := r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "a..b/.x y.lock"})
	if err != nil || snap == nil || snap.Head != id {
		t.Errorf("detached at a commit of its own: %+v, %v", snap, err)
	}
	if !strings.HasPrefix(snap.RestoreCommand(), "cmux snapshots restore a--b/x-y.lock-/") {
		t.Error(snap.RestoreCommand())
	}
	commit(t, tree.Path, "another")
	snap, err = r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "a$(id)`id`;'b'&c|d>e\"#!"})
	if err != nil || strings.ContainsAny(snap.RestoreCommand(), "$`'\"()<>;&|#!") {
		t.Errorf("%+v, %v: a shell takes orders from the command", snap, err)
	}
}

func TestSnapshotRefusesWhatItCannotHold(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	sh(t, tree.Path, "init", "-q", "nested")
	commit(t, filepath.Join(tree.Path, "nested"), "x", "x", "x")
	_, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
	if !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), filepath.Join(tree.Path, "nested")) {
		t.Errorf("nested repository: %v", err)
	}
	if err := os.Rename(filepath.Join(tree.Path, "nested"), filepath.Join(tree.Path, "ignored")); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Remove(t.Context(), tree.Path, RemoveSpec{}); !errors.Is(err, ErrUnsavable) {
		t.Errorf("ignored nested repository: %v", err)
	}
	os.RemoveAll(filepath.Join(tree.Path, "ignored"))

	f, err := os.Create(filepath.Join(tree.Path, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(maxUntracked+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Remove(t.Context(), tree.Path, RemoveSpec{}); !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), "huge") {
		t.Errorf("large file: %v", err)
	}
	if err := os.Rename(f.Name(), filepath.Join(tree.Path, "huge.ign")); err != nil {
		t.Fatal(err)
	}
	snap, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
	if err != nil {
		t.Fatalf("a large ignored file is only listed: %v", err)
	}
	if snap != nil {
		t.Errorf("%+v", snap)
	}
	if _, err := os.Lstat(tree.Path); err == nil {
		t.Error("still there")
	}
}

func TestSnapshotKeepsSmallIgnoredFilesAndListsLargeOnes(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	write(t, tree.Path, "ignored/notes", "notes")
	write(t, tree.Path, "ignored/big", strings.Repeat("x", maxIgnored))
	snap := must[*Snapshot](t)(r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w", Reason: "because"}))
	if snap == nil || strings.Join(snap.Omitted, "|") != "ignored/big" {
		t.Fatalf("%+v", snap)
	}
	if got := sh(t, r.Root, "ls-tree", "-r", "--name-only", snap.Commit+"^3", "ignored/"); got != "ignored/notes" {
		t.Error(got)
	}
	if msg := sh(t, r.Root, "log", "-1", "--format=%B", snap.Commit); !strings.Contains(msg, "ignored/big") || !strings.Contains(msg, "because") {
		t.Error(msg)
	}
}

// A snapshot of the project's root holds none of cmux's own files, also where git may track
// a part of them.
func TestSnapshotOfTheRootHasNoSecrets(t *testing.T) {
	r := newRepo(t)
	if err := signals.Init(r.Root); err != nil {
		t.Fatal(err)
	}
	for _, shared := range []string{"", ".cmux/config.yml"} {
		if shared != "" {
			write(t, r.Root, shared, "{}")
			if err := signals.Init(r.Root); err != nil {
				t.Fatal(err)
			}
		}
		write(t, r.Root, ".cmux/token", "secret")
		write(t, r.Root, ".cmux/journal/today.md", "news")
		write(t, r.Root, "x.ign", "mine")
		write(t, r.Root, "a.txt", "changed "+shared)
		snap := must[*Snapshot](t)(r.Snapshot(t.Context(), r.Root, SnapshotSpec{Name: "root"}))
		got := sh(t, r.Root, "ls-tree", "-r", "--name-only", snap.Commit+"^3")
		if strings.Contains(got, "token") || strings.Contains(got, "config.yml") || !strings.Contains(got, "x.ign") {
			t.Errorf("with %q:\n%s", shared, got)
		}
		if strings.Contains(got, ".cmux/journal/today.md") != (shared != "") {
			t.Errorf("with %q:\n%s", shared, got)
		}
	}
}

func TestRestoreNeverOverwrites(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	write(t, tree.Path, "x.ign", "saved")
	write(t, tree.Path, "a.txt", "changed")
	want := shape(t, tree.Path)
	snap := must[*Snapshot](t)(r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w"}))

	if _, err := r.Restore(t.Context(), snap, RestoreSpec{}); !errors.Is(err, ErrDirty) {
		t.Errorf("into a dirty tree: %v", err)
	}
	sh(t, tree.Path, "checkout", "-q", "--", ".")
	write(t, tree.Path, "x.ign", "other")
	if _, err := r.Restore(t.Context(), snap, RestoreSpec{}); !errors.Is(err, ErrDirty) || !strings.Contains(err.Error(), "x.ign") {
		t.Errorf("over an ignored file: %v", err)
	}
	if read(t, tree.Path, "x.ign") != "other" {
		t.Error("overwritten")
	}
	os.Remove(filepath.Join(tree.Path, "x.ign"))
	if _, err := r.Restore(t.Context(), snap, RestoreSpec{}); err != nil {
		t.Fatal(err)
	}
	if got := shape(t, tree.Path); got != want {
		t.Errorf("%s\n\nrestored as\n%s", want, got)
	}

	// The branch has moved on: only under another name.
	commit(t, tree.Path, "on")
	if _, err := r.Restore(t.Context(), snap, RestoreSpec{}); !errors.Is(err, ErrOccupied) {
		t.Errorf("onto another commit: %v", err)
	}
	if _, err := r.Restore(t.Context(), snap, RestoreSpec{Path: beside(r, "w2")}); !errors.Is(err, ErrBranchOut) && !errors.Is(err, ErrOccupied) {
		t.Errorf("onto a moved branch: %v", err)
	}
	again := must[*Tree](t)(r.Restore(t.Context(), snap, RestoreSpec{Path: beside(r, "w2"), Branch: "w2"}))
	if read(t, again.Path, "a.txt") != "changed" || sh(t, again.Path, "branch", "--show-current") != "w2" {
		t.Errorf("%+v", again)
	}
}

func TestRestoreOfABranchAlone(t *testing.T) {
	r := newRepo(t)
	x := branchWith(t, r, "x", head(t, r), "x.txt", "x")
	lend(t, r, LendSpec{Path: beside(r, "x"), Branch: "x", Owner: "o", Fresh: true})
	snap := must[*Snapshot](t)(r.FindSnapshot(t.Context(), "x"))
	if _, err := r.Restore(t.Context(), snap, RestoreSpec{}); !errors.Is(err, ErrOccupied) {
		t.Errorf("the branch has moved: %v", err)
	}
	if _, err := r.Restore(t.Context(), snap, RestoreSpec{Branch: "back"}); err != nil {
		t.Fatal(err)
	}
	if tip := must[string](t)(r.Tip(t.Context(), "back")); tip != x.Commit {
		t.Errorf("back is %s, want %s", tip, x.Commit)
	}
}

func TestSnapshotOfABranchWithoutCommits(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	sh(t, tree.Path, "checkout", "-q", "--orphan", "young")
	before := shape(t, tree.Path)
	snap := must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{Name: "young"}))
	if snap == nil {
		t.Fatal("nothing saved")
	}
	again := must[*Tree](t)(r.Restore(t.Context(), snap, RestoreSpec{}))
	if after := shape(t, again.Path); after != before {
		t.Errorf("%s\n\nrestored as\n%s", before, after)
	}
}

func TestRemoveFinishesAnInterruptedOne(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	write(t, tree.GitDir, git.RemovingFile, "")
	os.Remove(filepath.Join(tree.Path, ".git"))
	os.Remove(filepath.Join(tree.Path, "a.txt"))
	for range 2 {
		if snap, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil || snap != nil {
			t.Fatalf("%+v, %v", snap, err)
		}
	}
	if out := sh(t, r.Root, "worktree", "list"); strings.Contains(out, "\n") {
		t.Error(out)
	}
	if _, err := r.Tip(t.Context(), "w"); err != nil {
		t.Errorf("the branch stays: %v", err)
	}
}

func TestRemoveRefusesATreeInUse(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("no /proc")
	}
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	cmd := exec.Command("cat") // ends with its input
	cmd.Dir = filepath.Join(tree.Path, "dir")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = r.Remove(t.Context(), tree.Path, RemoveSpec{})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("cat (pid %d)", cmd.Process.Pid)) {
		t.Error(err)
	}
	in.Close()
	cmd.Wait()
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
		t.Error(err)
	}
}

// The last part of a name does for all of it, while no other name ends so.
func TestFindSnapshotByTheEndOfItsName(t *testing.T) {
	r := newRepo(t)
	for k, name := range []string{"shop/api", "shop/web", "shop/api", "mall/web"} {
		write(t, r.Root, "a.txt", strings.Repeat("x", k+1))
		if s := must[*Snapshot](t)(r.Snapshot(t.Context(), r.Root, SnapshotSpec{Name: name, Reason: name})); s == nil {
			t.Fatalf("%d: nothing of %s was saved: %s", k, name, sh(t, r.Root, "status", "--short"))
		}
	}
	all := must[[]Snapshot](t)(r.Snapshots(t.Context()))
	latest := ""
	for _, s := range all {
		if s.Name == "shop/api" {
			latest = s.ID
		}
	}
	if s := must[*Snapshot](t)(r.FindSnapshot(t.Context(), "api")); s.ID != latest {
		t.Errorf("api is %s, want the newest, %s", s.ID, latest)
	}
	if s, err := r.FindSnapshot(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), "shop/web") || !strings.Contains(err.Error(), "mall/web") {
		t.Errorf("web: %v, %v; want both names", s, err)
	}
	for _, none := range []string{"", "pi", "/"} {
		if s, err := r.FindSnapshot(t.Context(), none); err == nil {
			t.Errorf("%q is %s", none, s.ID)
		}
	}
}

// git takes a file for unchanged whose size and times, to the second, are those
// of the index, unless the index is no younger than the file. A copy of the
// index must not look younger: an edit right after a commit would not be saved.
func TestSnapshotOfAnEditRightAfterACommit(t *testing.T) {
	r := newRepo(t)
	file := filepath.Join(r.Root, "a.txt")
	second := func() int64 { return must[os.FileInfo](t)(os.Stat(file)).ModTime().Unix() }
	for k := 0; ; k++ {
		write(t, r.Root, "a.txt", fmt.Sprintf("%04d before\n", k))
		at := second()
		sh(t, r.Root, "commit", "-q", "-a", "-m", "before")
		write(t, r.Root, "a.txt", fmt.Sprintf("%04d edited\n", k))
		if second() == at {
			break
		}
	}
	for made := second(); time.Now().Unix() == made; {
		<-time.After(5 * time.Millisecond) // until the clock's next second
	}
	s := must[*Snapshot](t)(r.Snapshot(t.Context(), r.Root, SnapshotSpec{Name: "a", Reason: "r"}))
	if s == nil {
		t.Fatalf("nothing was saved of %q", sh(t, r.Root, "status", "--short"))
	}
}
