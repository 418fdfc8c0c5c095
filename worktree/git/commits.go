package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Commit is one line of a log.
type Commit struct {
	ID      string
	Subject string
	Author  string
	Unix    int64 // committer's time, seconds
}

// Commits lists what tip, a commit or ref, holds beyond since, newest first.
func (r *Repo) Commits(ctx context.Context, since, tip string) ([]Commit, error) {
	return r.log(ctx, since+".."+tip)
}

// log lists the commits of a range, the last of what; before it may stand options.
func (r *Repo) log(ctx context.Context, what ...string) ([]Commit, error) {
	args := append([]string{"log", "-z", "--format=%H%n%ct%n%an%n%s"}, what[:len(what)-1]...)
	out, err := Run(ctx, r.Root, append(args, "--end-of-options", what[len(what)-1], "--")...)
	if err != nil {
		return nil, err
	}
	var all []Commit
	for _, l := range Fields(out) {
		f := strings.SplitN(l, "\n", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("git log: unexpected record %q", l)
		}
		unix, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git log: %w", err)
		}
		all = append(all, Commit{ID: f[0], Unix: unix, Author: f[2], Subject: f[3]})
	}
	return all, nil
}

// Line lists at most so many commits of a history, newest first, and of merges what
// was merged into alone: what tip holds beyond since, or all of it where that is
// empty.
func (r *Repo) Line(ctx context.Context, since, tip string, most int) ([]Commit, error) {
	what := tip
	if since != "" {
		what = since + ".." + tip
	}
	return r.log(ctx, "--first-parent", "--max-count="+strconv.Itoa(most), what)
}

// Patch is what a commit changed, counted and as a patch, each of at most so many
// bytes; of a merge what it brought.
func (r *Repo) Patch(ctx context.Context, commit string, most int) (stat, patch string, err error) {
	show := func(how string) (string, error) {
		out, err := Run(ctx, r.Root, "show", "--format=", "--no-ext-diff", "--no-textconv", "--no-color", "--diff-merges=first-parent", how, "--end-of-options", commit, "--")
		if len(out) > most {
			out = strings.ToValidUTF8(out[:most], "") + "\n[...]\n"
		}
		return out, err
	}
	if stat, err = show("--stat"); err == nil {
		patch, err = show("--patch")
	}
	return stat, patch, err
}

// LacksFolder reports whether a checkout of commit has no folder dir, as far as the
// commit tells: what a submodule holds it does not.
func (r *Repo) LacksFolder(ctx context.Context, commit, dir string) (bool, error) {
	ask := commit + ":.gitmodules\n" + commit + ":" + dir + "\n"
	out, err := Command{Dir: r.Root, Args: []string{"cat-file", "--batch-check=%(objecttype)", "--follow-symlinks"}, Stdin: []byte(ask)}.Run(ctx)
	modules, rest, _ := strings.Cut(out, "\n")
	return err == nil && modules != "blob" && Line(rest) != "tree", err
}

// DiffStat counts changed files and lines; a binary file counts no lines.
type DiffStat struct{ Files, Added, Deleted int }

// DiffStat compares two commits.
func (r *Repo) DiffStat(ctx context.Context, from, to string) (DiffStat, error) {
	files, err := r.FileStats(ctx, from, to)
	d := DiffStat{Files: len(files)}
	for _, f := range files {
		d.Added, d.Deleted = d.Added+f.Added, d.Deleted+f.Deleted
	}
	return d, err
}

// FileStat counts the lines that changed in one file; a binary file counts none.
type FileStat struct {
	Path           string
	Added, Deleted int
	Binary         bool
}

// FileStats compares two commits, file by file; a renamed file is two.
func (r *Repo) FileStats(ctx context.Context, from, to string) ([]FileStat, error) {
	out, err := Run(ctx, r.Root, "diff-tree", "-r", "-z", "--no-renames", "--numstat", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	var all []FileStat
	for _, l := range Fields(out) { // ADDED\tDELETED\tPATH; - for binary
		f := strings.SplitN(l, "\t", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("git diff-tree: unexpected line %q", l)
		}
		s := FileStat{Path: f[2], Binary: f[0] == "-"}
		s.Added, _ = strconv.Atoi(f[0])
		s.Deleted, _ = strconv.Atoi(f[1])
		all = append(all, s)
	}
	return all, nil
}

// Touched lists, sorted, the files in which two commits differ; of a rename both
// names.
func (r *Repo) Touched(ctx context.Context, from, to string) ([]string, error) {
	out, err := Run(ctx, r.Root, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	all := Fields(out)
	slices.Sort(all)
	return all, nil
}
