// Package footprint finds what changed in a checkout between two moments, and undoes it.
//
// A Print is the checkout at one moment: what is checked out, what is staged, and the content
// of each file that is not as it is committed. The contents are in the repository's objects,
// which no ref names: git keeps them for two weeks.
package footprint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cmux/worktree/git"
)

const (
	// mostKept is how many files of a print are kept with their content.
	mostKept = 2000
	// mostBytes is the size up to which a file's content is kept.
	mostBytes = 16 << 20

	symlink   = "120000"
	submodule = "160000"
	gone      = "gone"
)

// ours is the folder of which only files that git tracks count: cmux writes there.
const ours = ".cmux/"

// Print is a checkout at one moment.
type Print struct {
	Branch string           `json:"branch"` // full name; empty: HEAD is detached
	Commit string           `json:"commit"` // empty: there is none yet
	Paths  map[string]State `json:"paths"`  // those that are not as in the commit
}

// MarshalJSON keeps names that are no text, as git allows them: those are quoted.
func (p Print) MarshalJSON() ([]byte, error) {
	type plain Print
	names := make(map[string]State, len(p.Paths))
	for name, s := range p.Paths {
		if !utf8.ValidString(name) || strings.HasPrefix(name, `"`) {
			name = strconv.Quote(name)
		}
		names[name] = s
	}
	p.Paths = names
	return json.Marshal(plain(p))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Print) UnmarshalJSON(b []byte) error {
	type plain Print
	if err := json.Unmarshal(b, (*plain)(p)); err != nil {
		return err
	}
	names := make(map[string]State, len(p.Paths))
	for name, s := range p.Paths {
		if strings.HasPrefix(name, `"`) {
			var err error
			if name, err = strconv.Unquote(name); err != nil {
				return fmt.Errorf("%q is no name: %w", name, err)
			}
		}
		names[name] = s
	}
	p.Paths = names
	return nil
}

// State is how a path differs from the commit.
type State struct {
	Mode string `json:"mode,omitempty"` // staged; empty: it is not in the index
	ID   string `json:"id,omitempty"`
	Open bool   `json:"open,omitempty"` // of a merge that has not ended
	Work string `json:"work,omitempty"` // the file: "MODE BLOB", gone, or another text of a content that is not kept; empty: as staged

	stat string
}

// same leaves out what only tells whether a file must be read again.
func (s State) same(o State) bool { s.stat, o.stat = "", ""; return s == o }

// content is that of the file, of a path that a print has.
func (s State) content() string {
	if s.Work != "" || s.Mode == "" {
		return s.Work
	}
	return s.Mode + " " + s.ID
}

// Take returns the print of the checkout at root. Ignored files do not count, nor do
// untracked ones of cmux. before is an earlier print, whose files are not read again where
// they are the same; nil: there is none.
func Take(ctx context.Context, root string, before *Print) (*Print, error) {
	out, err := git.Run(ctx, root, "status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--untracked-files=all", "--ignored=no", "--ignore-submodules=dirty")
	if err != nil {
		return nil, err
	}
	p := &Print{Paths: map[string]State{}}
	for _, l := range git.Fields(out) {
		if err := p.line(l); err != nil {
			return nil, err
		}
	}
	return p, p.keep(ctx, root, before)
}

// toRead marks a file whose content is looked at.
const toRead = "read"

func (p *Print) line(l string) error {
	bad := fmt.Errorf("git status: unexpected line %q", l)
	if len(l) < 3 {
		return bad
	}
	switch l[0] {
	case '#':
		if id, is := strings.CutPrefix(l, "# branch.oid "); is && id != "(initial)" {
			p.Commit = id
		}
		if name, is := strings.CutPrefix(l, "# branch.head "); is && name != "(detached)" {
			p.Branch = "refs/heads/" + name
		}
	case '1': // 1 XY sub mH mI mW hH hI path
		f := strings.SplitN(l, " ", 9)
		if len(f) != 9 || len(f[1]) != 2 {
			return bad
		}
		s := State{}
		if f[1][0] != 'D' {
			s.Mode, s.ID = f[4], f[7]
		}
		switch {
		case f[1][1] == 'D':
			s.Work = gone
		case f[1][1] != '.':
			s.Work = toRead
		}
		p.Paths[f[8]] = s
	case 'u': // u XY sub m1 m2 m3 mW h1 h2 h3 path
		f := strings.SplitN(l, " ", 11)
		if len(f) != 11 {
			return bad
		}
		p.Paths[f[10]] = State{Open: true, Mode: f[1], ID: strings.Join(f[7:10], " "), Work: toRead}
	case '?':
		path := l[2:]
		if strings.HasPrefix(path, ours) {
			return nil
		}
		s := p.Paths[path] // it may be one that was taken out of the index
		s.Work = toRead
		p.Paths[path] = s
	}
	return nil
}

// keep reads the files that are not as staged, and keeps their contents.
func (p *Print) keep(ctx context.Context, root string, before *Print) error {
	var names []string
	for name, s := range p.Paths {
		if s.Work == toRead {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var read []string
	for i, name := range names {
		s := p.Paths[name]
		info, err := os.Lstat(filepath.Join(root, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.Work = gone
		case err != nil:
			return err
		default:
			s.stat = stamp(info)
			if s.Work, err = p.content(ctx, root, name, info, i < mostKept); err != nil {
				return err
			}
			if before != nil && s.Work == toRead {
				if was := before.Paths[name]; was.stat == s.stat && was.Work != "" && changed(info) != "" {
					s.Work = was.Work
				}
			}
		}
		p.Paths[name] = s
		if s.Work == toRead {
			read = append(read, name)
		}
	}
	if len(read) == 0 {
		return nil
	}
	out, err := git.Command{Dir: root, Args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, Stdin: []byte(strings.Join(read, "\n") + "\n")}.Run(ctx)
	if err != nil {
		return err
	}
	ids := strings.Fields(out)
	if len(ids) != len(read) {
		return fmt.Errorf("git hash-object: %d answers about %d files", len(ids), len(read))
	}
	for i, name := range read {
		s := p.Paths[name]
		s.Work = modeIn(s.stat) + " " + ids[i]
		p.Paths[name] = s
	}
	return nil
}

// content is what a file is, as far as that can be said without reading it; toRead: it is to
// be read.
func (p *Print) content(ctx context.Context, root, name string, info fs.FileInfo, keep bool) (string, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0 && keep:
		to, err := os.Readlink(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		out, err := git.Command{Dir: root, Args: []string{"hash-object", "-w", "--stdin"}, Stdin: []byte(to)}.Run(ctx)
		return symlink + " " + git.Line(out), err
	case info.Mode().IsRegular() && keep && info.Size() <= mostBytes && !strings.Contains(name, "\n") && !strings.HasPrefix(name, `"`):
		return toRead, nil
	case info.IsDir(): // a repository within it, or a submodule
		return "folder", nil
	}
	return "not kept, " + stamp(info), nil
}

func stamp(info fs.FileInfo) string {
	mode := "100644"
	if info.Mode()&0o100 != 0 {
		mode = "100755"
	}
	return fmt.Sprintf("%s %d %d %s", mode, info.Size(), info.ModTime().UnixNano(), changed(info))
}

func modeIn(stat string) string { mode, _, _ := strings.Cut(stat, " "); return mode }

// Change is what differs between two prints.
type Change struct {
	Head  bool     // another branch or commit is checked out
	Index []string // staged otherwise, sorted
	Files []string // whose content is another, sorted
}

// None reports that nothing differs.
func (c *Change) None() bool { return !c.Head && len(c.Index)+len(c.Files) == 0 }

// Compare returns what differs in now.
func (p *Print) Compare(now *Print) Change {
	c := Change{Head: p.Branch != now.Branch || p.Commit != now.Commit}
	for name := range both(p.Paths, now.Paths) {
		was, is := p.Paths[name], now.Paths[name]
		if was.same(is) {
			continue
		}
		if was.content() != is.content() {
			c.Files = append(c.Files, name)
		} else {
			c.Index = append(c.Index, name)
		}
	}
	slices.Sort(c.Index)
	slices.Sort(c.Files)
	return c
}

func both(a, b map[string]State) map[string]bool {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return all
}

// Committed returns the paths that differ between the commits of two prints.
func Committed(ctx context.Context, root string, was, is *Print) ([]string, error) {
	if was.Commit == is.Commit {
		return nil, nil
	}
	from, to := was.Commit, is.Commit
	for _, commit := range []*string{&from, &to} {
		if *commit == "" {
			out, err := git.Command{Dir: root, Args: []string{"hash-object", "-t", "tree", "--stdin"}, Stdin: []byte{}}.Run(ctx)
			if err != nil {
				return nil, err
			}
			*commit = git.Line(out)
		}
	}
	out, err := git.Run(ctx, root, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", from, to)
	return git.Fields(out), err
}
