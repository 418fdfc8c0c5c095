// Package merge merges commits without a checkout, and finds out beforehand whether
// two of them conflict.
//
// A Merger makes merge commits of a repository's commits; no ref and no working tree
// is touched. A *ConflictError names the files and the tips that do not fit, and a
// LeftOut what a merge driver drops without a conflict.
package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmux/worktree/git"
)

// Tip is a commit under the name a person knows it by.
type Tip struct {
	Name   string // node or branch
	Commit string // full id
}

// Merger merges commits of one repository without a checkout.
type Merger struct{ repo *git.Repo }

// In returns the merger of repo.
func In(repo *git.Repo) Merger { return Merger{repo} }

// TheBase is the name of the base among the tips of a ConflictError.
const TheBase = "the base"

// ConflictError is a merge that needs a person. Nothing was changed.
type ConflictError struct {
	Into  string   // what was merged into, as the caller calls it
	Tips  []string // the names of the tips that touch the files
	Files []string // the conflicting paths, relative to the root
	// Unrelated: the two Tips have no commit in common, which git does not merge by
	// itself. There are no files then.
	Unrelated bool
	// Submodules are those among the files that can be merged in the tree of the merge.
	Submodules []SubmoduleConflict
}

// SubmoduleConflict is a submodule of which two sides want two commits.
type SubmoduleConflict struct {
	Path   string
	Commit string // of the side that is merged; the submodule in the merge's tree has it
}

// CallBase replaces TheBase by what the caller calls it.
func (e *ConflictError) CallBase(name string) {
	for i, tip := range e.Tips {
		if tip == TheBase {
			e.Tips[i] = name
		}
	}
}

// Options returns the extra options that git merge needs for this merge, with a space
// after them, or "".
func (e *ConflictError) Options() string {
	if e.Unrelated {
		return "--allow-unrelated-histories "
	}
	return ""
}

func (e *ConflictError) Error() string {
	// One alone does not fit what it was to be merged into.
	who, does := e.Tips, "conflict"
	switch {
	case e.Unrelated:
		return git.Together(who) + " have no commit in common"
	case len(who) == 1 && e.Into != "":
		return fmt.Sprintf("%s conflicts with %s in %s", who[0], e.Into, git.Shown(e.Files))
	case len(who) == 1:
		does = "conflicts"
	}
	return fmt.Sprintf("%s %s in %s", git.Together(who), does, git.Shown(e.Files))
}

// Merge brings the tips together on base without a checkout and returns the
// commit that holds them all; no ref and no working tree is touched.
//
// Tips contained in base or in another tip are left out. If one commit then
// holds everything, it is the answer itself: base, or a single contribution on
// an unmoved base. Otherwise there is exactly one merge commit, whose parents
// are what was left in the given order (base first, unless a tip contains it).
// Its author, message and date follow from its parents alone, so that equal
// sets give the same commit, in every process and at every time.
//
// Merging is by halves, so that each step meets a short history: the cost grows
// as n log n in the number of tips. A *ConflictError names the files and the
// tips that touch them.
func (r Merger) Merge(ctx context.Context, base string, tips []Tip) (string, error) {
	heads, err := r.independent(ctx, base, tips)
	if err != nil {
		return "", err
	}
	if len(heads) == 1 {
		return heads[0].Commit, nil
	}
	m := joint{Merger: r, heads: heads}
	if m.date, err = r.LatestDate(ctx, heads); err != nil {
		return "", err
	}
	tree, err := m.tree(ctx, 0, len(heads))
	if err != nil {
		return "", err
	}
	var names []string
	for _, h := range heads {
		if h.Name != "" {
			names = append(names, h.Name)
		}
	}
	return r.CommitTree(ctx, tree, "Merge "+strings.Join(names, ", ")+"\n", heads, m.date)
}

// independent leaves out the tips that base or another tip contains, in one
// walk over what the tips add to base: a tip is contained in another exactly
// when it is a parent of a commit in that walk, and so is base.
func (r Merger) independent(ctx context.Context, base string, tips []Tip) ([]Tip, error) {
	baseTip := Tip{Commit: base}
	if len(tips) == 0 {
		return []Tip{baseTip}, nil
	}
	var in strings.Builder
	for _, t := range tips {
		fmt.Fprintln(&in, t.Commit)
	}
	fmt.Fprintf(&in, "^%s\n", base)
	out, err := git.Command{Dir: r.repo.Root, Args: []string{"rev-list", "--parents", "--stdin"}, Stdin: []byte(in.String())}.Run(ctx)
	if err != nil {
		return nil, err
	}
	added, parent := map[string]bool{}, map[string]bool{}
	for l := range strings.Lines(out) {
		ids := strings.Fields(l)
		added[ids[0]] = true
		for _, p := range ids[1:] {
			parent[p] = true
		}
	}
	var heads []Tip
	if !parent[base] {
		heads = append(heads, baseTip)
	}
	for _, t := range tips {
		if added[t.Commit] && !parent[t.Commit] {
			heads = append(heads, t)
			parent[t.Commit] = true // the same commit under a second name
		}
	}
	return heads, nil
}

// LatestDate is the date of the youngest of the commits, in unix seconds.
func (r Merger) LatestDate(ctx context.Context, tips []Tip) (int64, error) {
	var in strings.Builder
	for _, t := range tips {
		fmt.Fprintln(&in, t.Commit)
	}
	out, err := git.Command{Dir: r.repo.Root, Args: []string{"rev-list", "--no-walk", "--timestamp", "--stdin"}, Stdin: []byte(in.String())}.Run(ctx)
	if err != nil {
		return 0, err
	}
	var latest int64
	for l := range strings.Lines(out) {
		stamp, _, _ := strings.Cut(strings.TrimSpace(l), " ")
		n, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("git rev-list --timestamp: %w", err)
		}
		latest = max(latest, n)
	}
	return latest, nil
}

// joint is one merge of several tips.
type joint struct {
	Merger
	heads []Tip
	date  int64 // of the latest parent, never older than them: history walks rely on it
}

// tree merges heads[i:j].
func (m *joint) tree(ctx context.Context, i, j int) (string, error) {
	if j-i == 1 {
		return m.heads[i].Commit + "^{tree}", nil
	}
	mid := (i + j + 1) / 2
	left, err := m.joined(ctx, i, mid)
	if err != nil {
		return "", err
	}
	right, err := m.joined(ctx, mid, j)
	if err != nil {
		return "", err
	}
	tree, files, err := m.MergeTree(ctx, left, right, called(m.heads[i:mid]), called(m.heads[mid:j]))
	var unrelated *ConflictError
	if errors.As(err, &unrelated) { // no commit of the one half with any of the other
		unrelated.Tips = []string{called(m.heads[i : i+1]), called(m.heads[mid : mid+1])}
	}
	if err != nil {
		return "", err
	}
	if len(files) > 0 {
		return "", m.conflict(ctx, left, right, i, mid, j, files)
	}
	return tree, nil
}

// called is what a person knows commits by.
func called(heads []Tip) string {
	var names []string
	for _, h := range heads {
		if h.Name == "" {
			h.Name = TheBase
		}
		names = append(names, h.Name)
	}
	return git.Together(names)
}

// joined is a commit that holds heads[i:j]; an intermediate one is never
// reachable from the result.
func (m *joint) joined(ctx context.Context, i, j int) (string, error) {
	if j-i == 1 {
		return m.heads[i].Commit, nil
	}
	tree, err := m.tree(ctx, i, j)
	if err != nil {
		return "", err
	}
	return m.CommitTree(ctx, tree, "Merge\n", m.heads[i:j], m.date)
}

// CommitTree makes a commit of a tree, dated with unix seconds, and returns its id.
func (r Merger) CommitTree(ctx context.Context, tree, message string, parents []Tip, unix int64) (string, error) {
	args := []string{"commit-tree", tree, "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p.Commit)
	}
	out, err := git.Command{Dir: r.repo.Root, Args: args, Env: cmuxIdentity(unix), Stdin: []byte(message)}.Run(ctx)
	return git.Line(out), err
}

// cmuxIdentity is the author of what cmux makes by itself.
func cmuxIdentity(unix int64) []string {
	date := fmt.Sprintf("%d +0000", unix)
	return []string{
		"GIT_AUTHOR_NAME=cmux", "GIT_AUTHOR_EMAIL=cmux@localhost", "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=cmux", "GIT_COMMITTER_EMAIL=cmux@localhost", "GIT_COMMITTER_DATE=" + date,
	}
}

// LeftOut is a file of which a merge loses something without a conflict, because
// the merge driver that git's attributes name does so: it keeps one of two sides
// that both changed the file, or, as union does, the lines of both where both
// changed the same ones.
type LeftOut struct {
	File   string
	Driver string
	Second bool // the side that is left out is the second
	Union  bool // the lines of both are kept, so that what one side deleted or changed is there again
}

func (l LeftOut) String() string {
	if l.Union {
		return fmt.Sprintf("merge=%s in git's attributes keeps the lines of both sides of %s", l.Driver, l.File)
	}
	return fmt.Sprintf("merge=%s in git's attributes drops one side of %s", l.Driver, l.File)
}

// between says what that means for a merge of what the two names name.
func (l LeftOut) between(first, second string) string {
	if l.Union {
		return fmt.Sprintf("%s: lines that %s or %s deleted or changed are there again", l, first, second)
	}
	dropped := first
	if l.Second {
		dropped = second
	}
	return fmt.Sprintf("%s: the merge of %s and %s leaves out what %s changed there", l, first, second, dropped)
}

// MergeTree merges two commits into a tree, or lists the conflicting files. What
// the merge leaves out of one of them is told by Note; first and second name them,
// in the *ConflictError too that says that they are unrelated.
func (r Merger) MergeTree(ctx context.Context, a, b, first, second string) (tree string, files []string, err error) {
	tree, files, left, err := mergeTree(ctx, git.Command{Dir: r.repo.Root}, a, b)
	for _, l := range left {
		git.Note(ctx, "%s", l.between(first, second))
	}
	var said *git.Error
	if errors.As(err, &said) && strings.Contains(said.Stderr, "unrelated histories") {
		err = &ConflictError{Tips: []string{first, second}, Unrelated: true}
	}
	return tree, files, err
}

func mergeTree(ctx context.Context, c git.Command, a, b string) (tree string, files []string, left []LeftOut, err error) {
	c.Args = []string{"merge-tree", "--write-tree", "--messages", "--name-only", "-z", a, b}
	out, err := c.Run(ctx)
	if code := git.ExitCode(err); code != 0 && code != 1 {
		return "", nil, nil, err
	}
	lines := git.Fields(out)
	if len(lines) == 0 {
		return "", nil, nil, fmt.Errorf("git merge-tree %s %s: no tree: %w", a, b, err)
	}
	tree, lines = lines[0], lines[1:]
	var messages []string
	if end := slices.Index(lines, ""); end >= 0 {
		lines, messages = lines[:end], lines[end+1:]
	}
	if err == nil {
		left, err = leftOut(ctx, c, a, b, tree, autoMerged(messages))
		return tree, nil, left, err
	}
	files = slices.Compact(lines)
	if len(files) == 0 {
		return "", nil, nil, err
	}
	return "", files, nil, nil
}

// autoMerged lists the files whose content was merged, from the messages of git
// merge-tree: a number of paths, the paths, a kind and a text each.
func autoMerged(messages []string) (files []string) {
	for len(messages) > 0 {
		n, err := strconv.Atoi(messages[0])
		if err != nil || len(messages) < n+3 {
			return files
		}
		if n == 1 && messages[n+1] == "Auto-merging" {
			files = append(files, messages[1])
		}
		messages = messages[n+3:]
	}
	return files
}

// leftOut lists those of the merged files of which a merge driver has left
// something out.
func leftOut(ctx context.Context, c git.Command, a, b, tree string, files []string) (left []LeftOut, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	c.Args, c.Stdin = []string{"check-attr", "-z", "--stdin", "merge"}, []byte(strings.Join(files, "\x00")+"\x00")
	out, err := c.Run(ctx)
	if err != nil {
		return nil, err
	}
	f := git.Fields(out) // PATH, ATTRIBUTE, VALUE
	for i := 0; i+2 < len(f); i += 3 {
		switch f[i+2] {
		case "unspecified", "set", "unset", "text", "binary": // which git itself merges, or finds conflicts in
			continue
		case "union":
			both, err := changedBoth(ctx, c, a, b, f[i])
			if err != nil {
				return nil, err
			}
			if both {
				left = append(left, LeftOut{File: f[i], Driver: f[i+2], Union: true})
			}
			continue
		}
		var ids [3]string
		for k, of := range []string{a, b, tree} {
			c.Args, c.Stdin = []string{"rev-parse", "--verify", "--quiet", "--end-of-options", of + ":" + f[i]}, nil
			if ids[k], err = c.Run(ctx); err != nil && git.ExitCode(err) <= 0 {
				return nil, err
			}
		}
		if ids[2] == ids[0] || ids[2] == ids[1] {
			left = append(left, LeftOut{File: f[i], Driver: f[i+2], Second: ids[2] == ids[0]})
		}
	}
	return left, nil
}

// unionMarker is the length of the conflict markers that changedBoth looks for:
// no text has them.
const unionMarker = 80

// changedBoth reports whether two commits changed the same lines of a file. What
// both only added at the same place does not count: union is for that.
func changedBoth(ctx context.Context, c git.Command, a, b, file string) (bool, error) {
	c.Stdin = nil
	c.Args = []string{"merge-base", a, b}
	base, err := c.Run(ctx)
	if err != nil {
		if git.ExitCode(err) == 1 {
			err = nil // they share no history: all was added
		}
		return false, err
	}
	tmp, err := git.TempDir(c.Dir, "cmux-union-", false)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	var names []string
	for i, of := range []string{a, git.Line(base), b} {
		c.Args = []string{"cat-file", "blob", of + ":" + file}
		content, err := c.Run(ctx)
		if git.ExitCode(err) > 0 {
			return false, nil // it has another name there
		}
		if err != nil {
			return false, err
		}
		names = append(names, filepath.Join(tmp, strconv.Itoa(i)))
		if err := os.WriteFile(names[i], []byte(content), 0o600); err != nil {
			return false, err
		}
	}
	c.Args = append([]string{"merge-file", "-p", "-q", "--diff3", "--marker-size=" + strconv.Itoa(unionMarker), "--"}, names...)
	out, err := c.Run(ctx)
	if code := git.ExitCode(err); err == nil || code < 0 || code >= 128 { // the number of conflicts is 127 at most
		return false, err
	}
	before, inBase := strings.Repeat("|", unionMarker), false
	for l := range strings.Lines(out) {
		switch {
		case strings.HasPrefix(l, before):
			inBase = true
		case strings.HasPrefix(l, strings.Repeat("=", unionMarker)):
			inBase = false
		case inBase:
			return true, nil
		}
	}
	return false, nil
}

// conflict names those of heads[i:j] that touch the files, on either side of
// the merge that failed.
func (m *joint) conflict(ctx context.Context, left, right string, i, mid, j int, files []string) error {
	ours, err := m.Touching(ctx, m.heads[i:mid], right, files)
	if err != nil {
		return err
	}
	theirs, err := m.Touching(ctx, m.heads[mid:j], left, files)
	if err != nil {
		return err
	}
	return &ConflictError{Files: files, Tips: append(ours, theirs...)}
}

// Touching names those of the tips that changed one of the files since their
// history parted from that of other.
func (r Merger) Touching(ctx context.Context, tips []Tip, other string, files []string) (names []string, err error) {
	for _, t := range tips {
		base, err := git.Run(ctx, r.repo.Root, "merge-base", t.Commit, other)
		if err != nil {
			return nil, err
		}
		args := append([]string{"--literal-pathspecs", "diff-tree", "-r", "--quiet", git.Line(base), t.Commit, "--"}, files...)
		if _, err := git.Run(ctx, r.repo.Root, args...); git.ExitCode(err) == 1 {
			name := t.Name
			if name == "" {
				name = TheBase
			}
			names = append(names, name)
		} else if err != nil {
			return nil, err
		}
	}
	return names, nil
}
