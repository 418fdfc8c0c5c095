package examples

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmux/agents/testkit/agenttest/testall"
)

// How the shell in README.md and docs/*.md is tested
//
// Every page has a scratch project of its own, in which its blocks are run
// from top to bottom; `cd` holds from one to the next.
//
//	```sh        is run as a script, and must end with 0
//	```console   each line behind "$ " is run (a backslash at its end takes the
//	             next line in) and must end with 0; the lines below it are what
//	             it prints, stdout and stderr. A line "..." stands for any
//	             lines, "..." in a line for any text. Run ids, times, commits
//	             and the number of spaces may differ.
//	make TARGET  in either is not run: the target must exist
//
// Comments before a block:
//
//	<!-- file: PATH -->  the block is written to PATH when its turn comes; the
//	                     first such version is there from the beginning
//	<!-- run: COMMAND -->  is run and not shown; $REPO is this repository
//	<!-- wait: REGEXP -->  waits until a line of cmux agents status matches
//	<!-- norun: WHY -->  the block is not run

var (
	pageComment = regexp.MustCompile(`^<!-- (file|run|wait|norun): (.+) -->$`)
	makeLine    = regexp.MustCompile(`^make( [a-z-]+)?( *#.*)?$`)
)

// part is a block or a comment of a page.
type part struct {
	line int
	kind string // sh, console, file, run, wait
	path string // of a file
	text []string
}

// parts takes a page apart. Blocks of other languages are left out.
func parts(page string) ([]part, error) {
	var (
		all           []part
		pending, with string // the comment before the next block
		in            *part
		lang          string
	)
	for i, line := range strings.Split(page, "\n") {
		at := i + 1
		switch {
		case in != nil && line == "```":
			switch {
			case pending == "file":
				in.kind, in.path = "file", with
				all = append(all, *in)
			case pending == "norun":
			case lang == "sh", lang == "console":
				in.kind = lang
				all = append(all, *in)
			case lang == "bash", lang == "shell", slices.ContainsFunc(in.text, func(s string) bool {
				return lang == "" && strings.HasPrefix(s, "$ ")
			}):
				return nil, fmt.Errorf("line %d: shell in a block of language %q is not run: call it sh or console", in.line, lang)
			}
			in, pending = nil, ""
		case in != nil:
			in.text = append(in.text, line)
		case strings.HasPrefix(line, "```"):
			in, lang = &part{line: at}, strings.TrimPrefix(line, "```")
		default:
			m := pageComment.FindStringSubmatch(line)
			switch {
			case m == nil:
			case m[1] == "run", m[1] == "wait":
				all = append(all, part{line: at, kind: m[1], text: []string{m[2]}})
			default:
				pending, with = m[1], m[2]
			}
		}
	}
	if in != nil {
		return nil, fmt.Errorf("line %d: the block has no end", in.line)
	}
	return all, nil
}

// TestPages runs every block of shell of README.md and docs/.
func TestPages(t *testing.T) {
	testall.Only(t)
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("pages: %q, %v", paths, err)
	}
	for _, path := range append(paths, "../README.md") {
		name := filepath.Base(path)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := parts(string(src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "commands.md" {
			t.Run(name, func(t *testing.T) { testCommands(t, all) })
		} else if len(all) > 0 {
			t.Run(name, func(t *testing.T) { testPage(t, name, all) })
		}
	}
}

// testPage runs the parts of a page in order. What follows a failure is not
// run: it would fail for its reason.
func testPage(t *testing.T, name string, all []part) {
	t.Parallel()
	p := newProject(t, "shop")
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "REPO="+repo)
	s := &session{t: t, p: p, dir: p.dir}
	written := map[string]bool{}
	for _, part := range all {
		if part.kind == "file" && !written[part.path] {
			written[part.path] = true
			s.write(part)
		}
	}
	for _, part := range all {
		s.where = fmt.Sprintf("%s:%d", name, part.line)
		switch part.kind {
		case "file":
			s.write(part)
		case "run", "sh":
			var script []string
			for _, line := range part.text {
				if !s.isMake(line) {
					script = append(script, line)
				}
			}
			s.run("set -e\n" + strings.Join(script, "\n"))
		case "console":
			s.console(part.text)
		case "wait":
			s.wait(part.text[0])
		}
	}
}

// session is a person at a terminal who types what a page says.
type session struct {
	t     *testing.T
	p     *project
	dir   string
	where string
}

func (s *session) write(part part) {
	s.t.Helper()
	path := filepath.Join(s.dir, part.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(part.text, "\n")+"\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// isMake reports whether a line only calls make, whose target it then checks.
func (s *session) isMake(line string) bool {
	s.t.Helper()
	m := makeLine.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	if out, err := s.p.run(s.t, "..", "make -n"+m[1]); err != nil {
		s.t.Errorf("%s: %s: %v\n%s", s.where, line, err, out)
	}
	return true
}

// run runs a script and returns what it wrote.
func (s *session) run(script string) string {
	s.t.Helper()
	state := filepath.Join(filepath.Dir(s.p.dir), "pwd")
	out, err := s.p.run(s.t, s.dir, "trap 'pwd > \""+state+"\"' EXIT\n"+script)
	if err != nil {
		s.t.Fatalf("%s: %s: %v\n%s", s.where, script, err, out)
	}
	dir, err := os.ReadFile(state)
	if err != nil {
		s.t.Fatal(err)
	}
	s.dir = strings.TrimSpace(string(dir))
	return out
}

// wait waits until a line of the status matches.
func (s *session) wait(pattern string) {
	s.t.Helper()
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		s.t.Fatalf("%s: %v", s.where, err)
	}
	var out string
	eventually(s.t, s.where+": "+pattern, func() bool {
		out = s.run("cmux agents status")
		return re.MatchString(out)
	})
	if s.t.Failed() {
		s.t.Fatalf("last seen:\n%s", out)
	}
}

func (s *session) console(lines []string) {
	s.t.Helper()
	for len(lines) > 0 {
		command, ok := strings.CutPrefix(lines[0], "$ ")
		if !ok {
			s.t.Fatalf("%s: a console block begins with \"$ \", not with %q", s.where, lines[0])
		}
		lines = lines[1:]
		for strings.HasSuffix(command, "\\") && len(lines) > 0 {
			command, lines = command+"\n"+lines[0], lines[1:]
		}
		end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "$ ") })
		if end < 0 {
			end = len(lines)
		}
		want := lines[:end]
		lines = lines[end:]
		if s.isMake(command) {
			continue
		}
		got := s.run(command)
		if len(want) > 0 && !matches(want, strings.Split(strings.TrimRight(got, "\n"), "\n")) {
			s.t.Fatalf("%s: $ %s\nprints\n%s\nand the page says\n%s", s.where, command, got, strings.Join(want, "\n"))
		}
	}
}

// What differs from run to run, and what stands for it.
var loose = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{8}-\d{6}\.\d{3}-[0-9a-f]{6}`), "RUN"},
	{regexp.MustCompile(`\d{8}T\d{6}\.\d{3}Z`), "STAMP"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`), "TIME"},
	{regexp.MustCompile(`\b(\d+[hm])?\d+s\b`), "SPAN"},
	{regexp.MustCompile(`\b[0-9a-f]{7,40}\b`), "COMMIT"},
	{regexp.MustCompile(`/[^ ]*/shop\b`), "/shop"},
	{regexp.MustCompile(`\s+`), " "},
}

func plain(line string) string {
	for _, l := range loose {
		line = l.pattern.ReplaceAllString(line, l.with)
	}
	return strings.TrimSpace(line)
}

// matches compares what a page says with what was printed.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == "..." {
		for skip := range len(got) + 1 {
			if matches(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && matchesLine(plain(want[0]), plain(got[0])) && matches(want[1:], got[1:])
}

func matchesLine(want, got string) bool {
	pieces := strings.Split(want, "...")
	for i, piece := range pieces {
		pieces[i] = regexp.QuoteMeta(piece)
	}
	return regexp.MustCompile("^" + strings.Join(pieces, ".*") + "$").MatchString(got)
}

var (
	pageLink   = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	sourceFile = regexp.MustCompile("`((?:[a-z]+/)+[a-z_]+\\.[a-z]+)`")
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInLink  = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// TestLinks follows every link between the pages, and looks for every source
// file that the architecture names.
func TestLinks(t *testing.T) {
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, "../README.md") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageLink.FindAllStringSubmatch(string(src), -1) {
			target := path
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(path), m[1])
			}
			info, err := os.Stat(target)
			if err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
				continue
			}
			if m[2] == "" || info.IsDir() {
				continue
			}
			page, err := os.ReadFile(target)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(heading.FindAllStringSubmatch(string(page), -1), func(h []string) bool {
				return strings.ReplaceAll(notInLink.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == m[2]
			}) {
				t.Errorf("%s links to %s, which has no heading #%s", path, target, m[2])
			}
		}
		if filepath.Base(path) != "architecture.md" {
			continue
		}
		for _, m := range sourceFile.FindAllStringSubmatch(string(src), -1) {
			// What is made at run time is named as well.
			if strings.HasPrefix(m[1], "runs/") || strings.HasPrefix(m[1], "signals/NAME") {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", path, m[1], err)
			}
		}
	}
}

// TestEnvironmentIsListed holds the page's table to the variables that a node
// is given.
func TestEnvironmentIsListed(t *testing.T) {
	given, err := os.ReadFile("../agents/runs/attempt/env.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/life-of-a-node.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"(CMUX_[A-Z_]*[A-Z])"`).FindAllStringSubmatch(string(given), -1)
	if len(names) < 10 {
		t.Fatalf("only %d variables were found", len(names))
	}
	for _, m := range names {
		if !strings.Contains(string(page), "`"+m[1]+"`") {
			t.Errorf("%s is given to nodes and not on the page", m[1])
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a\nb", false},
		{"a\n...", "a\nb\nc", true},
		{"a\n...\nc", "a\nc", true},
		{"a\n...\nd", "a\nb\nc", false},
		{"a ... d", "a b c d", true},
		{"a  b", "a b ", true},
		{"done  3s ago", "done   1m07s ago", true},
		{"run 20261121-021932.788-89c122: done", "run 20270101-000000.000-abcdef: done", true},
		{"run 20261121-021932.788-89c122: done", "run 20270101-000000.000-abcdef: failed", false},
		{"(a.b)", "(axb)", false},
	} {
		if ok := matches(strings.Split(c.want, "\n"), strings.Split(c.got, "\n")); ok != c.ok {
			t.Errorf("%q against %q: %v", c.want, c.got, ok)
		}
	}
}

func TestParts(t *testing.T) {
	all, err := parts("text\n```sh\na\n```\n<!-- norun: why -->\n```sh\nb\n```\n<!-- run: c d -->\n<!-- file: x/y -->\n```yaml\ne\n```\n```yaml\nf\n```\n")
	if want := "[{2 sh  [a]} {9 run  [c d]} {11 file x/y [e]}]"; err != nil || fmt.Sprint(all) != want {
		t.Errorf("parts: %v, %v; want %v", all, err, want)
	}
	for _, page := range []string{"```bash\na\n```\n", "```\n$ a\n```\n", "```sh\na\n"} {
		if all, err := parts(page); err == nil {
			t.Errorf("%q: %v and no error", page, all)
		}
	}
}

var (
	anyRun      = regexp.MustCompile(`\d{8}-\d{6}\.\d{3}-[0-9a-f]{6}`)
	completions = regexp.MustCompile(`^(cmux completion \w+) > .*`)
	lasting     = regexp.MustCompile(`(?m)^cmux (agents )?open --lan.*$`) // until Ctrl+C
)

// testCommands runs the examples of the generated reference. Each stands for
// itself there, so what it says of this project's run may be that there is
// nothing to do; that it is called wrongly (2) may not.
func testCommands(t *testing.T, all []part) {
	t.Parallel()
	p := newProject(t, "shop")
	p.mustRun(t, `cmux agents init --kind command --agent 'api:task=true' --agent 'web:task=true' --agent 'look:role=review:after=api,web:task=true' \
		--agent 'release:role=gate:after=look' && touch .cmux/signals/release.done && cmux agents start --headless --yes`)
	for _, part := range all {
		// The run that an example names is another one here, and where a shell keeps
		// its completions is not.
		script := anyRun.ReplaceAllString(strings.Join(part.text, "\n"), "$$(ls .cmux/runs | tail -n 1)")
		script = completions.ReplaceAllString(script, "$1")
		script = lasting.ReplaceAllString(script, "timeout -k 20 -s INT 5 $0; code=$$?; test $$code = 124 || exit $$code")
		out, err := p.run(t, p.dir, script)
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == 2 && !strings.Contains(out, "there is no terminal to ask on") && !strings.Contains(out, "needs a terminal")) {
			t.Errorf("commands.md:%d: %s: %v\n%s", part.line, script, err, out)
		}
	}
}
