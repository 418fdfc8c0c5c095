package attempt

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cmux/signals"
	"cmux/worktree"
)

// traceVar has git write down each of its commands, of which a node's own
// changes to what is shared are known. It is no proof of innocence: a program
// may unset it.
const traceVar = "GIT_TRACE2_EVENT"

// traced is one git command of the attempt's programs.
type traced struct {
	name string   // of the subcommand, aliases resolved
	argv []string // as called
	tree string   // the worktree it worked in; empty: unknown
}

const (
	maxTrace     = 64 << 20 // bytes of a trace that are read
	maxTraceLine = 1 << 20
)

// readTrace reads what git wrote down. Lines that are none of git's are passed
// over: the file is the agent's to write.
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
		var e struct {
			Event    string   `json:"event"`
			SID      string   `json:"sid"`
			Argv     []string `json:"argv"`
			Name     string   `json:"name"`
			Worktree string   `json:"worktree"`
		}
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
		}
	}
	return all
}

// writers are the subcommands that change refs of a kind, by the kind's prefix.
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

// did reports whether the command is one that makes such a change: by its name
// and what it was given, or because it wrote in another worktree of the
// repository, which is none of the node's.
func (t traced) did(c worktree.Change, own, root string) bool {
	says := func(word string) bool {
		return word != "" && slices.ContainsFunc(t.argv, func(a string) bool { return strings.Contains(strings.ToLower(a), strings.ToLower(word)) })
	}
	elsewhere := t.tree != "" && t.tree != own && t.tree == root
	switch c.Kind {
	case worktree.ChangedSetting:
		switch t.name {
		case "config":
			key := c.Name
			if i := strings.LastIndexByte(key, '.'); i >= 0 && strings.Count(key, ".") > 1 {
				key = key[i+1:] // --rename-section and the like name but a part
				return says(key) || says(c.Name) || says("-section") || says("--edit")
			}
			return says(key) || says("-section") || says("--edit")
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
	case worktree.ChangedFile:
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
		moves := []string{"commit", "merge", "rebase", "reset", "cherry-pick", "revert", "am", "pull"}
		return slices.Contains(w.by, t.name) && (says(rest) || w.prefix == "refs/remotes/" || w.prefix == "refs/notes/" || w.prefix == "refs/replace/" || says("--all") || says("--stdin") || says("*")) ||
			w.prefix == "refs/heads/" && elsewhere && slices.Contains(moves, t.name)
	}
	return false
}

// traceFile is where the attempt's git commands are written down.
func traceFile(j *Job) string {
	return filepath.Join(j.Paths.NodeDir(j.Spec.Node), fmt.Sprintf("git-%d.trace", j.Spec.Attempt))
}
