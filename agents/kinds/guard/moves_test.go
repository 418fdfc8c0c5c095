package guard_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
)

// TestMoves: what git keeps as it is may be moved and removed within the scope, and
// plain text put into new files. The rest is asked about.
func TestMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.policy.Tree
	w.policy.Zones.Careful = []string{"src/care/"}
	for name, content := range map[string]string{"src/c.txt": "c\n", "src/d.txt": "d\n", "src/deep/e.txt": "e\n", "src/empty": "", "src/.hidden": "h\n", "src/care/x": "care\n", "src/ign/x": "x\n", "src/eyed": "eyed\n", "src/two": "two\n", "src/mixed/kept": "k\n", "src/.claude/x": "x\n"} {
		w.write("tree/"+name, content)
	}
	w.git("tree", "add", "-f", "src")
	w.git("tree", "commit", "-q", "-m", "more")
	for name, content := range map[string]string{"src/b.txt": "two, changed again\n", "src/loose": "loose\n", "src/staged": "staged\n", "src/mixed/loose": "l\n", "src/repo/x": "x\n", "src/eyed": "changed\n"} {
		w.write("tree/"+name, content)
	}
	w.git("tree", "add", "src/staged")
	w.git("tree", "update-index", "--assume-unchanged", "src/eyed")
	w.write("tree/src/noted", "")
	w.git("tree", "add", "-N", "src/noted")
	w.write("tree/src/only/index", "only the index has it\n")
	w.write("tree/src/index", "only the index has it\n")
	w.git("tree", "add", "src/only/index", "src/index")
	w.must(os.RemoveAll(filepath.Join(p, "src/only")))
	w.must(os.Remove(filepath.Join(p, "src/index")))
	w.must(os.Link(filepath.Join(p, "src/two"), filepath.Join(p, "src/loose2")))
	w.must(os.Symlink("deep", filepath.Join(p, "src/folder")))
	w.must(os.Symlink("../../outside", filepath.Join(p, "src/out")))
	w.policy.Linked = places.Linked
	w.before = w.look()
	for _, path := range []string{"src/a.txt", "src/b.txt", "src/c.txt", "src/d.txt", "src/deep/e.txt", "src/empty", "src/two"} {
		b, err := os.ReadFile(filepath.Join(p, path))
		w.must(err)
		w.history[path+"\x00"+string(b)] = true
	}
	var granted []string
	for _, text := range []string{
		"git mv src/a.txt src/n.txt", "git mv src/a.txt src/deep", "git mv src/a.txt src/c.txt src/deep/", "mv src/a.txt src/n.txt", "mv src/a.txt src/c.txt", "mv -- src/a.txt src/deep", "rm src/a.txt", "rm -f src/a.txt src/c.txt", "rm -- src/a.txt", "rm src/empty", "rm src/deep/e.txt",
		"mv " + p + "/src/a.txt " + p + "/src/n.txt", "cd " + p + " && git mv src/a.txt src/n.txt", "git --no-pager mv src/a.txt src/n.txt",
		"git mv src/a.txt src/n.txt && git mv src/c.txt src/m.txt && git commit -q -m 'rename' && git status", "rm src/a.txt; git add -A && git commit -q -m x", "mv src/a.txt src/n.txt && cat src/n.txt",
		"mkdir -p src/new/sub && git mv src/a.txt src/new/sub && git mv src/c.txt src/new/c.txt", "mkdir src/new && mv src/a.txt src/c.txt src/new/", "mkdir -p src/new; mv src/a.txt src/new", "git mv src/a.txt 'src/with blank'",
		"cat > src/f <<'EOF'\nx\nEOF", "cat <<'X' > src/f\n$(pwn) `pwn` \\\n\ta \"b' ${c}\nX\ngit add src/f", "cat >src/f <<'EOF'\nEOF", "cat > src/f <<'EOF'\n\nx EOF\n\nEOF\n\ngit add src/f && git commit -q -m 'a file'",
		"mkdir -p src/new && printf 'a\\n%s %%\\n' x > src/new/f", "mkdir -p src/new && echo hello > src/new/f && echo again >> src/new/f && git add -A && git commit -q -m x", "printf 'x' >src/f", "echo 'x y' > " + p + "/src/f", "echo > src/f | cat", "cat > src/f <<EOF\nx \"it's\" !y ~ *\nEOF", "cat > src/f <<\"EOF\"\n$x\nEOF", "cat > src/f <<-'EOF'\n\tx\n\t\ty\n\tEOF\ngit add src/f",
		"echo x >> src/loose", "echo x >> src/b.txt", "printf 'x' >> src/a.txt && git add src/a.txt && git commit -q -m x", "cat >> src/b.txt <<'EOF'\n$(pwn) `pwn`\nEOF", "cat >> src/c.txt <<EOF\nx\nEOF\ncat <<'END' >> src/deep/e.txt\ny\nEND\ngit diff", "echo x >> src/b.txt && echo y >> src/b.txt", "echo x >> " + p + "/src/empty", "cat >> src/f <<-EOF\n\tx\n\tEOF", "echo x >> src/staged", "echo x >> src/eyed",
		"touch src/n", "touch src/n src/deep/m && git add -A", "touch src/n && rm src/n", "touch src/n src/m; ls src; rm -f src/n src/m", "mkdir -p src/new && touch src/new/f && echo x >> src/new/f && cat src/new/f && rm src/new/f", "echo x > src/n && rm src/n && echo y > src/n", "cat > src/n <<'EOF'\nx\nEOF\nrm src/n", "touch " + p + "/src/n && rm src/n", "touch src/n && rm src/a.txt",
		"mkdir -p src/new\nprintf 'a' > src/new/a\nprintf 'b' > src/new/b\ncat src/new/a\ngit add src/new/b",
	} {
		if !w.granted(text) {
			t.Errorf("%s is not granted: %v", text, guard.Decide(w.policy, guard.Call{Tool: "Bash", Input: object("command", text), Dir: p}))
			continue
		}
		granted = append(granted, text)
	}
	w.try(granted, 0)
	for _, text := range []string{
		// What git does not keep, or that is another thing than a file.
		"rm src/b.txt", "mv src/b.txt src/n.txt", "git mv src/b.txt src/n.txt", "rm src/loose", "mv src/loose src/n", "rm src/staged", "git mv src/staged src/n", "rm src/noted", "rm src/eyed", "rm src/ign/no", "rm src/gone", "mv src/a.txt src/loose", "mv src/a.txt src/b.txt", "mv src/a.txt src/eyed", "git mv src/a.txt src/b.txt",
		"rm src/deep", "rm -r src/deep", "rm -rf src/deep", "mv src/deep src/n", "git mv src/deep src/n", "mv src/mixed src/n", "rm src/mixed", "rm src/link2", "mv src/link2 src/n", "git mv src/link2 src/n", "mv src/a.txt src/link2", "mv src/a.txt src/folder", "mv src/a.txt src/folder/n", "rm src/folder/e.txt", "mv src/folder/e.txt src/n", "mv src/a.txt src/out", "mv src/a.txt src/out/n", "rm inlink/a.txt", "mv inlink/a.txt src/n", "rm src/two", "mv src/a.txt src/two",
		// What only the index has.
		"git mv src/a.txt src/index", "git mv src/a.txt src/only", "mkdir src/only && git mv src/a.txt src/only/index", "mkdir src/index && git mv src/a.txt src/index",
		// Elsewhere.
		"rm sub/c", "mv sub/c src/n", "mv src/a.txt sub", "mv src/a.txt n.txt", "git mv src/a.txt .", "git mv sub/c src/n", "rm ../root/README", "mv src/a.txt ../outside", "mv src/a.txt /tmp/n", "rm src/../../outside/secret", "rm src/deep/../a.txt", "mv src/a.txt src/deep/../n", "mv src/a.txt SRC/n", "rm SRC/a.txt", "cd src && rm a.txt", "cd sub; rm src/a.txt", "cd src; mv a.txt n", "cd " + p + "/src && rm a.txt", "cd ../root && rm src/a.txt", "cd " + p + " || rm src/a.txt; cat x /", "pushd src && rm a.txt",
		// Names that programs read.
		"rm src/.hidden", "mv src/.hidden src/n", "mv src/a.txt src/.n", "git mv src/a.txt src/.gitattributes", "mv src/a.txt src/.gitignore", "mv src/a.txt src/.claude/n", "git mv src/.claude/x src/n", "mv src/a.txt src/.CLAUDE/n", "mv src/a.txt src/.mcp.json", "rm .claude/settings.json", "mv src/a.txt .git/hooks/n", "mv src/a.txt src/.git", "mv src/a.txt src/.GIT", "mv src/a.txt src/git~1", "mv src/a.txt src/mise.toml", "mv src/a.txt src/x.code-workspace", "mv src/a.txt .cmux/n", "mv src/a.txt .cmux-agents.yml", "mv src/a.txt src/care/n", "rm src/care/x", "git mv src/care/x src/n", "mv src/a.txt 'src/n.'", "mv src/a.txt src/opencode.json",
		// Options, and what a shell or a program reads otherwise.
		"rm", "rm -f", "rm --", "mv src/a.txt", "mv", "git mv src/a.txt", "git mv", "rm -i src/a.txt", "rm -v src/a.txt", "rm -fr src/a.txt", "rm src/a.txt -f", "rm src/a.txt -- src/c.txt", "rm --force src/a.txt", "rm -f -- -f", "mv -f src/a.txt src/n", "mv -t src/deep src/a.txt", "mv -tsrc/deep src/a.txt", "mv -T src/a.txt src/n", "mv -b src/a.txt src/c.txt", "mv -S x src/a.txt src/c.txt", "mv --target-directory=src/deep src/a.txt", "mv src/a.txt -t src/deep", "mv src/a.txt -- src/n", "mv src/a.txt src/n --", "rm src/a.txt --", "git mv src/a.txt src/n --", "mv src/a.txt src/n -f", "git mv -f src/a.txt src/c.txt", "git mv -k src/a.txt src/n", "git mv -n src/a.txt src/n", "git mv -v src/a.txt src/n", "git mv --sparse src/a.txt src/n", "git mv src/a.txt -- src/n", "git -C . mv src/a.txt src/n", "git -C src mv a.txt n", "git -c x.y=z mv src/a.txt src/n",
		"rm src/*.txt", "rm src/?.txt", "rm src/[a]*", "rm src/{a,c}.txt", "rm $X", "rm \"$X\"", "rm src/$X", "rm $(echo src/a.txt)", "rm `echo src/a.txt`", "rm ~/a", "rm =src/a.txt", "rm 'src/'a.txt", "rm src/'a'.txt", "rm \"src/a.txt\"x", "rm src\\/a.txt", "rm $'src/a.txt'", "rm :/src/a.txt", "git mv ':(glob)src/a.txt' src/n", "git mv ':/src/a.txt' src/n", "mv 'src/a*' src/n", "rm \"src/a\n.txt\"", "rm src/a.txt &", "rm src/a.txt > src/log", "(rm src/a.txt)", "{ rm src/a.txt; }", "! rm src/a.txt", "time rm src/a.txt", "sudo rm src/a.txt", "command rm src/a.txt", "\\rm src/a.txt", "./rm src/a.txt", "/bin/rm src/a.txt", "PATH=. rm src/a.txt", "PATH=.; rm src/a.txt", "GIT_DIR=src git mv src/a.txt src/n", "rm() { pwn; }; rm src/a.txt", "alias mv=pwn; mv src/a.txt src/n", "mkdir() { pwn; }; mkdir src/n", "echo src/a.txt | xargs rm", "find src -name a.txt -exec rm {} +", "for f in a.txt; do rm src/$f; done", "for f in a.txt; do git mv src/$f src/deep; done", "unlink src/a.txt", "cp src/a.txt src/n", "ln src/a.txt src/n", "rmdir src/new",
		// One text, several commands.
		"sleep 9 && rm src/a.txt", "sleep 9; echo x > src/n", "touch src/n && sleep 9 && rm src/n", "sleep 9 && mv src/a.txt src/n", "sleep 9 && sed -i s/a/b/ src/a.txt", "sleep 9 && cat src/a.txt", "sleep 9 && cd ./src && ls",
		"touch src/n && rm src/N", "touch src/n && rm src/n src/n", "echo x >> src/loose && rm src/loose", "echo x >> src/b.txt && rm src/b.txt", "touch src/n && check it && rm src/n", "touch src/n && git add src/n && rm src/n", "touch src/n && git rm src/n", "touch src/n && mv src/n src/m", "mv src/a.txt src/n && touch src/a.txt", "rm src/a.txt && touch src/a.txt", "touch src/n && rm -r src/n", "touch src/n && rm src/n src/b.txt", "mkdir src/n && touch src/n/f && rm src/n", "touch src/n/ && rm src/n", "touch src/n; rm src/n && rm src/n", "touch src/n | rm src/loose", "for t in n; do touch src/$t; done",
		"mv src/a.txt src/n && mv src/n src/m", "mv src/a.txt src/n && rm src/n", "rm src/a.txt && mv src/c.txt src/a.txt", "mv src/a.txt src/n && mv src/c.txt src/N", "mv src/a.txt src/a.txt/n", "rm src/a.txt src/a.txt", "mv src/a.txt src/deep/e.txt src/deep", "mv src/a.txt src/a.txt", "git mv src/a.txt src/c.txt src/n", "mv src/a.txt src/new/", "check it && rm src/a.txt", "git restore src/b.txt && rm src/b.txt", "git restore src/b.txt && rm src/a.txt", "git add -A && rm src/loose", "git commit -qam x && mv src/b.txt src/n", "rm src/a.txt && git restore src/a.txt", "mv src/a.txt src/n && git rm src/n", "rm src/a.txt && mkdir src/a.txt", "mkdir src/new && mv src/a.txt src/c.txt src/other", "mkdir src/loose; mv src/a.txt src/loose", "mkdir -p src/b.txt; mv src/a.txt src/b.txt", "mkdir src/care/new && mv src/a.txt src/care/new", "mkdir -p src/new/../other && mv src/a.txt src/new", "mkdir -p inlink/new && mv src/a.txt src/new", "mkdir -p .x/../src/new", "mkdir -p .cmux/../src/new", "mkdir -p .git/../src/new", "mkdir -p inlink/new", "mkdir -p src/deep/.x && mv src/a.txt src/deep/.x", "mkdir -p sub/n && mv src/a.txt sub/n", "echo x > src/f && mv src/f src/g", "rm src/c.txt src/loose", "mv src/c.txt src/loose src/deep",
		// Text into files.
		"mkdir -p src/new && printf 'x' > src/a.txt", "echo x > src/b.txt", "echo x > src/loose", "echo x > src/link2", "echo x > src/out/n", "echo x > src/folder/n", "echo x > src/two", "echo x > sub/n", "echo x > n", "echo x > ../outside/n", "echo x > /tmp/n", "echo x > /dev/tcp/localhost/1", "echo x > /dev/fd/3", "mkdir -p sub/n && printf x > sub/n/f", "mkdir -p src/.git && printf x > src/.git/config", "mkdir -p src/.x && printf x > src/.x/f", "mkdir -p src/new && printf x > src/new/.env", "mkdir -p src/new && printf x > src/new/.gitattributes", "mkdir -p src/new && printf x > src/new/../../n", "mkdir -p src/new && printf x > src/care/n", "mkdir -p .claude && printf x > .claude/settings.json", "mkdir -p src/new && cd src/new && printf x > f", "mkdir -p src/new && cd src && printf x > ../new/f",
		"mkdir -p src/new && printf \"$X\" > src/new/f", "mkdir -p src/new && printf x > $X", "mkdir -p src/new && printf x > src/$X", "mkdir -p src/new && printf x > src/new/*", "mkdir -p src/new && printf x > \"src/new/f\"", "mkdir -p src/new && printf x >| src/new/f", "mkdir -p src/new && printf x >! src/new/f", "mkdir -p src/new && printf x &> src/new/f", "mkdir -p src/new && printf x >& src/new/f", "mkdir -p src/new && printf x 2> src/new/f", "mkdir -p src/new && printf x > src/new/f > src/new/g", "mkdir -p src/new && printf x > src/new/f 2>&1", "mkdir -p src/new && printf x > src/new/f y", "mkdir -p src/new && > src/new/f", "mkdir -p src/new && printf x > src/new/", "mkdir -p src/new && printf x <> src/new/f", "mkdir -p src/new && printf x > src/new/{a,b}", "mkdir -p src/new && printf x > ~/f", "mkdir -p src/new && printf x > src/new/f&",
		"printf '%d' 'a[$(pwn)]' > src/f", "printf '%*s' 'a[$(pwn)]' b > src/f", "printf '%5s' x > src/f", "printf '%b' x > src/f", "printf '%q' x > src/f", "printf '%n' x > src/f", "printf '%(x)T' > src/f", "printf '\\045d' 'a[$(pwn)]' > src/f", "printf '\\x25d' 1 > src/f", "printf -v PATH x > src/f", "printf -- x > src/f", "printf > src/f", "printf '%' > src/f", "echo -n x > src/f", "cat src/a.txt > src/f", "git show HEAD > src/f", "cmux done x > src/f", "ls > src/f", "cd " + p + " > src/f", "check it > src/f", "check it && echo x > src/f", "git add -A && echo x > src/f", "echo \"$(cat <<'EOF'\nx\nEOF\n)\" > src/f", "for f in a b; do echo x > src/n$f; done", "for f in a; do cat src/a.txt; done > src/f", "./printf x > src/f", "printf() { pwn; }; printf x > src/f", "PATH=. printf x > src/f", "PATH=src; mkdir -p src/new && printf x > src/new/f", "true | printf x > src/f; pwn", "tee src/f",
		"touch src/a.txt", "touch src/loose", "touch src/link2", "touch src/out/n", "touch src/folder/n", "touch inlink/n", "touch sub/n", "touch n", "touch src/.n", "touch src/repo/.git/n", "touch src/care/n", "touch ../outside/n", "mv src/a.txt src/n && touch src/a.txt", "touch src/f && mv src/a.txt src/f", "touch src/f src/F", "touch src/f src/f/g",
		"echo x >> src/link2", "echo x >> src/out/secret", "echo x >> src/folder/e.txt", "echo x >> inlink/b.txt", "echo x >> src/two", "echo x >> src/loose2", "echo x >> src/deep", "echo x >> src/.hidden", "echo x >> src/care/x", "echo x >> src/.claude/x", "echo x >> src/repo/.git/config", "echo x >> .git", "echo x >> .claude/settings.json", "echo x >> sub/c", "echo x >> README", "echo x >> ../root/README", "echo x >> ../outside/secret", "echo x >> src/../sub/c", "echo x >> src/deep/../a.txt", "echo x >> SRC/../sub/c", "echo x >> /dev/null/x", "echo x >> /proc/self/cwd/src/b.txt", "echo x >> src/b.txt > src/b.txt", "echo x >> src/b.txt && echo y > src/b.txt", "echo x >> src/b.txt && rm src/b.txt", "echo x >> src/b.txt && mv src/a.txt src/b.txt", "mv src/a.txt src/n && echo x >> src/a.txt", "rm src/a.txt && echo x >> src/a.txt", "git restore src/b.txt && echo x >> src/b.txt", "git add -A && echo x >> src/b.txt", "check it && echo x >> src/b.txt", "echo x >>| src/b.txt", "echo x >>! src/b.txt", "echo x &>> src/b.txt", "echo x >>& src/b.txt", "echo x 2>> src/b.txt", "echo x >> src/b.txt 2>&1", "echo x >> 'src/b.txt'", "echo $x >> src/b.txt", "echo x >> src/b.*", "cat src/a.txt >> src/b.txt", "git log >> src/b.txt", "for f in a; do echo x >> src/b.txt; done", "cat >> src/link2 <<'EOF'\nx\nEOF", "cat >> src/b.txt <<EOF\n$(pwn)\nEOF", "cat >> src/b.txt <<EOF\nx\\\nEOF\nEOF", "cat >> src/b.txt <<-EOF\nx\n EOF", "cat >> src/b.txt <<-'EOF'\n\tEOFx\n\tEOF", "cat > src/f <<-'EOF'\nx\n\t EOF\npwn\nEOF", "cat > src/b.txt <<EOF\nx\nEOF",
		"cat > src/f <<'EOF'\nx", "cat > src/f <<'EOF'\nx\n EOF\npwn\nEOF", "cat > src/f <<'EOF'\nx\nEOFX\nEOF", "cat > src/f <<'EOF'\nx\nEOF\npwn", "cat > src/f <<'EOF'; pwn\nx\nEOF", "cat > src/f <<'EOF' && git status\nx\nEOF", "cat README > src/f <<'EOF'\nx\nEOF", "sh > src/f <<'EOF'\npwn\nEOF", "tee src/f <<'EOF'\nx\nEOF", "cat > src/a.txt <<'EOF'\nx\nEOF", "cat > ../f <<'EOF'\nx\nEOF", "cat > .env <<'EOF'\nx\nEOF", "for t in a; do cat > src/f <<'EOF'\nx\nEOF\ndone",
	} {
		if w.granted(text) {
			t.Errorf("%s is granted", text)
		}
	}
}

// TestEditsInPlace: sed changes a file of the node's own where it lies, and does nothing
// else, whatever its script and its options.
func TestEditsInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.policy.Tree
	w.policy.Zones.Careful, w.policy.Linked = []string{"src/care/"}, places.Linked
	for _, name := range []string{"src/c.txt", "src/deep/e.txt", "src/.hidden", "src/care/x", "src/two", "src/d.txt", "src/d.txt.bak", "src/d.txt-e", "src/wx", "src/1wx", "src/sxaxbxwx", "src/saabaw", "src/.claude/x", "src/repo/x", "src/repo/.git/HEAD", "s,x,y,"} {
		w.write("tree/"+name, "one\ntwo\nthree\n")
	}
	w.must(os.Link(filepath.Join(p, "src/two"), filepath.Join(p, "src/two2")))
	w.must(os.Symlink("deep", filepath.Join(p, "src/folder")))
	w.must(os.Symlink("c.txt", filepath.Join(p, "src/link")))
	w.before = w.look()
	runs := func(text string, want ...string) {
		t.Helper()
		for _, sh := range shells {
			_, err := w.shell(sh, "bin", text)
			if names, _ := w.changed(); err != nil || foreign(ran(w.told())) != "" || slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(want, n) && n != "tree/src" }) {
				t.Errorf("%v: %q changes %q, %v", sh, text, names, err)
			}
		}
	}
	for _, text := range []string{
		"sed -i 's/one/two/' src/c.txt", "sed -i 's/one/two/g' src/c.txt", `sed -i "s|one|a/b|" src/c.txt`, "sed -i 's#o\\(n\\)e#\\1 & w x#' src/c.txt", "sed -E -i 's/(o|t)[a-z]+/\\1/2' src/c.txt", "sed -i -E 's/[0-9]+//gI' src/c.txt", "sed -i -e 's/e/w/' src/c.txt", "sed -i -e 's/e/w/' src/c.txt src/deep/e.txt",
		"sed -i.bak 's/one/two/' src/c.txt", "sed -i.bak -E 's/o+/e/' src/c.txt", "sed -i 2d src/c.txt", "sed -i '2,$d' src/c.txt", "sed -i '$d' src/c.txt", "sed -i '/^two w/d' src/c.txt", "sed -i '2,3s/t/w x/' src/c.txt", "sed -i 's/x/$(pwn)`pwn`/' src/c.txt", "sed -i 's/one//' " + p + "/src/c.txt", "sed -i s/one/two/ src/c.txt && git diff && git add -A && git commit -q -m x && git log -1",
		"sed -i -e 's/one/1/' -e 's/two/2/g' src/c.txt", "sed -E -i -e 's/(o)ne/\\1/' -e '3d' src/c.txt", "sed -i -E -e 's/[a-z]+/&&/' src/c.txt", "sed -i -E -e 's/o|t/x/' -e '/[[:space:]]$/d' src/c.txt src/deep/e.txt", "sed -i.bak -e 's/one/1/' -e '$d' src/c.txt", "sed -i 's/\\(o\\)ne/[\\1] &/' src/c.txt",
		"sed -i '/one/,/two/d' src/c.txt", "sed -i '/two/,$d' src/c.txt", "sed -i '2,/e$/d' src/c.txt", "sed -i '/t[wh]o/s/t/T/g' src/c.txt", "sed -i '/^o/,/\\.$/s|e|/|2' src/c.txt", "sed -i -e '/one/s/n/N/' -e '/\\(two\\)/d' src/c.txt",
		"cd " + p + " && sed -i 's,one,two,' src/c.txt", "cd ./src && sed -i 's/one/two/' c.txt", "cd ./src && sed -i.bak 's/one/two/' c.txt",
	} {
		if !w.granted(text) {
			t.Errorf("%s is not granted", text)
		} else if !strings.Contains(text, "git") {
			runs(text, "tree/src/c.txt", "tree/src/deep/e.txt", "tree/src/c.txt.bak")
		}
	}
	for _, text := range []string{
		// Scripts that write, read, start, or that are more than one command.
		"sed -i 's/one/two/w x' src/c.txt", "sed -i 's/one/two/w /dev/stdout' src/c.txt", "sed -i 's/one/pwn/e' src/c.txt", "sed -i 's/one/pwn/ge' src/c.txt", "sed -i 's/one/two/gw x' src/c.txt", "sed -i 's/one/two/m' src/c.txt", "sed -i 'w x' src/c.txt", "sed -i '1w x' src/c.txt", "sed -i 'W x' src/c.txt", "sed -i '1e pwn' src/c.txt", "sed -i e src/c.txt", "sed -i 'r ../outside/secret' src/c.txt", "sed -i 'R ../outside/secret' src/c.txt", "sed -i '1r/etc/passwd' src/c.txt",
		"sed -i 's/a/b/;w x' src/c.txt", "sed -i 's/a/b/;1e pwn' src/c.txt", "sed -i '1d;w x' src/c.txt", "sed -i '1{w x' src/c.txt", "sed -i 's/a/b/\nw x' src/c.txt", "sed -i 's/a/b\nw x/' src/c.txt", "sed -i '/a/w x' src/c.txt", "sed -i '/a/e' src/c.txt", "sed -i '/a/s/b/c/w x' src/c.txt", "sed -i 's/a/b/ w x' src/c.txt", "sed -i 's/a/b/}w x' src/c.txt", "sed -i 's/[/]w x/a/' src/c.txt", "sed -i 's/a\\/b/w/' src/c.txt", "sed -i 's/a/b\\/w x/' src/c.txt", "sed -i 's/a/b/c/w x' src/c.txt", "sed -i 's/a/b' src/c.txt", "sed -i s src/c.txt", "sed -i 'sxaxbxw y' src/c.txt", "sed -i 's a b w' src/c.txt", "sed -i 'swawbww x' src/c.txt", "sed -i 'y/a/b/' src/c.txt", "sed -i '1i x' src/c.txt", "sed -i 'a x' src/c.txt", "sed -i '1!d' src/c.txt", "sed -i '#n' src/c.txt", "sed -i '0~2d' src/c.txt", "sed -i 'F' src/c.txt", "sed -i 'q' src/c.txt", "sed -i '$!N;d' src/c.txt",
		// Options.
		"sed -i -f x src/c.txt", "sed -i -n 's/a/b/' src/c.txt", "sed -ni 's/a/b/' src/c.txt", "sed -i -n 1p src/c.txt", "sed -i -e 's/a/b/' -e 'w x' src/c.txt", "sed -i -e 's/a/b/' -f x src/c.txt", "sed -i 's/a/b/' -e 'w x' src/c.txt", "sed -i 's/a/b/' src/c.txt -e 'w x'", "sed -i 's/a/b/' src/c.txt --expression=1e", "sed -i 's/a/b/' -s src/c.txt", "sed -i 's/a/b/' -- src/c.txt", "sed -i --follow-symlinks 's/a/b/' src/link", "sed --in-place 's/a/b/' src/c.txt", "sed --in-place=../x 's/a/b/' src/c.txt", "sed -i../x 's/a/b/' src/c.txt", "sed -i* 's/a/b/' src/c.txt", "sed -i'/../../x*' 's/a/b/' src/c.txt", "sed -i.orig 's/a/b/' src/c.txt", "sed -i '' 's/a/b/' src/c.txt", "sed -iE 's/a/b/' src/c.txt", "sed -Ei 's/a/b/' src/c.txt", "sed -i -s 's/a/b/' src/c.txt", "sed -i -z 's/a/b/' src/c.txt", "sed -E -i.bak 's/a/b/' src/c.txt", "sed -i", "sed -i 's/a/b/'", "sed -i src/c.txt", "sed 's/a/b/' src/c.txt", "gsed -i 's/a/b/' src/c.txt", "perl -i -pe 's/a/b/' src/c.txt",
		// Files.
		"sed -i 's/a/b/' src/link", "sed -i 's/a/b/' src/link2", "sed -i 's/a/b/' src/folder/e.txt", "sed -i 's/a/b/' inlink/c.txt", "sed -i 's/a/b/' link/new", "sed -i 's/a/b/' src/two", "sed -i 's/a/b/' src/deep", "sed -i 's/a/b/' src/none", "sed -i 's/a/b/' src/.hidden", "sed -i 's/a/b/' src/care/x", "sed -i 's/a/b/' src/.claude/x", "sed -i 's/a/b/' src/repo/x", "sed -i 's/a/b/' src/repo/.git/HEAD", "sed -i 's/a/b/' .git", "sed -i 's/a/b/' README", "sed -i 's/a/b/' sub/c", "sed -i 's/a/b/' ../root/README", "sed -i 's/a/b/' ../outside/secret", "sed -i 's/a/b/' " + filepath.Join(w.dir, "root/README"), "sed -i 's/a/b/' /etc/hosts", "sed -i 's/a/b/' src/deep/../c.txt", "sed -i 's/a/b/' /proc/self/cwd/src/c.txt", "sed -i 's/a/b/' src/*.txt", "sed -i 's/a/b/' src/{c,d}.txt", "sed -i 's/a/b/' $X", "sed -i \"s/a/$X/\" src/c.txt", "sed -i s/a/$(pwn)/ src/c.txt", "sed -i 's/a/b/' src/c.txt > src/f", "for f in c.txt; do sed -i s/a/b/ src/$f; done", "echo src/c.txt | xargs sed -i 's/a/b/'", "PATH=. sed -i 's/a/b/' src/c.txt", "./sed -i 's/a/b/' src/c.txt",
		// What the sed of BSD systems takes for the script or for a copy.
		"sed -i 's/a/b/' src/c.txt src/d.txt", "sed -E -i 's/a/b/' src/c.txt src/d.txt", "cd ./src && sed -i 's/a/b/' wx", "cd ./src && sed -i 's/a/b/' 1wx", "cd ./src && sed -i 's/a/b/' sxaxbxwx", "cd ./src && sed -i 's/a/b/' saabaw", "cd ./src && sed -E -i 's/a/b/' wx", "sed -i -e 's/a/b/' src/c.txt src/d.txt", "sed -i.bak -e 's/a/b/' -e src/c.txt", "sed -i -e 's/a/b/' -e s,x,y, src/c.txt", "sed -E -i -e 's/a/b/' -e s,x,y, src/c.txt",
		"sed -i -e 's/a/b' -e 'w x/' src/c.txt", "sed -i -e 's/a\\/b/c' -e '/w x' src/c.txt", "sed -i -e 's/[/]/b/' -e 's/]w x/c/' src/c.txt", "sed -i -e 's/a/b\\' -e 's/c/d/' src/c.txt", "sed -i -e 's/[]/]x/' -e 3d src/c.txt", "sed -i -e '/[/]/d' -e 3d src/c.txt", "sed -i -e '/a\\/,/b/w x' src/c.txt", "sed -i '/a/,/b/w x' src/c.txt", "sed -i '/a/s/b/c/w x' src/c.txt", "sed -i '/[/]/s/b/w x/' src/c.txt", "sed -i '/a\\/s/b/w x/' src/c.txt", "sed -i '/a/e pwn' src/c.txt", "sed -i '/a/{w x' src/c.txt", "sed -i '/a/,+1w x' src/c.txt", "sed -i '\\|a|w x' src/c.txt", "sed -i '//s/a/b/' src/c.txt", "sed -i '/a/!s/b/c/' src/c.txt", "sed -i '/a/s/b/c/e' src/c.txt", "sed -i -e 's/a/b/' src/d.txt", "sed -i.bak 's/a/b/' src/d.txt",
		// One text, several commands.
		"sed -i 's/a/b/' src/c.txt && sed -i 's/a/b/' src/c.txt", "mv src/a.txt src/n && sed -i 's/a/b/' src/n", "rm src/a.txt && sed -i 's/a/b/' src/a.txt", "echo x > src/f && sed -i 's/a/b/' src/f", "echo x >> src/c.txt && sed -i 's/a/b/' src/c.txt", "sed -i 's/a/b/' src/c.txt && rm src/c.txt", "git add -A && sed -i 's/a/b/' src/c.txt", "check it && sed -i 's/a/b/' src/c.txt", "git restore src/b.txt && sed -i 's/a/b/' src/b.txt", "sed -i 's/a/b/' src/c.txt && git restore src/c.txt", "sed -i.bak 's/a/b/' src/c.txt && mv src/a.txt src/c.txt.bak",
	} {
		if w.granted(text) {
			t.Errorf("%s is granted", text)
		}
	}
	// Scripts of all parts: whatever is granted changes that one file.
	parts := []string{"s", "/", "/", "/", "a", "one", "g", "w", "e", "w x", "\\", "\\/", "[", "]", "[^", "1", "2,3", "$", "d", "d", "I", "p", ";", "{", "}", "#", "|", "\\n", "&", "r", " ", "^", "(", "y", "!", "M", "~", "\\c", "\\x2f"}
	pick, granted := rand.New(rand.NewPCG(3, 5)), 0
	for range 60000 {
		script := []string{"s/", "s|", "1s/", "/", "", "s", "/one/s/", "/o\\(/,/[", "/t/,/h/d", "/[[:alpha:]]/s|"}[pick.IntN(10)]
		for n := pick.IntN(9); n >= 0; n-- {
			script += parts[pick.IntN(len(parts))]
		}
		text := "sed -i '" + script + "' src/c.txt"
		if pick.IntN(3) == 0 {
			text = "sed -i -e '" + script + "' -e " + []string{"'s/w x/one/'", "3d", "'/]w x/,$d'", "'s/]/w x/'"}[pick.IntN(4)] + " src/c.txt"
		}
		if granted >= 150 || !w.granted(text) {
			continue
		}
		granted++
		if why, _ := w.shell(shells[0], "bin", text); why != "" && !strings.HasPrefix(why, "sed:") && !strings.Contains(why, "sed: ") {
			t.Errorf("%q prints %q", text, why)
		}
		if names, _ := w.changed(); foreign(ran(w.told())) != "" || slices.ContainsFunc(names, func(n string) bool { return n != "tree/src" && n != "tree/src/c.txt" }) {
			t.Errorf("%q changes %q", text, names)
		}
	}
	if granted < 100 {
		t.Errorf("%d scripts were granted: nothing was proven", granted)
	}
	w.policy.Role = "review"
	if w.granted("sed -i 's/one/two/' src/c.txt") {
		t.Error("a review edits files")
	}
}

// TestMovesNeedGit: what git would start, or does not find, is no reason to move files.
func TestMovesNeedGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	texts := []string{"rm src/a.txt", "mv src/a.txt src/n.txt", "git mv src/a.txt src/n.txt", "mkdir -p src/new && git mv src/a.txt src/new"}
	for _, c := range []struct {
		name string
		make func(w *world)
	}{
		{"nothing", func(w *world) {}},
		{"a hook", func(w *world) { w.write("root/.git/hooks/post-index-change", "#!/bin/sh\npwn\n") }},
		{"fsmonitor", func(w *world) { w.git("tree", "config", "core.fsmonitor", "pwn") }},
		{"a filter", func(w *world) {
			w.git("tree", "config", "filter.f.clean", "pwn")
			w.write("tree/.gitattributes", "*.txt filter=f\n")
		}},
		{"a repository around it", func(w *world) { w.write("tree/src/.git/HEAD", "ref: refs/heads/x\n") }},
		{"another git", func(w *world) { w.runsWith("PATH=" + filepath.Join(w.dir, "tree") + ":" + os.Getenv("PATH")) }},
		{"another repository", func(w *world) { w.runsWith("GIT_DIR=" + filepath.Join(w.dir, "root/.git")) }},
		{"a review", func(w *world) { w.policy.Role = reviewer().Role }},
		{"a supervisor", func(w *world) { w.policy.Leads = true }},
		{"a shared folder", func(w *world) { w.policy.Shared = true }},
		{"a forbidden zone", func(w *world) { w.policy.Zones.Forbidden = []string{"src/"} }},
		{"a careful zone", func(w *world) { w.policy.Zones.Careful = []string{"src/**"} }},
		{"another scope", func(w *world) { w.policy.Scope = []string{"sub/"} }},
		{"a lent name", func(w *world) { w.must(os.Symlink("src", filepath.Join(w.policy.Tree, ".vscode"))) }},
	} {
		policy := w.policy
		c.make(w)
		for _, text := range texts {
			if w.granted(text) != (c.name == "nothing") {
				t.Errorf("%s: %s is granted: %t", c.name, text, c.name != "nothing")
			}
		}
		w.policy = policy
		w.changed()
	}
}

// TestIncludedConfiguration: git's configuration may name a file that is not there yet,
// which the same text must not make and have git read.
func TestIncludedConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("tree", "config", "include.path", "../../tree/src/conf")
	for text, want := range map[string]bool{
		"git status": true, "echo x > src/conf": true, "echo '[core] fsmonitor = pwn' > src/conf && git status": false,
		"mv src/a.txt src/conf && git status": false, "git mv src/a.txt src/conf": true, "git mv src/a.txt src/conf; git log -1": false, "git restore src/b.txt && git status": false,
	} {
		if w.granted(text) != want {
			t.Errorf("%s: granted %t", text, !want)
		}
	}
	w.git("tree", "config", "include.path", filepath.Join(w.dir, "home/more"))
	if !w.granted("echo x > src/conf && git status") {
		t.Error("is not granted with a configuration of the person's")
	}
}
