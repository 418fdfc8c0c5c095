package workspace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/common"
)

// TraceVar makes git write each of its commands to a trace, which shows the node's own
// changes to what is shared. It does not prove that others made a change: a program may
// unset it.
const TraceVar = "GIT_TRACE2_EVENT"

// traced is one git command of the attempt's programs.
type traced struct {
	name string    // of the subcommand, aliases resolved
	argv []string  // as called
	tree string    // the worktree it worked in; empty: unknown
	over time.Time // when it ended; zero: unknown
}

const (
	maxTrace     = 64 << 20 // bytes of a trace that are read
	maxTraceLine = 1 << 20
	maxTaken     = 4 << 20 // bytes that are kept of a trace
)

// traceEvent is what matters of a line of a trace.
type traceEvent struct {
	Event    string    `json:"event"`
	SID      string    `json:"sid"`
	Time     time.Time `json:"time,omitzero"`
	Argv     []string  `json:"argv,omitempty"`
	Name     string    `json:"name,omitempty"`
	Worktree string    `json:"worktree,omitempty"`
}

// readTrace reads a trace of git. It skips other lines: the agent can write to the file.
func readTrace(name string) []traced {
	f, err := signals.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	var (
		all   []traced
		bySID = make(map[string]int)
		read  int
	)
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxTraceLine)
	for lines.Scan() && read < maxTrace {
		read += len(lines.Bytes())
		var e traceEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		i, known := bySID[e.SID]
		switch {
		case e.Event == "start":
			bySID[e.SID] = len(all)
			all = append(all, traced{argv: e.Argv})
		case !known:
		case e.Event == "cmd_name" && !strings.HasPrefix(e.Name, "_"):
			all[i].name = e.Name
		case e.Event == "def_repo":
			all[i].tree = e.Worktree
		case e.Event == "exit" || e.Event == "signal":
			all[i].over = e.Time
		}
	}
	return all
}

// taken returns the commands that can change what all worktrees share, in the format of
// readTrace. All have ended. If there are too many, the first ones are left out.
func taken(all []traced, now time.Time) []byte {
	var b bytes.Buffer
	write := json.NewEncoder(&b)
	for i, t := range all {
		if !t.reaches() {
			continue
		}
		if t.over.IsZero() {
			t.over = now
		}
		sid := strconv.Itoa(i)
		for _, e := range []traceEvent{
			{Event: "start", SID: sid, Argv: t.argv},
			{Event: "cmd_name", SID: sid, Name: t.name},
			{Event: "def_repo", SID: sid, Worktree: t.tree},
			{Event: "exit", SID: sid, Time: t.over},
		} {
			_ = write.Encode(e) // neither the buffer nor these types fail
		}
	}
	if b.Len() > maxTaken {
		b.Next(b.Len() - maxTaken)
	}
	return b.Bytes()
}

// writers are the subcommands that change refs, by the ref's prefix.
var writers = []struct {
	prefix string
	by     []string
}{
	{"refs/tags/", []string{"tag", "update-ref", "fetch", "pull", "push", "fast-import"}},
	{"refs/replace/", []string{"replace", "update-ref", "fast-import", "fetch"}},
	{"refs/notes/", []string{"notes", "update-ref", "fast-import", "fetch"}},
	{"refs/stash", []string{"stash", "update-ref", "reflog", "pull", "rebase", "merge", "fast-import"}},
	{"refs/remotes/", []string{"fetch", "pull", "push", "remote", "update-ref", "branch", "fast-import"}},
	{"refs/heads/", []string{"branch", "update-ref", "symbolic-ref", "checkout", "switch", "push", "fetch", "pull", "worktree", "fast-import", "receive-pack"}},
	{"refs/", []string{"update-ref", "symbolic-ref", "push", "fetch", "fast-import", "receive-pack", "pack-refs", "for-each-ref"}},
}

// moves are the subcommands that move the current branch.
var moves = []string{"commit", "merge", "rebase", "reset", "cherry-pick", "revert", "am", "pull"}

// setters are the subcommands that change settings.
var setters = []string{"config", "remote", "submodule", "branch", "push", "checkout", "switch", "sparse-checkout", "worktree", "maintenance", "init", "lfs"}

// reaches reports whether the command can be the cause of a change (see did).
func (t traced) reaches() bool {
	if !t.writes() {
		return false
	}
	for _, w := range writers {
		if slices.Contains(w.by, t.name) {
			return true
		}
	}
	return slices.Contains(setters, t.name) || slices.Contains(moves, t.name) || t.name == "bisect"
}

// did reports whether the command makes such a change: by its name and arguments, or
// because it worked in another worktree of the repository than the node's. other: somebody
// else works on the branch; then the command must name it.
func (t traced) did(c common.Change, own, root string, other bool) bool {
	if !t.writes() {
		return false
	}
	says := func(word string) bool {
		return word != "" && slices.ContainsFunc(t.argv, func(a string) bool { return strings.Contains(strings.ToLower(a), strings.ToLower(word)) })
	}
	elsewhere := t.tree != "" && t.tree != own && t.tree == root
	switch c.Kind {
	case common.ChangedSetting:
		switch t.name {
		case "config":
			key := c.Name
			if i := strings.LastIndexByte(key, '.'); i >= 0 && strings.Count(key, ".") > 1 {
				key = key[i+1:] // --rename-section and similar name only a part
			}
			return says(key) || says(c.Name) || says("-section") || says("--edit") || slices.Contains(t.argv, "edit") || slices.Contains(t.argv, "-e")
		case "remote":
			return strings.HasPrefix(c.Name, "remote.") || strings.HasPrefix(c.Name, "branch.")
		case "submodule":
			return strings.HasPrefix(c.Name, "submodule.")
		case "branch", "push", "checkout", "switch":
			return strings.HasPrefix(c.Name, "branch.")
		case "sparse-checkout", "worktree", "maintenance", "init", "lfs":
			return strings.HasPrefix(c.Name, "core.") || strings.HasPrefix(c.Name, "extensions.") || strings.HasPrefix(c.Name, t.name+".")
		}
		return false
	case common.ChangedFile:
		return c.Name == "HEAD" && elsewhere && slices.Contains([]string{"checkout", "switch", "symbolic-ref", "rebase", "bisect"}, t.name)
	}
	for _, w := range writers {
		rest, ok := strings.CutPrefix(c.Name, w.prefix)
		if !ok {
			continue
		}
		if rest == "" { // the stash
			return slices.Contains(w.by, t.name)
		}
		names := t.names(rest)
		if !names && !other {
			names = w.prefix == "refs/remotes/" || w.prefix == "refs/"+t.name+"/" || says("--stdin") || t.takesIn(c.Name)
		}
		return slices.Contains(w.by, t.name) && names || w.prefix == "refs/heads/" && elsewhere && !other && slices.Contains(moves, t.name)
	}
	return false
}

// names reports whether the command has a name as the ref it writes, alone or as a part:
// main:other, refs/heads/other. A longer name that contains it does not count.
func (t traced) names(name string) bool {
	bounds := func(s, more string) bool { return s == "" || !strings.ContainsAny(s, more) }
	for _, a := range t.targets() {
		for at := 0; ; {
			i := strings.Index(a[at:], name)
			if i < 0 {
				break
			}
			before, after := a[:at+i], a[at+i+len(name):]
			const word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
			if (before == "" || bounds(before[len(before)-1:], word)) && (after == "" || bounds(after[:1], word+"/")) {
				return true
			}
			at += i + 1
		}
	}
	return false
}

// takesIn reports whether a refspec with a star matches the ref on its right side.
func (t traced) takesIn(ref string) bool {
	return slices.ContainsFunc(t.targets(), func(to string) bool {
		head, star := strings.CutSuffix(to, "*")
		return star && strings.HasPrefix(ref, head)
	})
}

// reading are the verbs and options that make a subcommand read only; writing are those
// without which it only reads.
var reading, writing = map[string][]string{
	"config":  {"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "--list", "-l", "get", "list"},
	"branch":  {"--list", "-l", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--show-current", "--format", "--sort"},
	"tag":     {"-l", "--list", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-v", "--verify", "--format", "--sort"},
	"replace": {"-l", "--list"},
}, map[string][]string{
	"remote":          {"add", "rename", "rm", "remove", "set-head", "set-branches", "set-url", "prune", "update"},
	"submodule":       {"add", "init", "deinit", "update", "set-branch", "set-url", "sync", "absorbgitdirs"},
	"sparse-checkout": {"init", "set", "add", "reapply", "disable"},
	"worktree":        {"add", "move", "remove", "repair", "lock", "unlock", "prune"},
	"maintenance":     {"register", "unregister", "start", "stop"},
	"lfs":             {"install", "uninstall", "track", "untrack", "update"},
	"notes":           {"add", "copy", "append", "edit", "merge", "remove", "prune"},
	"reflog":          {"delete", "expire", "drop"},
}

// writes reports whether the command can change anything: git config KEY, git remote -v and
// git branch --list only read.
func (t traced) writes() bool {
	i := slices.Index(t.argv, t.name)
	if i < 0 {
		return true // by an alias
	}
	args := t.argv[i+1:]
	has := func(words []string) bool { return slices.ContainsFunc(args, option(words)) }
	switch {
	case t.name == "config":
		return !has(reading["config"]) && (len(t.positional(args)) > 1 ||
			has([]string{"--unset", "--unset-all", "--add", "--replace-all", "--rename-section", "--remove-section", "--edit", "-e", "edit"}))
	case t.name == "branch" && has([]string{"-d", "-D", "--delete", "-m", "-M", "--move", "-c", "-C", "--copy", "-f", "--force", "-u", "--set-upstream-to", "--unset-upstream", "--edit-description"}),
		t.name == "tag" && has([]string{"-d", "--delete", "-f", "--force", "-a", "-s", "-m"}):
		return true
	case t.name == "branch", t.name == "tag":
		return !has(reading[t.name]) && len(t.positional(args)) > 0
	case t.name == "symbolic-ref":
		return len(t.positional(args)) > 1 || has([]string{"-d", "--delete"})
	case t.name == "stash":
		return len(args) == 0 || !slices.Contains([]string{"list", "show"}, args[0])
	}
	if verbs, ok := writing[t.name]; ok {
		return has(verbs)
	}
	return !has(reading[t.name])
}

// option reports whether an argument is one of the options, with or without a value.
func option(words []string) func(string) bool {
	return func(a string) bool {
		a, _, _ = strings.Cut(a, "=")
		return slices.Contains(words, a)
	}
}

// targets returns the arguments that name the refs the command writes: git branch NEW START
// writes NEW, and git checkout OTHER -- FILE writes none.
func (t traced) targets() []string {
	i := slices.Index(t.argv, t.name)
	if i < 0 {
		return t.argv // by an alias
	}
	args := t.argv[i+1:]
	switch pos := t.positional(args); t.name {
	case "branch", "tag", "update-ref", "symbolic-ref":
		if slices.ContainsFunc(args, option([]string{"-d", "-D", "--delete", "-m", "-M", "--move", "-c", "-C", "--copy"})) && (t.name == "branch" || t.name == "tag") {
			return pos
		}
		return pos[:min(1, len(pos))]
	case "checkout", "switch", "worktree":
		for i, a := range args[:max(0, len(args)-1)] {
			if slices.Contains([]string{"-b", "-B", "-c", "-C", "--orphan", "--create", "--force-create"}, a) {
				return args[i+1 : i+2]
			}
		}
		return nil
	case "push", "fetch", "pull":
		var to []string
		for _, a := range args {
			if i := strings.LastIndexByte(a, ':'); i >= 0 {
				to = append(to, a[i+1:])
			}
		}
		return to
	}
	return args
}

// valued are the options of a subcommand whose value is a separate argument.
var valued = map[string][]string{
	"config":       {"-f", "--file", "--blob", "--type", "-t", "--default", "--comment", "--value"},
	"tag":          {"-m", "-F", "-u", "--message", "--file", "--local-user"},
	"update-ref":   {"-m"},
	"symbolic-ref": {"-m"},
	"branch":       {"-u", "--set-upstream-to"},
}

// positional are the arguments that are neither options nor their values.
func (t traced) positional(args []string) (all []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case slices.Contains(valued[t.name], a):
			i++
		case !strings.HasPrefix(a, "-"):
			all = append(all, a)
		}
	}
	return all
}

// While an attempt runs, its git commands are written to a trace. After it has reported its
// changes, the commands that affect others are kept in a second file.
const (
	traceSuffix = ".trace"
	takenSuffix = ".taken"
)

// TraceFile returns the path of the attempt's trace.
func TraceFile(paths run.Paths, spec *run.Spec) string {
	return filepath.Join(paths.NodeDir(spec.Node), fmt.Sprintf("git-%d"+traceSuffix, spec.Attempt))
}

// TakeTrace removes the trace. It keeps the commands that can change what other nodes
// share, for these nodes to read.
func (t *Tree) TakeTrace() error {
	name := TraceFile(t.paths, t.spec)
	var fault error
	if keep := taken(readTrace(name), time.Now()); len(keep) > 0 {
		to := strings.TrimSuffix(name, traceSuffix) + takenSuffix
		before, err := signals.ReadFile(to, 2*maxTaken)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = signals.PutFile(to, append(before[:min(len(before), maxTaken)], keep...), 0o600)
		}
		fault = err
	}
	if err := signals.RemoveFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fault = errors.Join(fault, err)
	}
	return fault
}

// peerTrace holds the git commands of another node that had not ended at a time.
type peerTrace struct {
	node, tree string
	commands   []traced
	untold     bool // nobody reports their changes, because their attempt is lost
}

// peerTraces reads the traces of the other nodes. It reads a trace before the kept
// commands: an attempt that ends in between moves its commands from one to the other.
func (s *Shared) peerTraces(since time.Time) (all []peerTrace) {
	working, err := s.tree.home.AtWork(s.tree.spec.Def.Name, time.Now())
	for _, p := range s.tree.spec.Frame.Peers {
		if p.Name == s.tree.spec.Def.Name {
			continue
		}
		lost := err == nil && !slices.Contains(working, p.Name)
		for _, suffix := range []string{traceSuffix, takenSuffix} {
			t := peerTrace{node: p.Name, tree: p.Tree, untold: lost && suffix == traceSuffix}
			for _, name := range tracesOf(s.tree.paths.NodeDir(p.Name), suffix) {
				t.commands = append(t.commands, readTrace(name)...)
			}
			t.commands = slices.DeleteFunc(t.commands, func(c traced) bool { return !c.over.IsZero() && c.over.Before(since) })
			if len(t.commands) > 0 {
				all = append(all, t)
			}
		}
	}
	return all
}

// tracesOf returns the traces in a node's folder.
func tracesOf(dir, suffix string) (all []string) {
	entries, err := signals.ReadDir(dir)
	if err != nil {
		return nil // the node has not started
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "git-") && strings.HasSuffix(e.Name(), suffix) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}
