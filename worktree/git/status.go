package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// StatusEntry is one line of git status --porcelain=v2.
type StatusEntry struct {
	Kind        byte   // 1 changed, 2 renamed, u unmerged, ? untracked, ! ignored
	Index, Tree byte   // XY: '.' unchanged, M T A D R C
	Sub         string // N... or S<c><m><u>
	Path, Orig  string // orig only of kind 2
}

// Status returns what git status says of the worktree at dir, with further arguments.
func Status(ctx context.Context, dir string, args ...string) ([]StatusEntry, error) {
	lines, err := StatusLines(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	return ParseStatus(lines)
}

// StatusLines returns the entries of git status as git prints them, for ParseStatus.
func StatusLines(ctx context.Context, dir string, args ...string) ([]string, error) {
	out, err := Run(ctx, dir, append([]string{"status", "--porcelain=v2", "-z", "--ignore-submodules=none", "--no-renames"}, args...)...)
	return Fields(out), err
}

// statusColumns are the space-separated columns before the path.
var statusColumns = map[byte]int{'1': 8, '2': 9, 'u': 10}

// ParseStatus parses entries of git status in porcelain v2.
func ParseStatus(lines []string) ([]StatusEntry, error) {
	var entries []StatusEntry
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if len(l) < 3 {
			return nil, fmt.Errorf("git status: unexpected line %q", l)
		}
		e := StatusEntry{Kind: l[0], Index: '.', Tree: '.'}
		switch n := statusColumns[l[0]]; {
		case n > 0:
			cols := strings.SplitN(l, " ", n+1)
			if len(cols) != n+1 || len(cols[1]) != 2 {
				return nil, fmt.Errorf("git status: unexpected line %q", l)
			}
			e.Index, e.Tree, e.Sub, e.Path = cols[1][0], cols[1][1], cols[2], cols[n]
			if l[0] == '2' {
				if i++; i == len(lines) {
					return nil, fmt.Errorf("git status: rename without origin: %q", l)
				}
				e.Orig = lines[i]
			}
		case l[0] == '?' || l[0] == '!':
			e.Path = l[2:]
		default:
			continue // a header
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Operation is the git operation that was begun and not ended in the worktree
// with this private git directory.
func Operation(private string) string {
	for _, o := range []struct{ file, name string }{
		{"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(private, o.file)); err == nil {
			return o.name
		}
	}
	return ""
}
