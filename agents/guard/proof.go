package guard

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Machine is what is asked of the machine about the commands of an agent, with
// the agent's own environment, each time anew: what it says of one call need
// not hold at the next.
type Machine interface {
	// Env is a variable of the agent's environment.
	Env(name string) string
	// Program is where PATH finds a program, after the folders that it looks
	// through before; the last one is the program's.
	Program(name string) (folders []string, ok bool)
	// Git runs git in the node's worktree.
	Git(stdin string, args ...string) (stdout string, err error)
	// Names are the entries of a folder; none when there is no folder.
	Names(folder string) ([]string, error)
}

// reaches reports whether a program's name leads to a person's program: no
// folder of PATH up to it may be one that an agent writes to.
func (v *voucher) reaches(program string) bool {
	if program == "echo" || program == "pwd" || program == "true" {
		return true
	}
	folders, ok := v.Machine.Program(program)
	return ok && !slices.ContainsFunc(folders, func(f string) bool { return !v.persons(f) })
}

// places reports whether what fills the slots for files lies in the node's own
// place. A revision may be taken for a file.
func (v *voucher) places(m match) bool {
	for slot, texts := range m {
		for _, t := range texts {
			path, file := t, slot == "FILE"
			switch slot {
			case "REV", "OBJECT":
				if !strings.Contains(t, "/") || strings.Contains(t, ":") {
					continue
				}
			case "PATH", "FILE":
			default:
				continue
			}
			spots, ok := v.spots(v.dir, path)
			if !ok || v.changed || file && slices.ContainsFunc(spots, func(s spot) bool { return obeyed(s.rel) || s.rel == "." }) {
				return false
			}
		}
	}
	return true
}

// start is a key of git's configuration. "*" stands for any part, harmless are
// values that do nothing.
type start struct {
	key      string
	harmless []string
	local    bool // only where it is the repository's: a person's own is theirs
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
	{key: "core.alternaterefscommand"}, {key: "core.attributesfile", local: true},
	{key: "diff.external"}, {key: "diff.*.command"}, {key: "diff.*.textconv"}, {key: "diff.submodule", harmless: []string{"short"}},
	{key: "merge.*.driver"},
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

// traces are the variables that name a file for git to write to.
var traces = []string{"GIT_TRACE", "GIT_TRACE_SETUP", "GIT_TRACE_PACKET", "GIT_TRACE_PERFORMANCE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"}

// quiet keeps a question to git from starting what it asks about.
var quiet = []string{"--literal-pathspecs", "-c", "core.fsmonitor=false"}

func (v *voucher) ask(stdin string, args ...string) (string, bool) {
	out, err := v.Machine.Git(stdin, append(quiet[:len(quiet):len(quiet)], args...)...)
	return out, err == nil
}

// provesGit reports whether git itself says that it starts nothing but itself in
// the node's worktree: no hook, no filter, no program of the configuration, no
// repository in the repository, which has a configuration of its own.
func (v *voucher) provesGit() bool {
	if v.proven {
		return true
	}
	if slices.ContainsFunc(variables, func(name string) bool { return v.Machine.Env(name) != "" }) ||
		slices.ContainsFunc(traces, func(name string) bool { to := v.Machine.Env(name); return to != "" && !v.persons(to) }) {
		return false
	}
	filtered, ok := v.configured()
	v.proven = ok && v.hookless() && v.unnested() && (!filtered || !v.changed && v.unfiltered())
	return v.proven
}

// configured reads the configuration; filtered says that it names filters.
func (v *voucher) configured() (filtered, ok bool) {
	out, err := v.Machine.Git("", "config", "--list", "-z", "--show-scope", "--includes")
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, valued := strings.Cut(fields[i+1], "\n")
		key = strings.ToLower(key)
		for _, s := range starts {
			if named(s.key, key) && (!valued || !slices.Contains(s.harmless, strings.ToLower(value))) &&
				!(s.local && (fields[i] == "global" || fields[i] == "system")) {
				return false, false
			}
		}
		filtered = filtered || value != "" && slices.ContainsFunc(filters, func(f string) bool { return named(f, key) })
	}
	return filtered, err == nil
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

// hookless reports whether there are no hooks, and git works where the node
// does.
func (v *voucher) hookless() bool {
	out, ok := v.ask("", "rev-parse", "--show-toplevel", "--git-path", "hooks")
	top, hooks, two := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	if r, err := v.resolve(top); !ok || !two || err != nil || r != v.tree {
		return false
	}
	if !filepath.IsAbs(hooks) {
		hooks = filepath.Join(v.tree, hooks)
	}
	names, err := v.Machine.Names(hooks)
	return err == nil && !slices.ContainsFunc(names, func(n string) bool { return path.Ext(n) != ".sample" })
}

// unnested reports whether no other repository lies in the worktree, tracked or
// about to be.
func (v *voucher) unnested() bool {
	tracked, ok := v.ask("", "ls-files", "-z", "--stage")
	others, ok2 := v.ask("", "ls-files", "-z", "--others", "--exclude-standard")
	for entry := range strings.SplitSeq(tracked, "\x00") {
		ok = ok && !strings.HasPrefix(entry, "160000 ")
	}
	for entry := range strings.SplitSeq(others, "\x00") {
		ok = ok && !strings.HasSuffix(entry, "/")
	}
	return ok && ok2
}

// unfiltered reports whether the attributes choose a filter for no file.
func (v *voucher) unfiltered() bool {
	files, ok := v.ask("", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if !ok {
		return false
	}
	out, ok := v.ask(files, "check-attr", "-z", "--stdin", "filter")
	fields := strings.Split(out, "\x00")
	for i := 0; ok && i+2 < len(fields); i += 3 {
		ok = fields[i+2] == "unspecified" || fields[i+2] == "unset"
	}
	return ok
}

// plainFiles reports whether each FILE is one file, in the index and in the
// commit that it is brought back from. A name of a commit may be one of a tree,
// whose files then have other names.
func (v *voucher) plainFiles(m match) bool {
	files := m["FILE"]
	if len(files) == 0 {
		return true
	}
	alone := func(listed string) bool {
		for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
			about, name, _ := strings.Cut(entry, "\t")
			if entry != "" && (!strings.HasPrefix(about, "100") || !slices.ContainsFunc(files, func(f string) bool { return path.Clean(f) == name })) {
				return false
			}
		}
		return true
	}
	listed, ok := v.ask("", append([]string{"ls-files", "-z", "--stage", "--"}, files...)...)
	if ok = ok && alone(listed); !ok {
		return false
	}
	for _, commit := range m["COMMIT"] {
		if kind, ok := v.ask("", "cat-file", "-t", commit); !ok || strings.TrimSpace(kind) != "commit" {
			return false
		}
		listed, ok := v.ask("", append([]string{"ls-tree", "-z", "--full-tree", commit, "--"}, files...)...)
		if !ok || !alone(listed) {
			return false
		}
	}
	return true
}
