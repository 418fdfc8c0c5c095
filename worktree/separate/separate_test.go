package separate

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/worktree/git"
	"cmux/worktree/gitfile"
)

// shell runs a script as a person would, in dir.
func shell(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(git.CleanEnv(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org",
		"GIT_EDITOR=true", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// lent makes a repository with a remote, a tag, a stash and a worktree on the branch work/x.
func lent(t testing.TB) Worktree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, `my "répo`)
	shell(t, filepath.Dir(dir), `git init -q -b main 'my "répo'; cd 'my "répo'
		for i in 1 2 3; do echo $i > f$i; git add -A; git commit -qm $i; done
		git tag v1; git branch other; git clone -q --bare . ../up.git; git remote add origin ../up.git; git fetch -q
		git remote set-head origin main; git pack-refs --all; git branch loose
		echo mine > f1; git stash -q
		git worktree add -q ../w -b work/x`)
	w, err := Find(filepath.Join(dir, ".git"), filepath.Join(filepath.Dir(dir), "w"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// look shows what a person sees of the worktree.
func look(t testing.TB, w Worktree) string {
	t.Helper()
	return shell(t, w.Tree, `git status --porcelain=v2 --branch; git status | sed -n 1,9p; git log --format='%H %s' -9
		git log -g --format='%H %gs' HEAD; git diff --cached; git for-each-ref --format='%(refname) %(objectname)' refs/heads/work`)
}

func begin(t testing.TB, w Worktree) {
	t.Helper()
	if err := w.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dir, err := gitfile.Private(w.Tree); err != nil || dir != w.Dir() || gitfile.Shared(dir) != w.Common {
		t.Fatalf(".git leads to %s of %s (%v)", dir, gitfile.Shared(dir), err)
	}
}

func end(t testing.TB, w Worktree) []Left {
	t.Helper()
	left, err := w.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if dir, err := gitfile.Private(w.Tree); err != nil || dir != w.Private {
		t.Fatalf(".git leads to %s (%v)", dir, err)
	}
	names, err := filepath.Glob(filepath.Join(git.EscapeGlob(w.Private), "cmux-*"))
	names = slices.DeleteFunc(names, func(n string) bool { return filepath.Base(n) == gitfile.Fenced })
	if err != nil || len(names) > 0 {
		t.Errorf("left behind: %q %v", names, err)
	}
	return left
}

// sound checks the shared repository: everything that is named in it is there.
func sound(t testing.TB, w Worktree) {
	t.Helper()
	shell(t, filepath.Dir(w.Common), `git fsck --no-dangling; git fetch -q; git gc -q; git log --all --format=%H > /dev/null`)
}

// What is in the worktree is the same after End as before it, and the shared repository
// is sound at every moment.
func TestTakeOver(t *testing.T) {
	for name, script := range map[string]string{
		"nothing":    `true`,
		"dirty":      `echo x > f1; echo y > new`,
		"staged":     `echo x > f1; echo y > new; git add -A; git add -N .; echo z >> new`,
		"commits":    `for i in 4 5 6; do echo $i > g$i; git add -A; git commit -qm $i; done`,
		"many":       `for i in $(seq 150); do echo $i > g$i; done; git add -A; git commit -qm many`,
		"amend":      `echo 4 > g; git add -A; git commit -qm 4; git commit -q --amend -m 4b; git reset -q --hard HEAD~1; git commit -q --allow-empty -m 5`,
		"detached":   `git checkout -q --detach; echo 4 > g; git add -A; git commit -qm 4`,
		"cherrypick": `git checkout -q --detach; echo 4 > g; git add -A; git commit -qm 4; git checkout -q work/x; git cherry-pick HEAD@{1}; test ! -e "$(git rev-parse --git-dir)/CHERRY_PICK_HEAD"`,
		"rebase":     `echo 4 > g; git add -A; git commit -qm 4; git rebase -q --onto HEAD~2 HEAD~1`,
		"conflict":   `git reset -q --hard HEAD~2; echo 4 > f2; git add -A; git commit -qm 4; ! git merge -q main`,
		"stopped":    `git reset -q --hard HEAD~2; echo 4 > f2; git add -A; git commit -qm 4; ! git rebase -q main`,
		"stash pop":  `test -z "$(git stash list)"; echo x > f1; git stash -q; git stash pop -q`,
		"collected":  `for i in 4 5 6; do echo $i > g$i; git add -A; git commit -qm $i; done; git branch work/y; git pack-refs --all --prune; git gc -q; git branch -D work/y; git fsck`,
		"new branch": `git checkout -q -b work/z; git commit -q --allow-empty -m z; git tag v2`,
		"renamed":    `git commit -q --allow-empty -m z; git branch -m work/z`,
		"split":      `git config core.splitIndex true; git update-index --split-index; echo x > f1; git add -A; git update-index --split-index`,
		"bisect":     `git bisect start -q HEAD HEAD~2 >/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lent(t)
			begin(t, w)
			shell(t, w.Tree, script)
			before := look(t, w)
			sound(t, w)
			if left := end(t, w); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if after := look(t, w); after != before && name != "renamed" {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			sound(t, w)
			begin(t, w)
			end(t, w)
		})
	}
}

// A branch that is not the worktree's own is a person's: it stays where it is, and what was
// made of it is kept.
func TestLeft(t *testing.T) {
	w := lent(t)
	begin(t, w)
	shell(t, w.Tree, `git branch -D other; git tag -d v1; git stash list > stash; test ! -s stash; rm stash
		git commit -q --allow-empty -m new; git branch -f main $(git commit-tree -m apart HEAD^{tree}); git branch -f loose HEAD~1; git tag main; git branch v1; git branch origin/main
		git push -q origin HEAD:work/x; echo a > f1; git stash -q; echo b > f1; git stash -q; git config user.name evil; git config remote.origin.url /evil`)
	tip := shell(t, w.Tree, `git rev-parse HEAD`)
	was := shell(t, filepath.Dir(w.Common), `git for-each-ref --format='%(refname) %(objectname)' refs/heads/main refs/heads/other refs/heads/loose refs/tags; cat .git/config`)
	left := end(t, w)
	is := shell(t, filepath.Dir(w.Common), `git for-each-ref --format='%(refname) %(objectname)' refs/heads/main refs/heads/other refs/heads/loose refs/tags; cat .git/config`)
	if is != was {
		t.Errorf("were:\n%s\nare:\n%s", was, is)
	}
	var names []string
	for _, l := range left {
		names = append(names, l.Ref)
		shell(t, w.Tree, "git rev-parse --verify -q "+l.Kept)
	}
	if got := strings.Join(names, " "); got != "refs/heads/main refs/tags/main" {
		t.Errorf("left %s", got)
	}
	if got := shell(t, filepath.Dir(w.Common), `git rev-parse work/x; git stash list | wc -l; git show -s --format=%s stash@{0}`); got != tip+"\n3\nWIP on work/x: "+tip[:7]+" new" {
		t.Errorf("got %s", got)
	}
	sound(t, w)
}

// The worktree's branch shows its commits in the shared repository while it is at work,
// amended ones too.
func TestPublish(t *testing.T) {
	w := lent(t)
	publish := func() {
		t.Helper()
		if err := w.Publish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if here, there := shell(t, w.Tree, `git rev-parse work/x`), shell(t, w.Common, `git rev-parse work/x`); here != there {
			t.Errorf("%s here, %s there", here, there)
		}
		sound(t, w)
	}
	publish()
	begin(t, w)
	publish()
	for _, script := range []string{`echo 1 > g; git add -A; git commit -qm 1; echo 2 > h; git add -A`, `git commit -q --amend -m 1b`, `git reset -q --hard HEAD~1`, `git commit -q --allow-empty -m 2`} {
		shell(t, w.Tree, script)
		publish()
	}
	before := look(t, w)
	if left := end(t, w); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if after := look(t, w); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// A broken branch of the person's, and a tag that is left twice, keep nothing back.
func TestLeftTwice(t *testing.T) {
	w := lent(t)
	shell(t, w.Common, `echo 1234567890123456789012345678901234567890 > refs/heads/broken`)
	for range 2 {
		begin(t, w)
		shell(t, w.Tree, `export GIT_COMMITTER_DATE='@100 +0000' GIT_AUTHOR_DATE='@100 +0000'
			git tag -f v1 $(git commit-tree -m apart HEAD^{tree}) >/dev/null; echo x >> f1; git add f1`)
		before := shell(t, w.Tree, `git status --porcelain; git diff --cached`)
		if left := end(t, w); len(left) != 1 || left[0].Ref != "refs/tags/v1" {
			t.Errorf("left %v", left)
		}
		if after := shell(t, w.Tree, `git status --porcelain; git diff --cached`); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	}
}

// Interrupted at any step, End does the rest when it is called again.
func TestInterrupted(t *testing.T) {
	w := lent(t)
	begin(t, w)
	shell(t, w.Tree, `git commit -q --allow-empty -m new; echo x > f1; git add -A`)
	before := look(t, w)
	took := func() {
		if _, err := w.takeOver(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	took()
	took()
	if got := look(t, w); got != before {
		t.Errorf("got %s", got)
	}
	if err := git.WriteFile(filepath.Join(w.Tree, ".git"), []byte("gitdir: "+w.Private+"\n")); err != nil {
		t.Fatal(err)
	}
	shell(t, w.Tree, `git commit -q --allow-empty -m later; git reset -q --soft HEAD~1`)
	before = look(t, w)
	end(t, w)
	if got := look(t, w); got != before {
		t.Errorf("got %s", got)
	}
	shell(t, w.Tree, `git commit -q -m more`)
	before = look(t, w)
	end(t, w) // there is none
	if got := look(t, w); got != before {
		t.Errorf("got %s", got)
	}
	// Somebody repaired the worktree while it was at work.
	begin(t, w)
	shell(t, w.Tree, `git commit -q --allow-empty -m while`)
	before = look(t, w)
	shell(t, filepath.Dir(w.Common), `git worktree repair`)
	if err := w.Lead(); err != nil {
		t.Fatal(err)
	}
	if left := end(t, w); len(left) > 0 || look(t, w) != before {
		t.Errorf("left %v, got %s", left, look(t, w))
	}
	// Begin was interrupted before it led .git there.
	if err := w.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	shell(t, w.Tree, `git commit -q --allow-empty -m again`)
	before = look(t, w)
	end(t, w)
	if got := look(t, w); got != before {
		t.Errorf("got %s, not %s", got, before)
	}
}

// What a hostile program leaves in the separate directory makes git write and run nothing
// elsewhere, and keeps no work back.
func TestHostile(t *testing.T) {
	for name, script := range map[string]string{
		"index is a link":   `rm "$G/index"; ln -s "$HOME/kept" "$G/index"`,
		"index is a pipe":   `rm "$G/index"; mkfifo "$G/index"`,
		"index is torn":     `head -c 40 "$G/index" > i; mv i "$G/index"`,
		"index names none":  `git update-index --add --cacheinfo 100644,1234567890123456789012345678901234567890,gone`,
		"logs is a link":    `mv "$G/logs" "$HOME/logs"; ln -s "$HOME/logs" "$G/logs"`,
		"log names none":    `echo "1234567890123456789012345678901234567890 1234567890123456789012345678901234567890 a <a> 1 +0000	x" >> "$G/logs/HEAD"`,
		"head is a folder":  `rm "$G/HEAD"; mkdir "$G/HEAD"`,
		"head is elsewhere": `echo "ref: refs/heads/../../../config" > "$G/HEAD"`,
		"refs are strange":  `mkdir -p "$G/refs/heads/-x"; cp "$G/refs/heads/work/x" "$G/refs/heads/-x/..y"; mkfifo "$G/refs/heads/p"; ln -s /etc/passwd "$G/refs/heads/l"`,
		"settings":          `printf '[core]\n\tfsmonitor = "touch %s/ran"\n\talternateRefsCommand = "touch %s/ran"\n[filter "e"]\n\tclean = "touch %s/ran; cat"\n' "$HOME" "$HOME" "$HOME" >> "$G/config"; echo '* filter=e' > .gitattributes`,
		"hooks":             `rm "$G/hooks"; mkdir "$G/hooks"; printf '#!/bin/sh\ntouch %s/ran' "$HOME" > "$G/hooks/reference-transaction"; chmod +x "$G/hooks/reference-transaction"`,
		"alternates":        `mkfifo "$G/objects/info/p"; echo "$G/objects/info/p" >> "$G/objects/info/alternates"; echo /nowhere >> "$G/objects/info/alternates"`,
		"alternates pipe":   `rm "$G/objects/info/alternates"; mkfifo "$G/objects/info/alternates"`,
		"object is a pipe":  `mkdir -p "$G/objects/12"; mkfifo "$G/objects/12/34567890123456789012345678901234567890"; mkfifo "$G/objects/pack/pack-1234567890123456789012345678901234567890.idx"`,
		"files are huge":    `truncate -s 3T "$G/ORIG_HEAD"; truncate -s 3T "$G/MERGE_MSG"; truncate -s 3T "$G/logs/refs/stash"; mkdir "$G/rebase-merge"; truncate -s 3T "$G/rebase-merge/onto"`,
		"commit-graph lies": `mkdir -p "$G/objects/info"; cp /dev/null "$G/objects/info/commit-graph"; head -c 2000 /dev/urandom > "$G/objects/pack/multi-pack-index"`,
		"names collide":     `git branch -qD other; git branch other/deep $(git commit-tree -m apart HEAD^{tree})`,
		"branch is damaged": `b=$(echo gone | git hash-object -w --stdin); t=$(printf '100644 blob %s\tgone\n' $b | git mktree); git branch damaged $(git commit-tree -m damaged $t); rm -f "$G/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)"`,
		"many branches":     `for i in $(seq 1200); do echo "commit refs/heads/many/$i"; echo "committer a <a> $i +0000"; echo "data 1"; echo x; done | git fast-import --quiet`,
		".git is a folder":  `rm .git; mkdir .git`,
		".git leads away":   `git init -q "$HOME/logs"; echo "gitdir: $HOME/logs/.git" > .git`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, home := lent(t), t.TempDir()
			begin(t, w)
			shell(t, w.Tree, `echo new > new; git add -A; git commit -qm new`)
			tip := shell(t, w.Tree, `git rev-parse HEAD`)
			config := shell(t, w.Common, `cat config`)
			shell(t, w.Tree, `HOME='`+home+`'; G='`+w.Dir()+`'; echo kept > "$HOME/kept"; `+script)
			_, err := w.End(t.Context())
			if name == ".git is a folder" {
				if err == nil {
					t.Fatal("ended with a folder in the place of .git")
				}
				shell(t, w.Tree, `rmdir .git`)
				_, err = w.End(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := shell(t, w.Common, `git rev-parse work/x; cat config`); got != tip+"\n"+config {
				t.Errorf("got %s", got)
			}
			if got := shell(t, home, `cat kept; ls | grep -v logs`); got != "kept\nkept" {
				t.Errorf("got %s", got)
			}
			shell(t, w.Tree, `git status --porcelain; git log -g HEAD > /dev/null; git rev-parse HEAD`)
			sound(t, w)
		})
	}
}

// A ref that stands for another object, has no folder, or looks like an option gets no such
// name in the shared repository: what main is stays what it is, for a person too.
func TestNoName(t *testing.T) {
	w := lent(t)
	was := shell(t, w.Common, `git rev-parse 'main^{tree}'`)
	begin(t, w)
	shell(t, w.Tree, `echo new > new; git add -A; git commit -qm new
		git update-ref refs/top $(git commit-tree -m top 'HEAD^{tree}'); git update-ref refs/heads/-x refs/top
		git update-ref refs/further/x $(git commit-tree -m x 'HEAD^{tree}')
		git replace main $(git commit-tree -m other 'HEAD^{tree}')`)
	left := end(t, w)
	if got := shell(t, w.Common, `git rev-parse 'main^{tree}'; git for-each-ref --format='%(refname)' refs/replace refs/top refs/further refs/heads/-x`); got != was+"\nrefs/further/x" {
		t.Errorf("got %s, not %s", got, was)
	}
	if len(left) != 3 || left[0].Ref != "refs/heads/-x" || left[1].Ref[:len("refs/replace/")] != "refs/replace/" || left[2].Ref != "refs/top" || left[2].Kept == "" {
		t.Errorf("left %v", left)
	}
	sound(t, w)
}

// A branch that somebody else is to make is not made for them.
func TestOthers(t *testing.T) {
	w := lent(t)
	w.Others = []string{"refs/heads/work/late"}
	begin(t, w)
	shell(t, w.Tree, `git branch work/late $(git commit-tree -m late 'HEAD^{tree}'); git branch work/more`)
	if left := end(t, w); len(left) != 1 || left[0].Ref != "refs/heads/work/late" || left[0].Kept == "" {
		t.Errorf("left %v", left)
	}
	if got := shell(t, w.Common, `git for-each-ref --format='%(refname)' refs/heads/work`); got != "refs/heads/work/more\nrefs/heads/work/x" {
		t.Errorf("got %s", got)
	}
	sound(t, w)
}

// An index that leads out of the working tree is lost: with it, git would write there.
func TestIndexLeadsOut(t *testing.T) {
	for name, to := range map[string]string{"up": "../out/x", "git": "q/.GiT/xy"} {
		t.Run(name, func(t *testing.T) {
			w := lent(t)
			begin(t, w)
			shell(t, w.Tree, `mkdir -p aa/bbb; echo evil > aa/bbb/x; echo staged > s; git add -A; git ls-files > /dev/null`)
			index := filepath.Join(w.Dir(), "index")
			b, err := os.ReadFile(index)
			if err != nil {
				t.Fatal(err)
			}
			if to == "q/.GiT/xy" {
				shell(t, w.Tree, `git rm -q -r --cached aa; mkdir -p q/xxxx; echo evil > q/xxxx/xy; git add q`)
				if b, err = os.ReadFile(index); err != nil {
					t.Fatal(err)
				}
			}
			b = bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("aa/bbb/x"), []byte("../out/x")), []byte("q/xxxx/xy"), []byte(to))
			sum := sha1.Sum(b[:len(b)-sha1.Size])
			if err := os.WriteFile(index, append(b[:len(b)-sha1.Size], sum[:]...), 0o666); err != nil {
				t.Fatal(err)
			}
			if got := shell(t, w.Tree, `git ls-files`); !strings.Contains(got, to) {
				t.Fatalf("the index has %s", got)
			}
			end(t, w)
			if got := shell(t, w.Tree, `rm -rf aa q s; git restore .; git diff --cached; ls ..`); strings.Contains(got, "out") {
				t.Errorf("got %s", got)
			}
			if got := shell(t, w.Tree, `git ls-files`); got != "f1\nf2\nf3" {
				t.Errorf("the index has %s", got)
			}
			sound(t, w)
		})
	}
}

// What could not be taken over under its name is kept and said.
func TestNothingIsLost(t *testing.T) {
	w := lent(t)
	shell(t, w.Tree, `git notes add -m mine`)
	begin(t, w)
	shell(t, w.Tree, `git notes append -m note; git notes --ref new add -m new; git worktree add -q --detach ../nested; git -C ../nested commit -q --allow-empty -m nested
		git branch -qD other; git branch other/deep $(git commit-tree -m apart HEAD^{tree})
		for i in $(seq 1100); do echo "commit refs/tags/many/$i"; echo "committer a <a> $i +0000"; echo "data 1"; echo x; done | git fast-import --quiet
		b=$(echo gone | git hash-object -w --stdin); git branch damaged $(git commit-tree -m damaged $(printf '100644 blob %s\tgone\n' $b | git mktree))
		rm -f "$(git rev-parse --git-path objects)/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)"`)
	apart := shell(t, w.Tree, `git rev-parse refs/notes/commits other/deep; git -C ../nested rev-parse HEAD; git rev-parse many/1100`)
	kept := map[string]string{}
	for _, l := range end(t, w) {
		kept[l.Ref] = l.Kept
	}
	if to, said := kept["refs/heads/damaged"]; to != "" || !said {
		t.Errorf("damaged: %q %v", to, said)
	}
	got := shell(t, w.Common, `git rev-parse '`+kept["refs/notes/commits"]+`' '`+kept["refs/heads/other/deep"]+`' '`+kept["worktrees/nested/HEAD"]+`'`)
	if !strings.HasPrefix(apart, got+"\n") {
		t.Errorf("got %s, not %s of %v", got, apart, kept)
	}
	if n := shell(t, w.Common, `git for-each-ref | wc -l`); len(n) > 4 {
		t.Errorf("%s refs", n)
	}
	shell(t, w.Tree, `git notes --ref new show; test "$(git notes show)" = mine`)
	last := apart[strings.LastIndex(apart, "\n")+1:]
	shell(t, w.Common, `git merge-base --is-ancestor `+last+` '`+kept["refs/many"]+`' || git for-each-ref --contains `+last+` | grep .; git show '`+kept["refs/many"]+`' | grep -q refs/tags/`)
	sound(t, w)
}

// What the shared repository has is not copied there again.
func TestNothingTwice(t *testing.T) {
	w := lent(t)
	shell(t, w.Tree, `for i in $(seq 300); do echo $i > h$i; done; git add -A; git commit -qm many`)
	for range 2 {
		begin(t, w)
		shell(t, w.Tree, `echo staged > f1; git add -A`)
		end(t, w)
		if got := shell(t, w.Common, `git rev-list --objects --all | wc -l; git count-objects -v | sed -n 's/^\(count\|in-pack\): //p'`); !strings.HasSuffix(got, "\n0") {
			t.Errorf("objects, loose, in packs: %s", got)
		}
	}
}

// In a partial, sparse clone what is not there stays away.
func TestPartial(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shell(t, dir, `git init -q -b main up; cd up; git config uploadpack.allowFilter true; mkdir api web; for d in api web; do for i in 1 2 3; do echo $d $i > $d/f$i; done; done
		git add -A; git commit -qm 1; cd ..; git clone -q --filter=blob:none --sparse file://$PWD/up c; cd c; git sparse-checkout set api
		git worktree add -q ../w -b work/x; cd ../w; git sparse-checkout set api`)
	w, err := Find(filepath.Join(dir, "c/.git"), filepath.Join(dir, "w"))
	if err != nil {
		t.Fatal(err)
	}
	for i, damage := range []string{"true", "true", `rm "$(git rev-parse --git-dir)/index"`} {
		begin(t, w)
		shell(t, w.Tree, `echo new >> api/f1; git commit -qam new; echo more >> api/f2; git add -A`)
		before := shell(t, w.Tree, `git ls-files -t; git log --format=%H`)
		if i == 0 {
			if err := w.Publish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		shell(t, w.Tree, damage)
		end(t, w)
		if after := shell(t, w.Tree, `git ls-files -t; git log --format=%H`); after != before || !strings.Contains(after, "S web/f1") {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		if s := shell(t, w.Tree, `git status --porcelain | grep -v '^.. api/f[12]$' || true; ls; git rev-list --objects --all --missing=print | grep -c '^?'`); s != "api\n3" {
			t.Errorf("got %s", s)
		}
	}
}

// Large files are taken over by their content. Git LFS finds the shared objects.
func TestLFS(t *testing.T) {
	w := lent(t)
	begin(t, w)
	if got, want := shell(t, w.Tree, `cat "$(git rev-parse --git-dir)/objects/info/alternates"`), filepath.Join(w.Common, "objects"); got != want {
		t.Errorf("git-lfs, which takes quotes for a part of the name, reads objects in %s; want %s", got, want)
	}
	shell(t, w.Tree, `cd "$(git rev-parse --git-dir)"; put() { mkdir -p lfs/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-4); cat > lfs/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-4)/$1; }
		good=$(echo large | sha256sum | cut -d' ' -f1); bad=$(echo other | sha256sum | cut -d' ' -f1); link=$(echo link | sha256sum | cut -d' ' -f1)
		echo large | put $good; echo forged | put $bad; echo link > ../link; : | put $link; ln -sf "$PWD/../link" lfs/objects/$(echo $link | cut -c1-2)/$(echo $link | cut -c3-4)/$link`)
	end(t, w)
	end(t, w)
	if got := shell(t, w.Common, `find lfs -type f | xargs cat`); got != "large" {
		t.Errorf("got %s", got)
	}
}

// A file that only claims to be large is not read for hours, and refs, reflogs and an index
// that git would not write fill no memory.
func TestClaimsToBeLarge(t *testing.T) {
	w := lent(t)
	begin(t, w)
	shell(t, w.Tree, `echo new > new; git add -A; git commit -qm new; cd "$(git rev-parse --git-dir)"
		id=$(echo x | sha256sum | cut -d' ' -f1); d=lfs/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-4); mkdir -p $d; truncate -s 1T $d/$id
		truncate -s 1T logs/HEAD; mkdir -p logs/refs; truncate -s 1T logs/refs/stash; truncate -s 1T ORIG_HEAD`)
	end(t, w)
	if got := shell(t, w.Tree, `git log --format=%s -1; git status --porcelain; find '`+w.Common+`/lfs' -type f 2>/dev/null || true`); got != "new" {
		t.Errorf("got %s", got)
	}
	begin(t, w)
	shell(t, w.Tree, `truncate -s 1T "$(git rev-parse --git-dir)/packed-refs"`)
	if _, err := w.End(t.Context()); !errors.Is(err, errLarge) {
		t.Fatalf("got %v", err)
	}
	shell(t, w.Tree, `truncate -s 0 '`+w.taken().Dir()+`/packed-refs'`)
	end(t, w)
}

// A person who continues a rebase that was taken over picks its commits. What else its
// list would execute, and which refs it would move, is not taken over.
func TestRebase(t *testing.T) {
	w := lent(t)
	begin(t, w)
	shell(t, w.Tree, `echo a > a; git add -A; git commit -qm a; echo b > b; git add -A; git commit -qm b; echo c > c; git add -A; git commit -qm c
		GIT_SEQUENCE_EDITOR="sed -i -e 1s/pick/edit/" git rebase -q -i HEAD~3 2>/dev/null
		cd "$(git rev-parse --git-dir)/rebase-merge"
		printf 'exec touch hacked\n x touch hacked\n\texec\ttouch hacked\nupdate-ref refs/heads/other\n' > all; cat git-rebase-todo >> all; mv all git-rebase-todo
		echo evil > strategy; printf 'refs/heads/other\n%s\n%s\n' $(git rev-parse other) $(git rev-parse HEAD~1) > update-refs`)
	end(t, w)
	other := shell(t, w.Tree, `git rev-parse other`)
	shell(t, w.Tree, `git rebase --continue`)
	if got := shell(t, w.Tree, `git log --format=%s -3; git status --porcelain; git branch --show-current`); got != "c\nb\na\nwork/x" {
		t.Errorf("got %s", got)
	}
	if now := shell(t, w.Tree, `git rev-parse other`); now != other {
		t.Errorf("other is at %s, was at %s", now, other)
	}
}

// On a full disk nothing is given up: the same call takes everything over later.
func TestFullDisk(t *testing.T) {
	w := lent(t)
	shell(t, w.Common, `git gc -q`)
	begin(t, w)
	shell(t, w.Tree, `echo new > new; git add -A; git commit -qm new; git branch side $(git commit-tree -m side HEAD^{tree}); echo staged > f1; git add -A`)
	before := look(t, w)
	side := shell(t, w.Tree, `git rev-parse side`)
	shell(t, w.Common, `for i in $(seq 0 255); do : > objects/$(printf %02x $i); done`)
	if left, err := w.End(t.Context()); err == nil {
		t.Fatalf("ended, left %v", left)
	}
	if got := shell(t, w.Tree, `git log --format=%s -1 2>/dev/null; git show :f1 2>/dev/null`); got != "new\nstaged" {
		t.Errorf("got %s", got)
	}
	shell(t, w.Common, `find objects -maxdepth 1 -type f -delete`)
	if left := end(t, w); len(left) > 0 || look(t, w) != before || shell(t, w.Common, `git rev-parse side`) != side {
		t.Errorf("left %v, got %s", left, look(t, w))
	}
	sound(t, w)
}

// A worktree pauses and begins while programs work in it: the folder stays the same one,
// links there lead cmux nowhere, and wherever .git leads, git works with what is registered.
func TestPause(t *testing.T) {
	w, home := lent(t), t.TempDir()
	if left, err := w.Reserve(t.Context()); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	was, err := os.Stat(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	shell(t, home, `echo kept > kept; mkdir -p info objects/info; echo kept > info/kept; git init -q evil; git -C evil config core.bare true`)
	kept := shell(t, home, `find . -path ./evil -prune -o -type f -print | sort | xargs cat`)
	for i, hostile := range []string{"", `rm -rf objects config HEAD; ln -s "$H" objects; ln -s "$H/kept" config; mkdir HEAD; touch HEAD/x`, `echo "gitdir: $H/evil/.git" > "$W/.git"`} {
		shell(t, w.Tree, `cd '`+w.Dir()+`'; H='`+home+`'; W='`+w.Tree+`'; `+hostile)
		begin(t, w)
		if now, err := os.Stat(w.Dir()); err != nil || !os.SameFile(was, now) {
			t.Errorf("another folder: %v", err)
		}
		shell(t, w.Tree, `echo new >> new; git add -A; git commit -qm new; echo staged > f1; git add -A`)
		before := look(t, w)
		shell(t, w.Tree, `cd '`+w.Dir()+`'; mkdir -p info; rm -rf info/x; ln -s "`+home+`/kept" info/x; ln -s "`+home+`/kept" objects/x`)
		if left, err := w.Pause(t.Context()); err != nil || len(left) > 0 {
			t.Fatal(i, left, err)
		}
		if after := look(t, w); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		if dir, err := gitfile.Private(w.Tree); err != nil || dir != w.Private {
			t.Errorf(".git leads to %s (%v)", dir, err)
		}
		if got := shell(t, home, `find . -path ./evil -prune -o -type f -print | sort | xargs cat`); got != kept {
			t.Errorf("written elsewhere: %s", got)
		}
		sound(t, w)
	}
	end(t, w)
}

// A program in the worktree that holds its lock holds up nobody for ever.
func TestLockedForEver(t *testing.T) {
	w := lent(t)
	begin(t, w)
	dir, err := os.Open(w.Private)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.End(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	end(t, w)
}

// The settings of the shared repository hold, and what a bare one or a submodule says of
// itself does not.
func TestSettings(t *testing.T) {
	w := lent(t)
	shell(t, w.Common, `git config user.name Bea; git config core.bare true; git config core.repositoryformatversion 1; git config extensions.worktreeConfig true
		printf '#!/bin/sh\ntouch ../hooked' > hooks/post-commit; chmod +x hooks/post-commit; echo '*.ign' > info/exclude`)
	begin(t, w)
	if got := shell(t, w.Tree, `touch a.ign; git status --porcelain; git config user.name; git commit -q --allow-empty -m x; ls ../hooked; git config --worktree a.b c; git rev-parse v1 origin/main origin/HEAD | uniq | wc -l`); got != "Bea\n../hooked\n1" {
		t.Errorf("got %s", got)
	}
	end(t, w)
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzRefs(f *testing.F) {
	f.Add("1234567890123456789012345678901234567890 refs/heads/a\n# x\n^1234\n")
	f.Fuzz(func(t *testing.T, s string) {
		for name, id := range parsePacked([]byte(s)) {
			if !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, "\n") || len(id) != 40 && len(id) != 64 {
				t.Errorf("%q %q", name, id)
			}
		}
	})
}
