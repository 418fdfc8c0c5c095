package recovery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"cmux/worktree"
)

// Made is an uncommitted path that the health commands made in a tree of a person's.
// What changed while a command ran is the command's or that of a person who saved a file
// in that moment; what changed while none ran is the person's, and stays theirs until
// it is committed. So a path counts as the commands' only as they left it, and one that
// git tracks only after as many of them changed it as failures begin a recovery. Between
// the steps of a recovery, which begins where nobody is at work, one command is enough.
type Made struct {
	Print string `json:"print"` // what was there when the last command ended
	Runs  int    `json:"runs"`  // commands that changed it
}

// mostMade bounds the uncommitted paths that are compared.
const mostMade = 20000

// learn is what is known of the paths after a command that found before and left after,
// each with its print. In a recovery sure says that nobody was at work before it.
func learn(made map[string]Made, before, after map[string]string, sure bool) map[string]Made {
	out := map[string]Made{}
	if len(after) > mostMade || len(before) > mostMade {
		return out
	}
	for path, print := range after {
		m, known := made[path]
		was, there := before[path]
		if there && !known {
			continue // somebody else's, before the command ran
		}
		touched := there && was != m.Print // between two commands
		if touched {
			m.Runs = 0
		}
		if print != was {
			m.Runs = min(m.Runs+1, Misses)
			if sure && !touched {
				m.Runs = Misses
			}
		}
		m.Print = print
		out[path] = m
	}
	return out
}

// makes reports whether a path with this print is what the commands left.
func (s *State) makes(path, print string, tracked bool) bool {
	m, known := s.Made[path]
	return known && m.Print == print && (m.Runs >= Misses || m.Runs > 0 && !tracked)
}

// prints are the uncommitted paths of the tree with what tells one content from another.
func (d *Driver) prints(w *worktree.Workplace) map[string]string {
	all := map[string]string{}
	for _, path := range w.Left() {
		all[path] = d.print(path)
	}
	return all
}

func (d *Driver) print(path string) string {
	info, err := os.Lstat(filepath.Join(d.Tree, strings.TrimSuffix(path, "/")))
	if err != nil {
		return "gone"
	}
	inode := uint64(0)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = uint64(st.Ino)
	}
	return fmt.Sprintf("%s %d %d %d", info.Mode(), info.Size(), inode, info.ModTime().UnixNano())
}

// dropped are the tracked paths of a person's tree that the commands changed: they go
// back to what is committed before something else is checked out.
func (d *Driver) dropped(s *State, w *worktree.Workplace) (paths []string) {
	for _, path := range w.Tracked {
		if !d.Own && s.makes(path, d.print(path), true) {
			paths = append(paths, path)
		}
	}
	return paths
}
