package worktree

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
	"cmux/worktree/submodule"
)

// repository is one that goes with a worktree: a submodule's, checked out or
// not, or one that lies in it.
type repository struct {
	git  string // its git directory
	tree string // where it is checked out; empty: nowhere
	name string // of a submodule, as git's modules directory has it
}

func (n *repository) shown() string {
	if n.tree != "" {
		return n.tree
	}
	return n.git
}

// modulesIn finds the git directories of submodules in a git directory, those
// of submodules' submodules and of such that are not checked out among them.
func modulesIn(gitDir, under string) (all []*repository, err error) {
	base := filepath.Join(gitDir, "modules")
	err = filepath.WalkDir(base, func(full string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil || !d.IsDir() {
			return err
		}
		if !submodule.IsGitDir(full) {
			return nil
		}
		rel, err := filepath.Rel(base, full)
		if err != nil {
			return err
		}
		name := filepath.Join(under, "modules", rel)
		all = append(all, &repository{git: full, name: name})
		inner, err := modulesIn(full, name)
		if err != nil {
			return err
		}
		all = append(all, inner...)
		return fs.SkipDir
	})
	return all, err
}

// nested refuses to lose a repository that goes with the tree: each that is no
// submodule, and those that hold something that exists nowhere else.
func (w *snapshotter) nested(ctx context.Context) error {
	repos, err := modulesIn(w.private, "")
	if err != nil {
		return err
	}
	inside := func(rel string) bool { // of a submodule, whose own status tells of what is in it
		for ; rel != "."; rel = filepath.Dir(rel) {
			if w.gitlinks[rel] {
				return true
			}
		}
		return false
	}
	var files []string
	for _, rel := range w.repos {
		dir := filepath.Join(w.root, rel)
		dot := filepath.Join(dir, ".git")
		info, err := os.Lstat(dot)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !inside(rel), info.IsDir() && !w.gitlinks[rel]:
			return nestedRepository(dot)
		case info.IsDir():
			more, err := modulesIn(dot, "")
			if err != nil {
				return err
			}
			repos = append(append(repos, &repository{git: dot, tree: dir}), more...)
		default:
			files = append(files, dir)
		}
	}
	for rel := range w.gitlinks {
		dir := filepath.Join(w.root, rel)
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 && !submodule.IsRepository(dir) {
			return hint.Errorf("move them out of the worktree", "%w: git sees none of the files in %s, as the submodule is not checked out", ErrUnsavable, dir)
		}
	}
	for _, dir := range files {
		to, err := gitfile.Private(dir)
		i := slices.IndexFunc(repos, func(n *repository) bool { return n.git == to })
		if err != nil || i < 0 {
			return nestedRepository(filepath.Join(dir, ".git"))
		}
		repos[i].tree = dir
	}
	return w.repo.repositoriesHeld(ctx, w.root, repos)
}

// repositoriesHeld saves what is in a repository that goes with the worktree at
// root, and nowhere else. It refuses to lose what it cannot save.
func (r *Repo) repositoriesHeld(ctx context.Context, root string, repos []*repository) error {
	for _, n := range repos {
		lost, err := r.lost(ctx, root, n)
		if err != nil {
			return err
		}
		if len(lost) > 0 {
			if err := r.keepOf(ctx, root, n, lost); err != nil {
				return err
			}
			if lost, err = r.lost(ctx, root, n); err != nil {
				return err
			}
		}
		if len(lost) == 0 {
			continue
		}
		slices.SortFunc(lost, func(a, b Kept) int { return strings.Compare(a.From+a.ID, b.From+b.ID) })
		var said, refs []string
		for _, k := range lost {
			refs = append(refs, k.ID+":refs/cmux/kept/"+k.ID)
			said = append(said, k.ID[:12]+" ("+k.From+")")
		}
		return hint.Errorf("git --git-dir="+git.ShellWord(n.git)+" --work-tree=. push "+git.ShellWord(r.Root)+" "+strings.Join(refs, " "), "%w: the submodule %s holds what exists nowhere else: %s", ErrUnsavable, n.shown(), git.Shown(said))
	}
	return nil
}

// keepOf has the project's own copy of a submodule hold what only the
// submodule of a worktree does. The copy is made where there is none; what is
// nobody's submodule goes to the superproject.
func (r *Repo) keepOf(ctx context.Context, root string, n *repository, lost []Kept) error {
	home := r.GitDir
	if all := r.counterparts(root, n); len(all) > 0 {
		home = all[0]
	} else if n.name != "" {
		home = filepath.Join(r.GitDir, n.name)
		if err := r.makeModule(ctx, n.git, home); err != nil {
			return err
		}
	}
	var ids, said []string
	for _, k := range lost {
		ids = append(ids, k.ID)
		said = append(said, k.ID[:12]+" ("+k.From+")")
	}
	if err := submodule.FetchInto(ctx, git.Command{Dir: r.Root, Args: []string{"--git-dir=" + home, "--work-tree=" + home}}, n.git, ids...); err != nil {
		return err
	}
	slices.Sort(said)
	git.Note(ctx, "the submodule %s held commits that exist nowhere else; %s keeps them as refs/cmux/kept/ID: %s", n.shown(), home, git.Shown(said))
	return nil
}

// makeModule makes the git directory of a submodule that the main worktree has
// not, with the remote of another.
func (r *Repo) makeModule(ctx context.Context, from, home string) error {
	if _, err := git.Run(ctx, r.Root, "init", "--quiet", "--bare", "--template=", "--", home); err != nil {
		return err
	}
	settings := [][2]string{{"core.bare", "false"}}
	url, err := submodule.InGitDir(from, r.Root, "", "config", "--get", "remote.origin.url").Run(ctx)
	if err == nil {
		settings = append(settings, [2]string{"remote.origin.url", git.Line(url)}, [2]string{"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"})
	} else if git.ExitCode(err) != 1 {
		return err
	}
	for _, s := range settings {
		if _, err := git.Run(ctx, r.Root, "config", "--file", filepath.Join(home, "config"), s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

// lost is what a repository names and nothing else vouches for: neither the
// same submodule of the main worktree, nor a ref of the repository itself, nor
// its remotes as they are now. A ref under refs/remotes is no proof: anybody
// can write one.
func (r *Repo) lost(ctx context.Context, root string, n *repository) ([]Kept, error) {
	named, err := namedIn(n.git)
	if err != nil || len(named) == 0 {
		return nil, err
	}
	holders := r.counterparts(root, n)
	others := naming{}
	for _, dir := range holders {
		more, err := namedIn(dir)
		if err != nil {
			return nil, err
		}
		maps.Copy(others, more)
	}
	odd, err := r.oddLost(ctx, n.git, named, others)
	if err != nil {
		return nil, err
	}
	left, err := n.history(ctx, r.Root, slices.Collect(maps.Keys(named)), slices.Collect(maps.Keys(others)))
	if err != nil {
		return nil, err
	}
	// What others hold may be the ancestor of a commit that is only there.
	for _, dir := range holders {
		if err := left.heldIn(ctx, r.Root, dir, "--stdin"); err != nil {
			return nil, err
		}
	}
	if err := left.heldIn(ctx, r.Root, r.GitDir, "--glob=refs/*"); err != nil {
		return nil, err
	}
	if len(left) > 0 {
		if left, err = n.unpushed(ctx, r.Root, root, left); err != nil {
			return nil, err
		}
	}
	for _, id := range left.tips() {
		odd = append(odd, Kept{ID: id, From: fromOf(named, id)})
	}
	return odd, nil
}

// counterparts are the git directories of the same submodule in the main
// worktree.
func (r *Repo) counterparts(root string, n *repository) (all []string) {
	if n.name != "" && submodule.IsGitDir(filepath.Join(r.GitDir, n.name)) {
		all = append(all, filepath.Join(r.GitDir, n.name))
	}
	rel, err := filepath.Rel(root, n.tree)
	if n.tree == "" || err != nil || !filepath.IsLocal(rel) {
		return all
	}
	at := filepath.Join(r.Root, rel)
	dir := filepath.Join(at, ".git")
	if to, err := gitfile.Private(at); err == nil {
		dir = to
	}
	if submodule.IsGitDir(dir) && !slices.Contains(all, dir) {
		all = append(all, dir)
	}
	return all
}

// oddLost are the tags, trees and blobs that no other names.
func (r *Repo) oddLost(ctx context.Context, gitDir string, named, others naming) (lost []Kept, err error) {
	var ask strings.Builder
	for id, from := range named {
		if others[id] == "" && !strings.HasPrefix(from, "logs/") && from != "HEAD" && from != "ORIG_HEAD" && from != "AUTO_MERGE" {
			ask.WriteString(id + "\n")
		}
	}
	if ask.Len() == 0 {
		return nil, nil
	}
	out, err := submodule.InGitDir(gitDir, r.Root, ask.String(), "cat-file", "--batch-check=%(objecttype) %(objectname)").Run(ctx)
	if err != nil {
		return nil, err
	}
	for l := range strings.Lines(out) {
		kind, id, _ := strings.Cut(git.Line(l), " ")
		if kind != "tag" && kind != "tree" && kind != "blob" {
			continue
		}
		holder, err := git.Run(ctx, r.Root, "for-each-ref", "--count=1", "--format=x", "--points-at", id)
		if err != nil && git.ExitCode(err) <= 0 {
			return nil, err
		}
		if holder == "" {
			lost = append(lost, Kept{ID: id, From: named[id], Kind: kind})
		}
	}
	return lost, nil
}

// history maps commits to their parents.
type history map[string][]string

func (h history) list() string {
	var b strings.Builder
	for id := range h {
		b.WriteString(id + "\n")
	}
	return b.String()
}

// tips are the commits that are no parent of another.
func (h history) tips() (all []string) {
	parents := map[string]bool{}
	for _, of := range h {
		for _, p := range of {
			parents[p] = true
		}
	}
	for id := range h {
		if !parents[id] {
			all = append(all, id)
		}
	}
	return all
}

// history is what the commits hold in this repository and the others do not.
func (n *repository) history(ctx context.Context, dir string, of, without []string) (history, error) {
	in := strings.Join(of, "\n") + "\n"
	for _, id := range without {
		in += "^" + id + "\n"
	}
	out, err := submodule.InGitDir(n.git, dir, in, "rev-list", "--ignore-missing", "--stdin", "--parents").Run(ctx)
	if err != nil {
		return nil, hint.Errorf("git --git-dir="+git.ShellWord(n.git)+" fsck --connectivity-only, and fix what it names",
			"%w: what the submodule %s holds cannot be told: %w", ErrUnsavable, n.shown(), err)
	}
	h := history{}
	for l := range strings.Lines(out) {
		if f := strings.Fields(l); len(f) > 0 {
			h[f[0]] = f[1:]
		}
	}
	return h, nil
}

// heldIn takes out the commits that a git directory holds: by its refs, or by
// all that its files name when refs is --stdin.
func (h history) heldIn(ctx context.Context, dir, gitDir, refs string) error {
	if len(h) == 0 {
		return nil
	}
	out, err := submodule.InGitDir(gitDir, dir, h.list(), "cat-file", "--batch-check=%(objecttype) %(objectname)").Run(ctx)
	if err != nil {
		return err
	}
	var there strings.Builder
	for l := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(git.Line(l), "commit "); ok {
			there.WriteString(id + "\n")
		}
	}
	if there.Len() == 0 {
		return nil
	}
	in, args := there.String(), []string{"rev-list", "--ignore-missing", "--stdin"}
	if refs == "--stdin" {
		named, err := namedIn(gitDir)
		if err != nil {
			return err
		}
		for id := range named {
			in += "^" + id + "\n"
		}
	} else {
		args = append(args, "--not", refs, "HEAD")
	}
	loose, err := submodule.InGitDir(gitDir, dir, in, args...).Run(ctx)
	if err != nil {
		return err
	}
	for id := range strings.Lines(there.String()) {
		if !strings.Contains(loose, id) {
			delete(h, git.Line(id))
		}
	}
	return nil
}

// remoteWait bounds how long a remote is asked what it has.
const remoteWait = 30 * time.Second

// unpushed is what none of the repository's remotes says it has. They are asked
// by address, in the main worktree, so that nothing of this repository's
// configuration runs; one inside the worktree goes with it.
func (n *repository) unpushed(ctx context.Context, dir, root string, h history) (history, error) {
	out, err := submodule.InGitDir(n.git, dir, "", "config", "-z", "--get-regexp", `^remote\..*\.url$`).Run(ctx)
	if err != nil && git.ExitCode(err) != 1 {
		return nil, err
	}
	var has []string
	for _, f := range git.Fields(out) {
		_, address, _ := strings.Cut(f, "\n")
		if address == "" || within(root, address) || within(n.git, address) {
			continue
		}
		asked, cancel := context.WithTimeout(ctx, remoteWait)
		said, err := git.Run(asked, dir, "ls-remote", "--quiet", "--", address)
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // it vouches for nothing
		}
		for l := range strings.Lines(said) {
			if id, _, ok := strings.Cut(l, "\t"); ok {
				has = append(has, id)
			}
		}
	}
	if len(has) == 0 {
		return h, nil
	}
	return n.history(ctx, dir, slices.Collect(maps.Keys(h)), has)
}

// within tells whether an address is a path in dir.
func within(dir, address string) bool {
	if u, err := url.Parse(address); err == nil && u.Scheme == "file" {
		address = u.Path
	}
	if !filepath.IsAbs(address) {
		return false
	}
	if real, err := filepath.EvalSymlinks(address); err == nil {
		address = real
	}
	rel, err := filepath.Rel(dir, address)
	return err == nil && filepath.IsLocal(rel)
}

// holdsAnything tells a .git that git passes over from an empty folder.
func holdsAnything(dot string, d fs.DirEntry) bool {
	if !d.IsDir() {
		b, err := gitfile.Read(dot, 1<<20)
		return err != nil || len(bytes.TrimSpace(b)) > 0
	}
	entries, err := os.ReadDir(dot)
	return err != nil || len(entries) > 0
}
