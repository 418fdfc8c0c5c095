package guard_test

import (
	"math/rand/v2"
	"strings"
)

// The texts of the hunt: what agents write, what has misled guards, and
// mixtures of both.

// begins are commands as agents begin them.
var begins = strings.Split(`echo $CMUX_SLOT|echo "$CMUX_NODE"|time check it|timeout 60 check it|timeout 9 |command -v|type|find|find sub -name|git checkout --|ls -R|grep -rn one sub|grep -n|grep -rn e|git log --pretty=format:'%h %s'|git log --grep=x|diff -u|touch src/n|grep e|grep -A 3 one|sed -n 1p|sed -n '1,3p;5p'|sort -rn|uniq -c|sed -n|git mv src/a.txt|mv src/a.txt|mv|rm|mkdir -p src/n && git mv src/a.txt|mkdir -p src/n && printf 'a\n' > src/n/f|echo x > src/f|printf '%s' x >|git status|git diff|git log|git show|git rev-parse|git add|git add -A|git commit -q -m|git commit -m|git commit -qam|git restore|git restore --staged|git restore --source=OLD|git restore --source=OLD --staged --worktree --|git rm|git rm --cached|git --no-pager log|mkdir|mkdir -p|cat|head -3|head -n 5|tail -n 2|wc -l|ls|ls -la|pwd|true|echo|cmux done|cmux done --|cmux blocked|check it|git branch --show-current|git merge-base|git ls-files|echo ---|cd TREE|git|git -C|git -c|git mv|git grep|git checkout|git config|git stash|cd|cd src|grep -rn|rg|sort|printf|env|xargs|sh -c|bash -c|command|exec|eval|builtin|noglob|time|!|A=1|pwn|./pwn|touch|.|source|git stash list|for t in a b; do cat $t; done|for t in src sub; do ls "$t"; git log -2 -- $t; done|for f in README; do echo "= $f =" && cmux done $f; done|for t in a; do`, "|")

// options are those of the granted commands, and their dangerous neighbours.
var options = strings.Split(`--stat|--oneline|-5|-n 3|-p|--cached|--name-only|--format=%h|--format='%h %s'|-s|-sb|--porcelain|-uall|-A|-u|-q|-a|-m x|-m 'a b'|-am x|--message=x|--allow-empty|--staged|--worktree|--source=OLD|-s HEAD|--cached|--|-l|-la|--all|--graph|--follow|--pretty=oneline|--unified=3|--abbrev-ref|--short|--output=FILE|--outpu=FILE|--ext-diff|--textconv|-O../outside/secret|-S|-G x|-F ../outside/secret|-F -|--amend|--no-verify|-n|-e|--edit|--exec=pwn|--until now|--format=%h --until -n --output=FILE|-iS|--format=CMD|--format='%G?'|--pretty=evil|--show-signature|--submodule=log|--no-index|-c core.pager=pwn|-p|--paginate|--source=HEAD:sub|--source=TREEID|--pathspec-from-file=../outside/secret|-f|-r|--chmod=+x|--exec-path=.|--git-dir=../root/.git|--work-tree=..|--glob|-e|--pre=pwn|--exclude -e|-ox|--files0-from=../outside/secret|--help|-z|-L1,2:src/a.txt|--word-diff=color|--recurse-submodules|--trailer=x|--template=../outside/secret|--log-size|--color=always|--=x|--x==pwn|-=pwn|--format==pwn|--source==pwn`, "|")

// operands are harmless and hostile ones.
var operands = strings.Split(`src/n|src/n/g|src/b.txt|src/a.txt|src|README|'with blank'|HEAD|main|w|'HEAD~1'|main..w|HEAD~1|HEAD:src/a.txt|OLD|x|'it is'|"it's"|.|sub/c|'a;pwn'|"a|pwn"|'$(pwn)'|'`+"`pwn`"+`'|'a'\''b'|"a
b"|'a
pwn'|`+`link/secret|link|link2|src/link2|inlink/a.txt|gitdir/config|../outside/secret|OUTSIDE/secret|/etc/passwd|../root/README|../root/.git/config|.git|.git/config|.cmux/state|.claude/settings.json|.claude|sub/.claude|TREE/src/a.txt|TREE/../outside/secret|src/../../outside/secret|inlink/../link/secret|HEAD:link|HEAD:../x|HEAD~1|HEAD^|^HEAD|'^HEAD'|OLD:link|TREEID|@{-1}|@{u}|:/x|:(top)src|:!src|'*'|*|s*|?|[a-z]*|{a,b}|~|~root|=pwn|=ls|==|a=~|$HOME|"$HOME"|"$=HOME"|"$(pwn)"|`+"`pwn`|\"`pwn`\""+`|$(pwn)|$'pwn'|$"pwn"|"a!b"|!!|!pwn|#x|x#|<(pwn)|>(pwn)|=(pwn)|(pwn)|{pwn,}|%1|%pwn|+x|@x|-|--|-n|--output=FILE|a\ b|a\|pwn|\$x|"a\"b"|''|'a''b'|a'b'|'a'"b"|'a'b|x'|"|x"y|<secret|< link/secret|<<<x|1>FILE|>FILE|> FILE|>>FILE|&>FILE|>&FILE|>|FILE|2>FILE|2>&1|2>/dev/null|> /dev/null|>/dev/null 2>&1|2>&-|>&2|<&3|{fd}>FILE`, "|")

// joints stand between commands.
var joints = []string{" && ", " && ", " && ", "; ", "\n", " | ", " || ", " |& ", " & ", "&", "\n\n", " &&\n", " ;\n", "\r\n", "\v", " && cd src && ", " && cd .. && ", " && cd ./src && ", "; cd ./link && ", "; cd TREE/src && ", " | cd ./src && ", " || cd ./sub && ", "; cd ./src; ", " && cd TREE && ", "\\n", ";;", "; }", " ) "}

// bits are put anywhere.
var bits = []string{
	"$", "`", "$(pwn)", "`pwn`", ";pwn", ";pwn;", "&", "&&pwn", "|pwn", "&>FILE", ">FILE", ">&FILE", "|&", "=pwn", "^", "~", "{a,b}", "*", "?", "!", "\\", "\n", "\npwn\n", "\t", "\r", "#", "<<EOF", "<<'EOF'\n", "EOF", "\nEOF\n", "\nEOF pwn )\n", "EOF)", "\n\tEOF\n", "\nEOFpwn\n",
	")", "(", "\"", "'", "''", "\"\"", "'\\''", "\\'", "<(pwn)", "(pwn)", " -- ", "\u00a0", "\u200b", "\u2028", "\x00", "\x1b", "\xff", "é", "%", ":", "=", "==", "@", ",", "+", "-", "--", ".", "/", "..", "[", "]", "{", "}", "pwn", " pwn ", " ", "  ", "$=HOME", "${x}", "$((1))", "\"$(cat <<'EOF'\n", "\nEOF\n)\"", "\nEOF\n)", "x) \"; pwn; \"", ") `pwn`", "';pwn;'", "\";pwn;\"", "link/secret", "2", "1", "2>&1", ">/dev/null", "--output=FILE", "-n", " -p ", "git ", "cmux done ", "\\n", "'\n'", "function f", "alias", "coproc ", "if ", "then ", "for t in a b; do ", "; done", "\ndone", " do ", "$t", "\"$t\"", "${t}", "'$t'", " in ", "{ ", "; }", "time ", "! ", "noglob ", "- ", "nocorrect ",
}

// messages are the here-documents of commits.
var messages = []string{
	"x", "Add it\n\nBecause.", "It's \"done\" (really).", "a\n\nb", " EOF", "EOF id > FILE )", "\tEOF\npwn", "x) \"; pwn; \"", "x) `pwn`", "EOFpwn", "a'b\nc\"d", "$(pwn) `pwn` $HOME", "\\", "a \\", "#", "((", "case x in a)", "'", "\"", "`", "${", "$((", "# it's )", "<<'END'\npwn\nEND", "\nEOF\npwn", "EOF\\", "E\\OF", "e\nEOF\n)\"; pwn \"",
}

// ends are those of here-documents.
var ends = []string{"'EOF'", "'EOF'", "'END'", "EOF", "EOF", `"EOF"`, "-EOF", "-'EOF'", "'MSG'", "'E'OF", "'eof'", "PWN", "'A B'", "\\EOF"}

// What moves, removes and writes files, in loops and behind locks: the parts of texts
// that are granted since agents do that, and of their neighbors.
var (
	movers  = strings.Split(`mv|mv|git mv|git mv|rm|rm|rm -f|git --no-pager mv|mv --|rm --|git mv --|rm -f --|mv -n|mv -T|mv -t|mv -b|mv -S .x|mv --backup|mv -f|git mv -f|git mv -k|git -C src mv|rm -r|rm -i|mv -Z|mv -u|\mv|command mv|git rm|git restore|git add|git restore --staged`, "|")
	kept    = strings.Split(`src/a.txt|src/a.txt|src/c.txt|src/c.txt|src/deep/e.txt|src/n|src/n|src/deep|src/deep/|src/new|src/new/x|src/new/a.txt|src/n/|./src/a.txt|TREE/src/a.txt|TREE/src/n|src/b.txt|src/loose|src/ign|src/link2|src/dlink|src/dlink/e.txt|inlink/a.txt|src/../src/a.txt|src/deep/../n|src//a.txt|src/./a.txt|src/a.txt/|SRC/a.txt|'src/with blank'|"src/a.txt"|'src/a.txt'|src/é|src/-n|'src/-n'|src/.x|src/.gitattributes|src/.git|src/HEAD|src/config|.|src|..|../tree/src/a.txt|sub/c|n|src/staged|src/index|src/only|src/noted|src/eyed|src/nested/x|src/nested/y|src/mixed|src/exec.sh|src/new/exec.sh|OUTSIDE/n|/dev/null|/proc/self/cwd/src/a.txt|--|-f|-t|src/a*|src/{a,c}.txt|:/src/a.txt|$t|src/$t|"src/$t"|src/a.txt\ |--target-directory=src|src/lfs.bin`, "|")
	writers = strings.Split(`echo x|echo 'a b'|echo|echo "$t"|printf 'a\n'|printf '%s\n' a 'b c'|printf 'a%%\t'|printf "x"|printf '%d' 1|printf '%b' x|printf -v x a|printf -- a|echo -e 'a'|echo -n|cat src/a.txt|cat|:|true|git diff|ls|cmux done x|check it|printf '\x41'|printf '%s' '%n'|echo '\c'`, "|")
	intos   = strings.Split(` > | > | >> |>|>>| >| 1> | 2> | >| | &> | >& | <> | > /dev/null > | {x}> | >! |>>| > -`, "|")
	makes   = strings.Split(`mkdir -p src/new|mkdir src/new|mkdir -p src/new/sub|mkdir -p inlink/new|mkdir -p src/new/../x|mkdir -p src/.x|mkdir -p .cmux/../src/new|mkdir -p SRC/new|mkdir -p src/loose|mkdir -p src/new/|mkdir -p src/new src/deep/f|mkdir -p src/nested/.git|mkdir -p src/refs src/objects|mkdir -p dlink/../src/new`, "|")
	reading = strings.Split(`cat src/$t|ls $t/deep|cat $t/a.txt|cat "$t/a.txt"|grep -rn e $t|cat ${t}/../a.txt|grep -n e src/$t|sed -n 1p src/$t|sed -n ${t}p src/a.txt|sort -$t|cat "src/$t"|cat $t|cat ${t}|echo "= $t ="|echo "--- $t"|ls $t|head -3 $t|head -$t src/a.txt|git show HEAD:$t|git log -1 -- $t|git log $t -1|git diff $t|wc -l src/$t|cat src/$t.txt|cat src/\$t|cat 'src/$t'|cat src/$t$t|cat "$t"x|cat $t[1]|cat ${t:-x}|$t x|cmux tasks show $t|cmux mailbox read "$t"|echo $t > src/$t|rm src/$t|cat $(pwn)|for u in a; do ls; done|break|continue|cd $t|t=x|ls > /dev/$t|ls 2>&$t|ls | head -$t|ls || cat $t|read t|exit|set -- a|git stash list|unset t`, "|")
	overs   = strings.Split(`a.txt|./src src|TREE/src src/deep|/etc /|../tree|. ..|src/a.txt src/c.txt|../x|src/../../root/README|a|a.txt c.txt|src README|b.txt|1 2|null|HEAD|secret|link/secret|a in b|do|done|a  b|EOF|-n|*|$x|"a b"|{a,b}|w main|pwn|deep`, "|")
	names   = strings.Split(`t|t|t|i|f|x|id|name|PATH|path|IFS|status|HOME|_|t1|in|do`, "|")
	orders  = strings.Split(`cmux locks with db --|cmux locks with --note x db --|cmux locks with db --note --|cmux locks with --note --|cmux locks take db|cmux tasks list|cmux tasks show t1|cmux tasks add x --scope src|cmux mailbox send user a b|cmux mailbox send --re -- user a --attach|cmux journal add a b --tag|cmux output A=1|cmux status --json|cmux --help|cmux help|cmux tasks --help|cmux workers logs api -n 3|cmux frob`, "|")
)

// moved is a text of what moves, removes and writes files.
func (m *maker) moved() string {
	switch m.IntN(8) {
	case 0, 1, 2:
		c := pick(m, movers[:12])
		if m.IntN(6) == 0 {
			c = pick(m, movers)
		}
		for n := m.IntN(3) + 1; n > 0; n-- {
			if m.IntN(3) > 0 {
				c += " " + pick(m, kept[:17])
			} else {
				c += " " + pick(m, kept)
			}
		}
		return c
	case 3:
		end := pick(m, ends)
		doc := "<<" + end + "\n" + pick(m, messages) + "\n" + strings.Trim(end, `-'"`)
		if m.IntN(3) == 0 {
			return pick(m, []string{"git commit -F - ", "git commit -q -F - ", "git commit -a -F - ", "git commit -F - -q ", "git commit -F -", "git commit -m ", "cat ", "pwn "}) + doc
		}
		return pick(m, []string{"cat", "cat", "cat", "cat src/a.txt", "pwn"}) + intos[m.IntN(5)] + pick(m, kept[:24]) + " " + doc
	case 4:
		into := intos[m.IntN(5)]
		if m.IntN(6) == 0 {
			into = pick(m, intos)
		}
		return pick(m, writers) + into + pick(m, kept)
	case 5:
		return pick(m, makes)
	case 6:
		t := pick(m, names)
		body := strings.ReplaceAll(pick(m, reading), "$t", "$"+t)
		for m.IntN(3) == 0 {
			body += pick(m, joints[:7]) + strings.ReplaceAll(pick(m, reading), "$t", "$"+t)
		}
		tail := pick(m, []string{"", "", "", " 2>&1", " | head -3", " > src/n", " &", " 2>/dev/null", " ls"})
		return "for " + t + " in " + pick(m, overs) + pick(m, []string{"; do ", "\ndo ", " ; do\n", ";do "}) + body + pick(m, []string{"; done", "\ndone", " ;done", " done"}) + tail
	default:
		c := pick(m, orders)
		if strings.HasSuffix(c, "--") {
			c += " " + m.moved()
		}
		return c
	}
}

type maker struct {
	*rand.Rand
	place map[string]string
	moves bool // texts of what moves, removes and writes files
}

func pick[T any](m *maker, of []T) T { return of[m.IntN(len(of))] }

func (m *maker) command() string {
	c := pick(m, begins)
	if m.IntN(8) > 0 {
		c = pick(m, begins[:70]) // what agents are about to do
	}
	if strings.HasSuffix(c, "-m") || strings.HasSuffix(c, "am") {
		if m.IntN(3) == 0 {
			end := pick(m, ends)
			return c + " \"$(cat <<" + end + "\n" + pick(m, messages) + "\n" + strings.Trim(end, `-'"`) + "\n)\""
		}
		c += " " + pick(m, operands)
	}
	for m.IntN(2) == 0 {
		c += " " + pick(m, options[:34])
	}
	if m.IntN(12) == 0 {
		c += " " + pick(m, options)
	}
	for m.IntN(3) > 0 {
		if m.IntN(4) > 0 {
			c += " " + pick(m, operands[:27])
		} else {
			c += " " + pick(m, operands)
		}
	}
	return c
}

// text is one text of the hunt; from is one that was granted before.
func (m *maker) text(from []string) string {
	var t string
	switch n := m.IntN(4); {
	case len(from) > 0 && n == 0:
		t = pick(m, from)
	case len(from) > 0 && n == 1:
		t = pick(m, from) + pick(m, joints) + pick(m, from)
	default:
		make := m.command
		if m.moves {
			make = m.moved
		}
		t = make()
		for m.IntN(3) == 0 {
			j := joints[0]
			if m.IntN(2) == 0 {
				j = pick(m, joints)
			}
			t += j + make()
		}
	}
	for m.IntN(2) == 0 {
		at := m.IntN(len(t) + 1)
		switch m.IntN(8) {
		case 0, 1, 2, 6, 7:
			t = t[:at] + pick(m, bits) + t[at:]
		case 3:
			end := min(len(t), at+1+m.IntN(3))
			t = t[:at] + t[end:]
		case 4:
			end := min(len(t), at+m.IntN(20))
			t = t[:end] + t[at:]
		case 5:
			if len(from) > 0 {
				o := pick(m, from)
				t = t[:at] + o[m.IntN(len(o)+1):]
			}
		}
	}
	for name, at := range m.place {
		t = strings.ReplaceAll(t, name, at)
	}
	return t
}
