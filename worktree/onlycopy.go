package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
)

// Kept is a commit, or a tag, tree or blob, that nothing but the removed
// worktree's private git directory named.
type Kept struct {
	ID   string `json:"id"`
	From string `json:"from"` // the file that named it: logs/HEAD, refs/worktree/x, ORIG_HEAD

	Kind string `json:"kind,omitempty"` // of what is no commit: tag, tree, blob

	text string // of a tag
}

// keep writes an object that can be no parent into the snapshot's tree.
func (w *snapshotter) keep(s *stream, k Kept) {
	name := path.Join(snapKept, k.ID)
	switch k.Kind {
	case "tree":
		s.printf("M 040000 %s %s\n", k.ID, quotePath(name))
	case "blob":
		s.printf("M 100644 %s %s\n", k.ID, quotePath(name))
	default:
		s.inline("100644", name, []byte(k.text))
	}
}

// naming maps the object ids that a git directory's files name to the file
// that does, a ref or the like rather than a log.
type naming map[string]string

// notNaming are the entries of a git directory whose ids are no names: those of
// the index are in its tree, those of modules are another repository's.
var notNaming = []string{"objects", "modules", "index", "sharedindex", "hooks", "info", "lfs", "config", "config.worktree",
	"description", "gitdir", "commondir", "shallow", "worktrees"}

var (
	objectID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b`) })
	todoID   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[a-z]+ (?:-[cC] )?([0-9a-f]{7,64})\b`) })
)

// namedIn reads what a git directory names in its refs, its logs, HEAD,
// ORIG_HEAD, FETCH_HEAD and their like and the state of an unended operation.
func namedIn(gitDir string) (naming, error) {
	all := naming{}
	err := filepath.WalkDir(gitDir, func(full string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		rel, err := filepath.Rel(gitDir, full)
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(rel, ".")
		switch {
		case slices.Contains(notNaming, rel), top == "sharedindex", strings.HasPrefix(rel, "cmux-"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(full)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		if bytes.HasPrefix(b, []byte("DIRC")) { // an index by another name
			return nil
		}
		add := func(id []byte) {
			if from, ok := all[string(id)]; !ok || strings.HasPrefix(from, "logs/") {
				all[string(id)] = rel
			}
		}
		for _, id := range objectID().FindAll(b, -1) {
			if len(bytes.Trim(id, "0")) > 0 {
				add(id)
			}
		}
		if base := filepath.Base(rel); base == "done" || base == "todo" || strings.HasPrefix(base, "git-rebase-todo") {
			for _, m := range todoID().FindAllSubmatch(b, -1) {
				add(m[1])
			}
		}
		return nil
	})
	return all, err
}

// only are the objects that a git directory alone names.
type only struct {
	tips []Kept // commits that all others of it are ancestors of
	rest []Kept // tags, trees and blobs
	ours bool   // all of the commits are merges that cmux made
}

func (o only) none() bool  { return len(o.tips)+len(o.rest) == 0 }
func (o only) all() []Kept { return slices.Concat(o.tips, o.rest) }

// only finds what the private git directory of a worktree names and no ref of
// the repository holds: it goes with the directory. A branch's log is no ref:
// it ends with the branch.
func (r *Repo) only(ctx context.Context, private string) (only, error) {
	named, err := namedIn(private)
	if err != nil || len(named) == 0 {
		return only{}, err
	}
	o := only{ours: true}
	var in, odd strings.Builder
	for id, from := range named {
		in.WriteString(id + "\n")
		if !strings.HasPrefix(from, "logs/") && from != "ORIG_HEAD" && from != "HEAD" { // git itself puts a commit's there
			odd.WriteString(id + "\n")
		}
	}
	// In the main worktree, where the tree's own refs do not count. What is
	// gone already is passed over.
	out, err := git.Command{Dir: r.Root, Stdin: []byte(in.String()),
		Args: []string{"rev-list", "--ignore-missing", "--stdin", "--no-commit-header", "--format=%H %P%x00%ce", "--not", "--glob=refs/*", "HEAD"}}.Run(ctx)
	if err != nil {
		return o, fmt.Errorf("what only %s holds: %w", private, err)
	}
	var ids []string
	parents := map[string]bool{}
	for l := range strings.Lines(out) {
		list, who, _ := strings.Cut(git.Line(l), "\x00")
		f := strings.Fields(list)
		if len(f) == 0 {
			continue
		}
		ids = append(ids, f[0])
		for _, p := range f[1:] {
			parents[p] = true
		}
		if len(f) < 3 || who != "cmux@localhost" {
			o.ours = false
		}
	}
	for _, id := range ids {
		if !parents[id] {
			o.tips = append(o.tips, Kept{ID: id, From: fromOf(named, id)})
		}
	}
	if odd.Len() == 0 {
		return o, nil
	}
	out, err = git.Command{Dir: r.Root, Args: []string{"cat-file", "--batch-check=%(objecttype) %(objectname)"}, Stdin: []byte(odd.String())}.Run(ctx)
	if err != nil {
		return o, err
	}
	for l := range strings.Lines(out) {
		kind, id, _ := strings.Cut(git.Line(l), " ")
		from := named[id]
		if kind != "tag" && (kind != "tree" && kind != "blob" || from == "AUTO_MERGE") {
			continue
		}
		holder, err := git.Run(ctx, r.Root, "for-each-ref", "--count=1", "--format=x", "--points-at", id)
		if err != nil {
			return o, err
		}
		if holder != "" {
			continue
		}
		k := Kept{ID: id, From: from, Kind: kind}
		if kind == "tag" {
			if k.text, err = git.Run(ctx, r.Root, "cat-file", "tag", id); err != nil {
				return o, err
			}
		}
		o.rest, o.ours = append(o.rest, k), false
	}
	return o, nil
}

// fromOf is the name of the file that names id, also by its beginning.
func fromOf(named naming, id string) string {
	if from, ok := named[id]; ok {
		return from
	}
	for short, from := range named {
		if strings.HasPrefix(id, short) {
			return from
		}
	}
	return "a tag"
}

// saveOnly saves what a worktree's private git directory alone holds, where
// there is no working tree to save beside it.
func (r *Repo) saveOnly(ctx context.Context, private, branch, path string, o only, s SnapshotSpec) (*Snapshot, error) {
	w := &snapshotter{repo: r, root: r.Root, private: private, kept: o}
	w.rec = snapshotRecord{Version: 1, Name: s.Name, Reason: s.Reason, Path: path, Branch: branch, Bare: true, Kept: o.all()}
	head, err := git.Run(ctx, r.Root, "--git-dir="+private, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && git.ExitCode(err) <= 0 {
		return nil, err
	}
	if w.rec.Head = git.Line(head); w.rec.Head == "" {
		if len(o.tips) > 0 {
			w.rec.Head = o.tips[0].ID
		} else if w.rec.Head, err = r.Resolve(ctx, "HEAD"); err != nil {
			return nil, err
		}
	}
	w.indexTree = w.rec.Head + "^{tree}"
	return w.save(ctx)
}

// saveGone saves what the registration of a worktree whose folder is gone alone
// holds.
func (r *Repo) saveGone(ctx context.Context, private, path, why string) (*Snapshot, error) {
	repos, err := modulesIn(private, "")
	if err != nil {
		return nil, err
	}
	if err := r.repositoriesHeld(ctx, path, repos); err != nil {
		return nil, err
	}
	o, err := r.only(ctx, private)
	if err != nil && ctx.Err() == nil {
		return nil, hint.Errorf("git --git-dir="+git.ShellWord(private)+" reflog expire --expire=now HEAD, or fix what git -C "+git.ShellWord(r.Root)+" fsck --connectivity-only names",
			"%w: some history that only the worktree %s names is broken: %w", ErrUnsavable, path, err)
	}
	if err != nil || o.none() {
		return nil, err
	}
	head, err := gitfile.Read(filepath.Join(private, "HEAD"), 1<<16)
	if err != nil {
		return nil, err
	}
	branch, on := strings.CutPrefix(git.Line(string(head)), "ref: refs/heads/")
	name := branch
	if !on {
		branch, name = "", filepath.Base(path)
	}
	return r.saveOnly(ctx, private, branch, path, o, SnapshotSpec{Name: name, Reason: why})
}

// unkeep makes the tags again that a snapshot kept as text.
func (r *Repo) unkeep(ctx context.Context, s *Snapshot) error {
	for _, k := range s.Kept {
		if k.Kind != "tag" {
			continue
		}
		text, err := git.Run(ctx, r.Root, "cat-file", "blob", s.Commit+":"+snapKept+"/"+k.ID)
		if err != nil {
			return err
		}
		if _, err := (git.Command{Dir: r.Root, Args: []string{"hash-object", "-t", "tag", "-w", "--stdin"}, Stdin: []byte(text)}).Run(ctx); err != nil {
			return err
		}
	}
	return nil
}
