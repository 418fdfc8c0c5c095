package grant

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/kinds/guard/places"
	"cmux/worktree/gitfile"
)

// reaches reports whether a program's name leads to a person's program: no
// folder of PATH up to it may be one that an agent writes to.
func (g *Giver) reaches(program string) bool {
	if slices.Contains([]string{"echo", "pwd", "true", "command", "type"}, program) {
		return true
	}
	return g.finds(program)
}

// finds is reaches for a program that no shell has built in.
func (g *Giver) finds(program string) bool {
	folders, ok := g.Machine.Program(program)
	return ok && !slices.ContainsFunc(folders, func(f string) bool { return !g.persons(f) })
}

// places reports whether what fills the slots for files lies in the node's own
// place. A revision may be taken for a file.
func (v *voucher) places(f *form, m match) bool {
	for slot, texts := range m {
		for _, t := range texts {
			path, file := t, slot == "FILE" || slot == "FOLDER"
			stale := v.changed || (file || f.effect == shifts) && v.recorded
			switch slot {
			case "REV", "OBJECT":
				if !strings.Contains(t, "/") || strings.Contains(t, ":") {
					continue
				}
			case "FILE":
				stale = stale || len(v.moved) > 0
			case "FOLDER":
				stale = stale || v.overlaps(v.Written(v.dir, path).Rel)
			case "PATH":
				stale = stale && t != "." // it is where the shell stands
			case "BELOW":
				seen := 0
				stale = stale || v.recorded || len(v.moved) > 0 || !v.linkless(filepath.Clean(places.Absolute(v.dir, path)), &seen)
			case "KEPT", "TO":
			default:
				continue
			}
			spots, ok := v.Spots(v.dir, path)
			if slot == "FOLDER" {
				ok = ok && v.straight(path, spots)
			}
			if !ok || stale || file && slices.ContainsFunc(append(spots, v.Written(v.dir, path)), v.apart) {
				return false
			}
		}
	}
	return true
}

// linkless reports whether all that is in a folder lies there, and holds no state. The
// file by which git finds the repository of a worktree says only where that is.
func (g *Giver) linkless(at string, seen *int) bool {
	r, err := g.Resolved(at)
	if s := g.SpotOf(at); err != nil || r != at || s.Whose != places.Own || s.State != "" {
		_, err := g.Machine.Text(at)
		return err == nil && r == at && s.Whose == places.Own && s.Rel == ".git"
	}
	names, err := g.Machine.Names(at)
	*seen += len(names)
	return *seen <= mostEntries && (err != nil || !slices.ContainsFunc(names, func(name string) bool { return !g.linkless(filepath.Join(at, name), seen) }))
}

// straight reports whether a folder that is to be made lies where its name says: no
// link is in it, and nothing that would be made on the way and left behind.
func (s site) straight(folder string, spots []places.Spot) bool {
	at := s.Written(s.dir, folder).Path
	return !slices.Contains(strings.Split(filepath.ToSlash(folder), "/"), "..") && !slices.ContainsFunc(spots, func(s places.Spot) bool { return s.Path != at })
}

// apart reports whether a file is not to be changed without a question.
func (g *Giver) apart(s places.Spot) bool {
	z, _ := g.ZoneAt(s)
	return places.Obeyed(s.Rel) || s.Rel == "." || z == places.Careful || z == places.Forbidden
}

// start is a key of git's configuration. "*" stands for any part, harmless are
// values that do nothing.
type start struct {
	key      string
	harmless []string
	local    bool // only where it is the repository's: a person's own is theirs
	person   bool // likewise, and a person's own where agents write the file that it names
}

// starts are the keys by which one of the granted commands may start a program
// that is not git's own, or work elsewhere.
var starts = []start{
	{key: "core.fsmonitor", harmless: no},
	{key: "core.hookspath"}, {key: "hook.*"},
	{key: "core.worktree"}, {key: "core.bare", harmless: no},
	{key: "core.pager", local: true}, {key: "pager.*", local: true},
	{key: "core.editor", local: true}, {key: "sequence.editor", local: true},
	{key: "core.sshcommand", local: true}, {key: "core.askpass", local: true}, {key: "core.gitproxy", local: true},
	{key: "core.alternaterefscommand"}, {key: "core.attributesfile", person: true}, {key: "core.excludesfile", person: true},
	{key: "diff.external"}, {key: "diff.*.command"}, {key: "diff.*.textconv"}, {key: "diff.submodule", harmless: []string{"short"}},
	{key: "merge.*.driver"}, {key: "merge.verifysignatures", harmless: no}, {key: "branch.*.mergeoptions"}, {key: "pull.twohead"}, {key: "pull.octopus"},
	{key: "status.submodulesummary", harmless: no}, {key: "submodule.recurse", harmless: no},
	{key: "commit.gpgsign", harmless: no}, {key: "log.showsignature", harmless: no},
	{key: "format.pretty"}, {key: "pretty.*"},
	{key: "gc.recentobjectshook"}, {key: "maintenance.prefetch.enabled", harmless: no},
	{key: "extensions.partialclone"}, {key: "remote.*.promisor", harmless: no}, {key: "remote.*.partialclonefilter"},
	{key: "trace2.*", local: true},
}

var no = []string{"false", "no", "off", "0", ""}

// filters are the keys by which git changes what it takes in and gives out.
var filters = []string{"filter.*.clean", "filter.*.smudge", "filter.*.process"}

// variables of git that change where it works or what it starts, or have it
// write elsewhere. What names a configuration shows in the configuration.
var variables = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_NAMESPACE", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_ATTR_SOURCE", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	"GIT_CONFIG", "GIT_TEST_FSMONITOR",
}

// naming are the variables that name a file for git to write to, or one that it
// takes for a person's configuration.
var naming = []string{
	"GIT_TRACE", "GIT_TRACE_BARE", "GIT_TRACE_CURL", "GIT_TRACE_FSMONITOR", "GIT_TRACE_PACK_ACCESS", "GIT_TRACE_PACKET", "GIT_TRACE_PACKFILE",
	"GIT_TRACE_PERFORMANCE", "GIT_TRACE_REFS", "GIT_TRACE_SETUP", "GIT_TRACE_SHALLOW", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME",
}

// quiet keeps a question to git from starting what it asks about.
var quiet = []string{"--literal-pathspecs", "-c", "core.fsmonitor=false"}

func (g *gitFacts) ask(stdin string, args ...string) (string, bool) {
	out, err := g.Machine.Git(stdin, append(quiet[:len(quiet):len(quiet)], args...)...)
	return out, err == nil
}

// gitFacts are what git says of the worktree as it is before the text is run. Each
// is asked for once.
type gitFacts struct {
	*Giver
	asked, ok, filtered       bool // whether it starts nothing else, filters apart; whether there are any
	included                  bool // its configuration may be in a file that agents write
	isPlain, isBare, isSteady *bool
}

// provesGit reports whether git itself says that it starts nothing but itself in
// the node's worktree, where it may bring these files back: no hook, no filter, no
// program of the configuration, no repository in the repository, which has a
// configuration of its own. What commands of the same text change, which the facts
// cannot know of, counts as what would be worst.
func (v *voucher) provesGit(files []string) bool {
	if slices.ContainsFunc(variables, func(name string) bool { return v.Machine.Env(name) != "" }) ||
		slices.ContainsFunc(naming, func(name string) bool {
			to := v.Machine.Env(name)
			return to != "" && to != os.DevNull && !v.persons(to)
		}) {
		return false
	}
	g := &v.git
	if !g.asked {
		g.asked, g.ok = true, v.git.configured() && v.git.hookless() && v.git.unnested()
	}
	files = slices.Concat(files, v.wrote)
	if g.included && (v.changed || len(v.moved) > 0) {
		return false
	}
	if !g.ok || g.filtered && (v.checked || v.broughtBack && !once(&g.isSteady, v.git.steady) || !once(&g.isPlain, v.git.unfiltered) || !v.git.filterless(files)) {
		return false
	}
	return !v.broughtBack || once(&g.isBare, v.git.bare)
}

func once(known **bool, f func() bool) bool {
	if *known == nil {
		is := f()
		*known = &is
	}
	return **known
}

// configured reads the configuration, and reports whether it starts nothing.
func (g *gitFacts) configured() (ok bool) {
	out, err := g.Machine.Git("", "config", "--list", "-z", "--show-scope", "--includes")
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, valued := strings.Cut(fields[i+1], "\n")
		key = strings.ToLower(key)
		for _, s := range starts {
			// A worktree with a git directory of its own is named there.
			here := key == "core.worktree" && value == g.TreeDir
			if named(s.key, key) && !here && (!valued || !slices.Contains(s.harmless, strings.ToLower(value))) &&
				!((s.local || s.person && g.personsFile(value)) && (fields[i] == "global" || fields[i] == "system")) {
				return false
			}
		}
		g.included = g.included || (key == "include.path" || named("includeif.*.path", key)) && !g.personsFile(value)
		g.filtered = g.filtered || value != "" && slices.ContainsFunc(filters, func(f string) bool { return named(f, key) })
	}
	return err == nil
}

// personsFile reports whether a file that git's configuration names is out of the
// reach of agents' file tools.
func (g *gitFacts) personsFile(name string) bool {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(g.Machine.Env("HOME"), rest)
	}
	return g.persons(name)
}

// named reports whether a key is one that a pattern with one "*" names. What
// the "*" stands for may hold dots.
func named(pattern, key string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == key
	}
	return len(key) > len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)
}

// hookless reports whether there are no hooks, and git works where the node does, in
// the project's own repository.
func (g *gitFacts) hookless() bool {
	out, ok := g.ask("", "rev-parse", "--show-toplevel", "--git-path", "hooks", "--absolute-git-dir", "--git-common-dir")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if !ok || len(lines) != 4 {
		return false
	}
	top, hooks, dir, common := lines[0], lines[1], lines[2], lines[3]
	if r, err := g.Resolved(top); err != nil || r != g.TreeDir || !g.linksBack(dir, common) {
		return false
	}
	if !filepath.IsAbs(hooks) {
		hooks = filepath.Join(g.TreeDir, hooks)
	}
	names, err := g.Machine.Names(hooks)
	return err == nil && !slices.ContainsFunc(names, func(n string) bool { return path.Ext(n) != ".sample" })
}

// linksBack reports whether the worktree, which git finds with that folder of its own and
// that common folder, is one of the project's repository, which says so too. What an
// agent puts in the place of .git may show any file by a link, and have git write another
// index.
func (g *gitFacts) linksBack(dir, common string) bool {
	if g.TreeDir == g.RootDir || g.Shared {
		return true // a person's folder
	}
	of, ok := g.ask("", "-C", g.RootDir, "rev-parse", "--git-common-dir")
	of, err := g.Resolved(places.Absolute(g.RootDir, strings.TrimSuffix(of, "\n")))
	dir, err3 := g.Resolved(dir)
	if private := filepath.Dir(dir); filepath.Base(dir) == gitfile.Separate && common == dir && ok {
		dir, common = private, filepath.Dir(filepath.Dir(private)) // one of its own, which leads to this
	}
	common, err2 := g.Resolved(places.Absolute(g.TreeDir, common))
	if !ok || err != nil || err2 != nil || err3 != nil || common != of || filepath.Dir(dir) != filepath.Join(of, "worktrees") {
		return false
	}
	back, err := g.Machine.Text(filepath.Join(dir, "gitdir"))
	back = places.Absolute(dir, strings.TrimSuffix(back, "\n"))
	r, err2 := g.Resolved(filepath.Dir(back))
	return err == nil && err2 == nil && r == g.TreeDir && filepath.Base(back) == ".git"
}

// unnested reports whether no other repository lies in the worktree, tracked or
// about to be. One around a file that git tracks is not listed, and is one as soon
// as that file is gone.
func (g *gitFacts) unnested() bool {
	tracked, ok := g.ask("", "ls-files", "-z", "--stage")
	others, ok2 := g.ask("", "ls-files", "-z", "--others", "--exclude-standard")
	looked := map[string]bool{".": true}
	for entry := range strings.SplitSeq(tracked, "\x00") {
		ok = ok && !strings.HasPrefix(entry, "160000 ")
		_, file, _ := strings.Cut(entry, "\t")
		for dir := path.Dir(file); ok && !looked[dir]; dir = path.Dir(dir) {
			looked[dir] = true
			ok = !g.Machine.Exists(filepath.Join(g.TreeDir, dir, ".git"))
		}
	}
	for entry := range strings.SplitSeq(others, "\x00") {
		ok = ok && !strings.HasSuffix(entry, "/")
	}
	return ok && ok2
}

// bare is unnested of all that lies in the worktree or in HEAD: what is ignored and
// what the index does not hold may be seen when git has brought files or entries back.
func (g *gitFacts) bare() bool {
	all, ok := g.ask("", "ls-files", "-z", "--others")
	for entry := range strings.SplitSeq(all, "\x00") {
		ok = ok && !strings.HasSuffix(entry, "/")
	}
	head, ok2 := g.ask("", "ls-tree", "-r", "-z", "HEAD")
	for entry := range strings.SplitSeq(head, "\x00") {
		ok2 = ok2 && !strings.HasPrefix(entry, "160000 ")
	}
	return ok && ok2
}

// steady reports whether no file that steers git is another one in HEAD than in the
// index, so that none can come back there.
func (g *gitFacts) steady() bool {
	all, ok := g.ask("", "diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD")
	return ok && !slices.ContainsFunc(strings.Split(all, "\x00"), steers)
}

// unfiltered reports whether the attributes choose a filter for no file.
func (g *gitFacts) unfiltered() bool {
	files, ok := g.ask("", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	return ok && g.unattributed(files)
}

// filterless reports whether that holds for files too that git is to bring back,
// which need not be there, and whether none of them says otherwise.
func (g *gitFacts) filterless(files []string) bool {
	return len(files) == 0 ||
		!slices.ContainsFunc(files, func(f string) bool { return strings.EqualFold(path.Base(f), ".gitattributes") }) &&
			g.unattributed(strings.Join(files, "\x00")+"\x00")
}

// unattributed asks for the attributes as they are read when a file is taken in, and
// when one is given out, for which those of the index count first.
func (g *gitFacts) unattributed(files string) bool {
	for _, of := range [][]string{{"check-attr", "-z", "--stdin", "filter"}, {"check-attr", "--cached", "-z", "--stdin", "filter"}} {
		out, ok := g.ask(files, of...)
		fields := strings.Split(out, "\x00")
		for i := 0; ok && i+2 < len(fields); i += 3 {
			ok = fields[i+2] == "unspecified" || fields[i+2] == "unset"
		}
		if !ok {
			return false
		}
	}
	return true
}

// plainFiles reports whether each FILE is one file, in the index, in the commit
// that it is brought back from, and in the worktree, where git would remove what it
// does not keep to make room. A name of a commit may be one of a tree, whose files
// then have other names.
func (v *voucher) plainFiles(m match) bool {
	files := m["FILE"]
	if len(files) == 0 {
		return true
	}
	alone := func(listed, mode string) bool {
		for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
			about, name, _ := strings.Cut(entry, "\t")
			if entry != "" && (!strings.HasPrefix(about, mode) || slices.ContainsFunc(strings.Fields(about), func(f string) bool { return slices.Contains(emptyBlobs, f) }) || !slices.ContainsFunc(files, func(f string) bool { return path.Clean(f) == name })) {
				return false
			}
		}
		return true
	}
	// With -v a letter says more: H is that git looks whether the file is changed.
	listed, ok := v.git.ask("", append([]string{"ls-files", "-v", "-z", "--stage", "--"}, files...)...)
	if ok = ok && alone(listed, "H 100"); !ok {
		return false
	}
	for _, f := range files {
		if !v.git.room(path.Clean(f), strings.Contains(listed, "\t"+path.Clean(f)+"\x00")) {
			return false
		}
	}
	for _, commit := range m["COMMIT"] {
		if kind, ok := v.git.ask("", "cat-file", "-t", commit); !ok || strings.TrimSpace(kind) != "commit" {
			return false
		}
		listed, ok := v.git.ask("", append([]string{"ls-tree", "-z", "--full-tree", commit, "--"}, files...)...)
		if !ok || !alone(listed, "100") {
			return false
		}
	}
	return true
}

// brings looks at what a merge of the commit would write, and puts the files into the
// slot FILE. Nothing is deleted since the two parted, so that no rename has git write
// a file of another name; what is written is a plain file that the agent may write.
func (v *voucher) brings(m match) bool {
	commit := m["TIP"][0]
	if v.changed || v.recorded || len(v.moved) > 0 || v.dir != v.TreeDir {
		return false
	}
	kind, ok := v.git.ask("", "cat-file", "-t", commit)
	bases, ok2 := v.git.ask("", "merge-base", "--all", "HEAD", commit)
	base := strings.TrimSpace(bases)
	if !ok || !ok2 || strings.TrimSpace(kind) != "commit" || !tip().MatchString(base) {
		return false
	}
	if stashes, ok := v.git.ask("", "config", "--type=bool", "--get", "merge.autostash"); ok && strings.TrimSpace(stashes) == "true" {
		return false // what is not committed might not come back
	}
	if _, plain := v.git.differs(base, "HEAD"); !plain {
		return false
	}
	files, plain := v.git.differs(base, commit)
	for _, f := range files {
		if steers(f) || !isPath(f) || !v.File(v.dir, f) {
			return false
		}
	}
	m["FILE"] = files
	return plain
}

// differs returns the files that differ between two commits. plain says that each is a
// file in both that is no link, or is a new one. Of another repository that
// .gitmodules has git ignore, it hears too.
func (g *gitFacts) differs(from, to string) (files []string, plain bool) {
	out, ok := g.ask("", "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", from, to)
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		return nil, ok
	}
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(about) != 5 || about[0] != "000000" && !strings.HasPrefix(about[0], "100") || !strings.HasPrefix(about[1], "100") {
			return nil, false
		}
		files = append(files, fields[i+1])
	}
	return files, ok && len(fields)%2 == 0
}

// emptyBlobs are the objects of an empty file, by SHA-1 and SHA-256: also of one that
// git was told to keep an eye on (add -N) and has not stored.
var emptyBlobs = []string{"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"}

// room reports whether a file may be written without another one going: only itself
// is in its place, if git keeps it, and folders are above it.
func (g *gitFacts) room(file string, tracked bool) bool {
	if path.IsAbs(file) || file == ".." || strings.HasPrefix(file, "../") {
		return false
	}
	dir := filepath.Join(g.TreeDir, filepath.FromSlash(path.Dir(file)))
	if r, err := g.Resolved(dir); err != nil || r != dir {
		return false // a link, which would go
	}
	for above := path.Dir(file); above != "."; above = path.Dir(above) {
		if _, err := g.Machine.Names(filepath.Join(g.TreeDir, above)); err != nil {
			return false // a file
		}
	}
	names, err := g.Machine.Names(filepath.Join(g.TreeDir, file))
	return err != nil && tracked || err == nil && len(names) == 0 // none is there, or an empty folder
}
