package footprint

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/worktree/git"
)

// sh runs a shell script in dir.
func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func take(t *testing.T, dir string, before *Print) *Print {
	t.Helper()
	p, err := Take(t.Context(), dir, before)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newCheckout has a file that is changed, one that is staged, one that is staged and changed
// since, one that is not tracked, and a link.
func newCheckout(t *testing.T) (*git.Repo, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my répo")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `git init -q -b main
echo '*.ign' > .gitignore; mkdir -p sub .cmux
for f in clean changed staged both sub/deep; do echo "$f" > "$f"; done
echo roles > .cmux/tracked
git add -f . && git commit -qm first
echo more >> changed; echo more >> staged; echo more >> both; git add staged both; echo yet >> both
echo new > new; ln -s new link`)
	return &git.Repo{Root: dir, GitDir: filepath.Join(dir, ".git")}, dir
}

// dump is all that counts in a checkout.
func dump(t *testing.T, dir string) string {
	return sh(t, dir, `git symbolic-ref -q HEAD || true; git rev-parse HEAD; git ls-files -s; git status --porcelain
find . -path ./.git -prune -o -type f -print -exec cat {} + -o -type l -print -exec readlink {} \; | sort`)
}

// Each change is seen, is named, and can be taken back.
func TestUndo(t *testing.T) {
	for script, want := range map[string]Change{
		"echo x > clean":                               {Files: []string{"clean"}},
		"echo x > changed":                             {Files: []string{"changed"}},
		"echo x > added":                               {Files: []string{"added"}},
		"mkdir d && echo x > d/added":                  {Files: []string{"d/added"}},
		"rm clean sub/deep":                            {Files: []string{"clean", "sub/deep"}},
		"rm new && echo new2 > link2":                  {Files: []string{"link2", "new"}},
		"ln -sf clean link":                            {Files: []string{"link"}},
		"rm clean; mkdir -p clean/e; echo x > clean/x": {Files: []string{"clean", "clean/x"}},
		"rm -r sub; echo x > sub":                      {Files: []string{"sub", "sub/deep"}},
		"rm new; mkdir new; echo x > new/x":            {Files: []string{"new", "new/x"}},
		"rm changed; ln -s / changed":                  {Files: []string{"changed"}},
		"chmod +x clean":                               {Files: []string{"clean"}},
		"git add new":                                  {Index: []string{"new"}},
		"git add changed":                              {Index: []string{"changed"}},
		"git reset -q":                                 {Index: []string{"both", "staged"}},
		"git commit -qam all":                          {Head: true, Files: []string{"both", "changed", "staged"}},
		"echo x > clean; git add .; git commit -qm":    {Head: true},
		"git checkout -q -b other":                     {Head: true},
		"git checkout -q --detach":                     {Head: true},
		"git stash -q; git stash drop -q":              {Files: []string{"both", "changed", "staged"}},
		"git rm -q --cached clean":                     {Files: []string{"clean"}},
		"echo x > a.ign; echo x > .cmux/x":             {},
		"echo x > .cmux/tracked":                       {Files: []string{".cmux/tracked"}},
		"git update-index --chmod=+x clean":            {Files: []string{"clean"}},
		"git commit -qm staged":                        {Head: true, Files: []string{"staged"}},
	} {
		t.Run(script, func(t *testing.T) {
			if strings.HasSuffix(script, "-qm") {
				script += " all"
				want.Files = []string{"both", "changed", "link", "new", "staged"}
			}
			r, dir := newCheckout(t)
			before, was := take(t, dir, nil), dump(t, dir)
			sh(t, dir, script)
			after := take(t, dir, before)
			got := before.Compare(after)
			if got.Head != want.Head || !slices.Equal(got.Files, want.Files) || !slices.Equal(got.Index, want.Index) {
				t.Errorf("%+v", got)
			}
			saved := 0
			done, err := Undo(t.Context(), r, dir, before, after, func() error { saved++; return nil })
			if err != nil || saved != 1 {
				t.Fatal(err, saved)
			}
			if again := before.Compare(take(t, dir, nil)); !again.None() {
				t.Errorf("left: %+v", again)
			}
			sh(t, dir, "rm -f a.ign .cmux/x")
			if now := dump(t, dir); now != was {
				t.Errorf("it was\n%s\nand is\n%s", was, now)
			}
			if after.Commit != before.Commit && strings.TrimSpace(sh(t, dir, "git rev-parse "+done.Kept)) != after.Commit {
				t.Errorf("the commit is not kept: %+v", done)
			}
		})
	}
}

// Names that are no text are kept, also in a file.
func TestNames(t *testing.T) {
	r, dir := newCheckout(t)
	before, was := take(t, dir, nil), dump(t, dir)
	names := []string{"\xff\xfebad", "nl\nname", `"quoted"`, " lead", "-rf", `back\slash`}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	after := take(t, dir, before)
	var kept [2]*Print
	for i, p := range []*Print{before, after} {
		b, err := json.Marshal(p)
		if err == nil {
			err = json.Unmarshal(b, &kept[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	if got := kept[0].Compare(kept[1]); !slices.Equal(got.Files, names) {
		t.Fatalf("%q", got.Files)
	}
	if _, err := Undo(t.Context(), r, dir, kept[0], kept[1], func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if now := dump(t, dir); now != was {
		t.Errorf("it was\n%s\nand is\n%s", was, now)
	}
}

// A folder with something that was not looked at stops an undo before it touches anything.
func TestUndoInTheWay(t *testing.T) {
	for _, script := range []string{"rm clean; mkdir clean; echo x > clean/x; echo x > clean/y.ign", "mkdir d; echo x > changed; rm clean; git init -q clean"} {
		r, dir := newCheckout(t)
		before := take(t, dir, nil)
		sh(t, dir, script)
		after, is := take(t, dir, before), dump(t, dir)
		if _, err := Undo(t.Context(), r, dir, before, after, func() error { return nil }); !errors.Is(err, ErrInTheWay) {
			t.Errorf("%s: %v", script, err)
		}
		if now := dump(t, dir); now != is {
			t.Errorf("%s: it was touched:\n%s", script, now)
		}
	}
}

// What a person did since stays, and stops an undo of the same file.
func TestUndoSince(t *testing.T) {
	r, dir := newCheckout(t)
	before := take(t, dir, nil)
	sh(t, dir, "echo x > clean")
	after := take(t, dir, before)
	save := func() error { return nil }
	sh(t, dir, "echo mine > clean")
	if _, err := Undo(t.Context(), r, dir, before, after, save); !errors.Is(err, ErrSince) || !strings.Contains(err.Error(), "clean") {
		t.Errorf("%v", err)
	}
	sh(t, dir, "echo x > clean; echo mine > changed; echo mine > another")
	if _, err := Undo(t.Context(), r, dir, before, after, save); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, dir, "cat clean changed another"); got != "clean\nmine\nmine\n" {
		t.Errorf("%q", got)
	}
	sh(t, dir, "git commit -q --allow-empty -m mine")
	if _, err := Undo(t.Context(), r, dir, after, take(t, dir, nil), func() error { return errors.New("no room") }); err == nil || err.Error() != "no room" {
		t.Errorf("%v", err)
	}
	if _, err := Undo(t.Context(), r, dir, before, after, save); !errors.Is(err, ErrSince) {
		t.Errorf("after a commit: %v", err)
	}
}

// A repository without commits, and a path that leads out of it.
func TestUndoFirstCommit(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "git init -q -b main; echo a > a")
	r := &git.Repo{Root: dir, GitDir: filepath.Join(dir, ".git")}
	before := take(t, dir, nil)
	sh(t, dir, "git add a; git commit -qm first")
	after := take(t, dir, before)
	if _, err := Undo(t.Context(), r, dir, before, after, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, dir, "git status --porcelain; git symbolic-ref HEAD"); got != "?? a\nrefs/heads/main\n" {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"../out", ".git/hooks/post-commit", "sub/.GIT/config"} {
		bad := &Print{Branch: before.Branch, Paths: map[string]State{name: {Work: gone}}}
		if _, err := Undo(t.Context(), r, dir, bad, before, func() error { return nil }); err == nil || !strings.Contains(err.Error(), "is no file of the checkout") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, mostBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	before = take(t, dir, nil)
	sh(t, dir, "rm big")
	if _, err := Undo(t.Context(), r, dir, before, take(t, dir, before), func() error { return nil }); !errors.Is(err, ErrLost) {
		t.Errorf("what was not kept: %v", err)
	}
}
