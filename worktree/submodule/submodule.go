package submodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
)

// ErrCheckout is a submodule that could not be checked out.
var ErrCheckout = errors.New("submodule could not be checked out")

// Submodule is one that .gitmodules of a working tree names.
type Submodule struct {
	Name, Path string
	Commit     string // that the superproject's HEAD holds; empty: none
}

// followFile records, in a worktree's private git directory, which commit cmux
// last checked out in each submodule, by its path.
const followFile = "cmux-submodules"

// Follower brings the submodules of a working tree to what its commit says.
type Follower struct {
	Repo   *git.Repo
	Root   string            // of the outermost working tree
	was    map[string]string // submodules that were at what HEAD said, before it moved
	last   map[string]string // followFile
	now    map[string]string
	Person bool     // the working tree is a person's: what cannot be brought along is told and stays
	Force  bool     // what nobody committed in the superproject leaves
	absent []string // submodules that the main worktree does not have
}

// Follow runs move, which may move HEAD of the working tree at root. Afterwards
// its submodules, nested ones too, are at the commits that HEAD names. Commits
// come from the project's own copies of a submodule, those of other worktrees
// among them, and else from where the submodule says. A submodule that has
// changes, or that is at a commit which neither HEAD named nor cmux checked out,
// is somebody's work and stays.
func Follow(ctx context.Context, repo *git.Repo, root string, move func() error) error {
	return (&Follower{Repo: repo, Root: root}).Run(ctx, move)
}

// Run runs move and brings the submodules to what HEAD names then, as Follow says.
func (f *Follower) Run(ctx context.Context, move func() error) error {
	root := f.Root
	var err error
	if f.was, err = standing(ctx, root, ""); err != nil {
		return err
	}
	if err := move(); err != nil {
		return err
	}
	subs, err := submodules(ctx, root)
	if err != nil {
		return err
	}
	if err := f.unmake(ctx, subs); err != nil || len(subs) == 0 {
		return err
	}
	private, err := git.PrivateDir(ctx, root)
	if err != nil {
		return err
	}
	f.last, f.now = map[string]string{}, map[string]string{}
	record := filepath.Join(private, followFile)
	b, err := os.ReadFile(record)
	if err == nil {
		err = json.Unmarshal(b, &f.last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.last = map[string]string{} // torn: what is at another commit counts as somebody's
	}
	if err := f.all(ctx, root, "", subs); err != nil {
		return hint.New(fmt.Errorf("%w: %w", ErrCheckout, err), "push that commit to the submodule's remote, then retry")
	}
	if f.Person {
		return nil
	}
	f.tellAbsent(ctx)
	return git.WriteJSON(record, f.now)
}

// tellAbsent notes, once for a worktree, which submodules are empty in it because
// the main worktree does not have them.
func (f *Follower) tellAbsent(ctx context.Context) {
	var fresh []string
	for _, rel := range f.absent {
		if _, told := f.last[rel]; !told {
			fresh = append(fresh, rel)
		}
		f.now[rel] = ""
	}
	if len(fresh) > 0 {
		root, _ := f.project()
		verb := "is"
		if len(fresh) > 1 {
			verb = "are"
		}
		git.Note(ctx, "not initialized in the main worktree, and so empty here %s the submodule %s; to have it: git -C %s submodule update --init -- %s, then retry",
			verb, git.Shown(fresh), git.ShellWord(root), git.ShellWord(fresh[0]))
	}
}

// unmake takes away what is checked out of the submodules that HEAD held before it
// moved and holds no more: a repository in the place of a folder would take in what
// is committed there. Its commits stay in its git directory. One with changes, or
// with a repository of its own, is somebody's work and stays.
func (f *Follower) unmake(ctx context.Context, subs []Submodule) error {
	held := func(rel string) bool {
		return slices.ContainsFunc(subs, func(s Submodule) bool { return s.Path == rel && s.Commit != "" })
	}
	for _, rel := range slices.Sorted(maps.Keys(f.was)) {
		at := filepath.Join(f.Root, rel)
		info, err := os.Lstat(filepath.Join(at, ".git"))
		if err != nil || !info.Mode().IsRegular() || held(rel) {
			continue
		}
		within := func(other string) bool { return other != rel && strings.HasPrefix(other, rel+"/") }
		for outer := filepath.Dir(rel); outer != "."; outer = filepath.Dir(outer) {
			if held(outer) {
				info = nil // it is that one's
			}
		}
		if info == nil {
			continue
		}
		left := "it has submodules"
		if !slices.ContainsFunc(slices.Collect(maps.Keys(f.was)), within) {
			if left, err = f.unmakeOne(ctx, at, rel); err != nil {
				return err
			}
		}
		if left != "" {
			git.Note(ctx, "%s is no submodule any more, and its repository stays there, as %s", at, left)
		}
	}
	return nil
}

// UnmakeFor is unmake before HEAD moves to a commit, where a submodule's files are
// in the way of files that the commit has. It reports whether nothing else is, as
// git's refusal says.
func UnmakeFor(ctx context.Context, root, commit, refusal string) (bool, error) {
	f := &Follower{Root: root}
	var err error
	if f.was, err = standing(ctx, root, ""); err != nil {
		return false, err
	}
	var ways []string
	for l := range strings.Lines(refusal) {
		file, named := strings.CutPrefix(git.Line(l), "\t")
		if !named {
			continue
		}
		in := slices.DeleteFunc(slices.Collect(maps.Keys(f.was)), func(rel string) bool { return !strings.HasPrefix(file, rel+"/") })
		if len(in) != 1 { // none, or one in another
			return false, nil
		}
		ways = append(ways, in[0])
	}
	slices.Sort(ways)
	ways = slices.Compact(ways)
	for _, rel := range ways {
		at := filepath.Join(root, rel)
		info, err := os.Lstat(filepath.Join(at, ".git"))
		if err != nil || !info.Mode().IsRegular() {
			return false, err
		}
		mode, err := git.Run(ctx, root, "--literal-pathspecs", "ls-tree", "--full-tree", commit, "--", rel)
		if err != nil || strings.HasPrefix(mode, Gitlink) {
			return false, err
		}
		if left, err := f.unmakeOne(ctx, at, rel); err != nil || left != "" {
			return false, err
		}
	}
	return len(ways) > 0, nil
}

// unmakeOne is unmake for one; left is why it stays.
func (f *Follower) unmakeOne(ctx context.Context, at, rel string) (left string, err error) {
	out, err := git.Run(ctx, f.Root, "--literal-pathspecs", "ls-files", "-z", "--", rel)
	if err != nil {
		return "", err
	}
	ours := map[string]bool{} // what the superproject has there now
	for _, name := range git.Fields(out) {
		ours[name] = true
	}
	changed, err := git.Status(ctx, at, "--untracked-files=no", "--ignored=no")
	if err != nil {
		return "", err
	}
	for _, e := range changed {
		if !ours[rel+"/"+e.Path] {
			return e.Path + " was changed in it", nil
		}
	}
	if out, err = git.Run(ctx, at, "ls-files", "-z"); err != nil {
		return "", err
	}
	if err := os.Remove(filepath.Join(at, ".git")); err != nil {
		return "", err
	}
	for _, name := range git.Fields(out) {
		if ours[rel+"/"+name] {
			continue
		}
		full := filepath.Join(at, name)
		if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for dir := filepath.Dir(full); strings.HasPrefix(dir, at+"/") && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
		}
	}
	for dir := at; dir != f.Root && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
	}
	return "", nil
}

// standing are the submodules in a working tree that are at what HEAD says, by
// their paths below the outermost one.
func standing(ctx context.Context, tree, under string) (map[string]string, error) {
	subs, err := submodules(ctx, tree)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, s := range subs {
		at := filepath.Join(tree, s.Path)
		if s.Commit == "" || !IsRepository(at) {
			continue
		}
		head, err := git.Run(ctx, at, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
		if err != nil && git.ExitCode(err) <= 0 {
			return nil, err
		}
		if git.Line(head) != s.Commit {
			continue
		}
		rel := filepath.Join(under, s.Path)
		all[rel] = s.Commit
		inner, err := standing(ctx, at, rel)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, inner)
	}
	return all, nil
}

// all follows the submodules of a working tree; under is its module's path in
// the git directory of the outermost one.
func (f *Follower) all(ctx context.Context, tree, under string, subs []Submodule) error {
	for _, s := range subs {
		if s.Commit == "" {
			continue
		}
		name := filepath.Join(under, "modules", s.Name)
		err := f.one(ctx, tree, name, s)
		if err == nil && IsRepository(filepath.Join(tree, s.Path)) {
			var inner []Submodule
			if inner, err = submodules(ctx, filepath.Join(tree, s.Path)); err == nil {
				err = f.all(ctx, filepath.Join(tree, s.Path), name, inner)
			}
		}
		if err != nil && f.Person && ctx.Err() == nil {
			git.Note(ctx, "the submodule %s does not follow the commit: %v", filepath.Join(tree, s.Path), err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// one follows one submodule.
func (f *Follower) one(ctx context.Context, tree, name string, s Submodule) error {
	at := filepath.Join(tree, s.Path)
	rel, err := filepath.Rel(f.Root, at)
	if err != nil {
		return err
	}
	copies := f.Copies(rel, name)
	if !IsRepository(at) {
		if f.Person || len(copies) == 0 || f.unwanted(rel) {
			f.absent = append(f.absent, rel) // the person does without it
			return nil
		}
		if err := f.clone(ctx, tree, copies[0], s); err != nil {
			return err
		}
	}
	head, err := git.Run(ctx, at, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && git.ExitCode(err) != 1 {
		return err
	}
	is := git.Line(head)
	f.now[rel] = is
	made := is == "" || emptyTree(at)
	if is == s.Commit && !made {
		return nil
	}
	if !made {
		entries, err := git.Status(ctx, at, "--untracked-files=no", "--ignored=no")
		if err != nil {
			return err
		}
		known := is == f.was[rel] || is == f.last[rel]
		if len(entries) > 0 || !known && !f.Force {
			f.now[rel] = f.last[rel]
			return nil
		}
		if !known {
			if _, err := git.Run(ctx, at, "update-ref", "refs/cmux/kept/"+is, is); err != nil {
				return err
			}
		}
	}
	if err := f.Fetch(ctx, at, copies, s); err != nil {
		return err
	}
	if _, err := git.Run(ctx, at, "checkout", "--quiet", "--detach", "--no-overwrite-ignore", s.Commit, "--"); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	f.now[rel] = s.Commit
	return nil
}

// unwanted reports whether the main worktree has the submodule and leaves it
// out.
func (f *Follower) unwanted(rel string) bool {
	root, _ := f.project()
	if IsRepository(filepath.Join(root, rel)) {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(root, rel))
	return err == nil && len(entries) == 0
}

// emptyTree reports whether a submodule was cloned and never checked out.
func emptyTree(at string) bool {
	entries, err := os.ReadDir(at)
	if err != nil || len(entries) != 1 {
		return false
	}
	private, err := gitfile.Private(at)
	return err == nil && !git.There(filepath.Join(private, "index"))
}

// project returns the main worktree and the git directory that all worktrees share, also
// where the repository is that of a worktree with a git directory of its own.
func (f *Follower) project() (root, common string) {
	common = gitfile.Shared(f.Repo.GitDir)
	if common == f.Repo.GitDir || filepath.Base(common) != ".git" {
		return f.Repo.Root, common
	}
	return filepath.Dir(common), common
}

// Copies are the git directories in which the project has a submodule: that of
// the main worktree first, then those of linked ones.
func (f *Follower) Copies(rel, name string) (all []string) {
	add := func(dir string) {
		if IsGitDir(dir) && !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	root, common := f.project()
	at := filepath.Join(root, rel)
	if to, err := gitfile.Private(at); err == nil {
		add(filepath.Clean(to))
	}
	add(filepath.Join(at, ".git"))
	add(filepath.Join(common, name))
	worktrees := filepath.Join(common, "worktrees")
	entries, err := os.ReadDir(worktrees)
	if err != nil {
		return all
	}
	for _, e := range entries {
		add(filepath.Join(worktrees, e.Name(), name))
	}
	return all
}

// localFetch lets git read a repository of the same project.
var localFetch = []string{"protocol.file.allow=always"}

// clone makes the submodule's repository from a copy, without a checkout. It
// takes neither network nor credentials.
func (f *Follower) clone(ctx context.Context, tree, from string, s Submodule) error {
	url, err := submoduleURL(ctx, tree, from, s.Name)
	if err != nil {
		return err
	}
	// A commit that the copy lacks ends the update after the clone, which is all that is wanted here.
	_, err = git.Command{Dir: tree, Config: append([]string{"submodule." + s.Name + ".url=" + from, "submodule." + s.Name + ".active=true", "clone.defaultRemoteName=origin"}, localFetch...),
		Args: []string{"submodule", "--quiet", "update", "--init", "--checkout", "--", s.Path}}.Run(ctx)
	at := filepath.Join(tree, s.Path)
	if !IsRepository(at) {
		return fmt.Errorf("%s: %w", at, err)
	}
	if url == "" {
		return nil
	}
	_, err = git.Run(ctx, at, "config", "remote.origin.url", url)
	return err
}

// submoduleURL is where the copy of a submodule was cloned from; else what the
// superproject says.
func submoduleURL(ctx context.Context, tree, from, name string) (string, error) {
	for _, c := range []git.Command{
		InGitDir(from, tree, "", "config", "--get", "remote.origin.url"),
		{Dir: tree, Args: []string{"config", "--get", "submodule." + name + ".url"}},
	} {
		out, err := c.Run(ctx)
		if err != nil && git.ExitCode(err) != 1 {
			return "", err
		}
		if out != "" {
			return git.Line(out), nil
		}
	}
	return "", nil
}

// Fetch has the submodule hold its commit: from a copy that has it, else from
// its remote.
func (f *Follower) Fetch(ctx context.Context, at string, copies []string, s Submodule) error {
	has := func(c git.Command) (bool, error) {
		_, err := c.Run(ctx)
		if err != nil && git.ExitCode(err) <= 0 {
			return false, err
		}
		return err == nil, nil
	}
	if ok, err := has(git.Command{Dir: at, Args: []string{"cat-file", "-e", s.Commit + "^{commit}"}}); ok || err != nil {
		return err
	}
	for _, dir := range copies {
		ok, err := has(InGitDir(dir, f.Root, "", "cat-file", "-e", s.Commit+"^{commit}"))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := FetchInto(ctx, git.Command{Dir: at}, dir, s.Commit); err == nil || ctx.Err() != nil {
			return err
		}
	}
	_, err := git.Command{Dir: at, Config: localFetch, Args: []string{"fetch", "--quiet", "--no-recurse-submodules", "origin", s.Commit}}.Run(ctx)
	if err != nil && ctx.Err() == nil { // a server may not serve a commit by its id
		if _, all := (git.Command{Dir: at, Config: localFetch, Args: []string{"fetch", "--quiet", "--no-recurse-submodules", "origin"}}).Run(ctx); all == nil {
			if ok, cerr := has(git.Command{Dir: at, Args: []string{"cat-file", "-e", s.Commit + "^{commit}"}}); ok || cerr != nil {
				return cerr
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: neither this project nor its remote has the commit %.12s: %w", at, s.Commit, err)
	}
	return nil
}

// FetchInto has the repository of c hold objects of a git directory of the same
// project, as refs/cmux/kept/ID. It reads them through a repository of its own:
// the working tree of the git directory may be gone.
func FetchInto(ctx context.Context, c git.Command, from string, ids ...string) error {
	tmp, err := git.TempDir(c.Dir, "cmux-submodule-", false)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	format := "sha1"
	if len(ids[0]) == 64 {
		format = "sha256"
	}
	if _, err := git.Run(ctx, tmp, "init", "--quiet", "--bare", "--template=", "--object-format="+format, "--", tmp); err != nil {
		return err
	}
	var refs strings.Builder
	for _, id := range ids {
		refs.WriteString(id + " refs/cmux/kept/" + id + "\n")
	}
	files := map[string][]byte{"packed-refs": []byte(refs.String()), "objects/info/alternates": []byte(filepath.Join(from, "objects") + "\n")}
	if b, err := os.ReadFile(filepath.Join(from, "shallow")); err == nil {
		files["shallow"] = b
	}
	for name, b := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tmp, name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, name), b, 0o600); err != nil {
			return err
		}
	}
	c.Config = append(slices.Clone(c.Config), localFetch...)
	c.Args = append(slices.Clone(c.Args), "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--update-shallow",
		"--", tmp, "refs/cmux/kept/*:refs/cmux/kept/*")
	_, err = c.Run(ctx)
	return err
}

// Named lists what .gitmodules names.
func Named(ctx context.Context, root string) ([]Submodule, error) {
	file := filepath.Join(root, ".gitmodules")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out, err := git.Run(ctx, root, "config", "-z", "--file", file, "--get-regexp", `^submodule\..*\.path$`)
	if err != nil && git.ExitCode(err) != 1 { // 1: no such key
		return nil, err
	}
	var subs []Submodule
	for _, f := range git.Fields(out) {
		key, path, ok := strings.Cut(f, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		if ok && filepath.IsLocal(path) && filepath.IsLocal(name) {
			subs = append(subs, Submodule{Name: name, Path: path})
		}
	}
	return subs, nil
}

// submodules lists what .gitmodules names, with the commits that HEAD holds.
func submodules(ctx context.Context, root string) ([]Submodule, error) {
	subs, err := Named(ctx, root)
	if err != nil || len(subs) == 0 {
		return nil, err
	}
	var paths []string
	for _, s := range subs {
		paths = append(paths, s.Path)
	}
	out, err := git.Run(ctx, root, append([]string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", "HEAD", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	commits := map[string]string{}
	for _, l := range git.Fields(out) { // MODE TYPE ID\tPATH
		meta, path, _ := strings.Cut(l, "\t")
		if f := strings.Fields(meta); len(f) == 3 && f[0] == Gitlink {
			commits[path] = f[2]
		}
	}
	for i := range subs {
		subs[i].Commit = commits[subs[i].Path]
	}
	return subs, nil
}

// IsRepository reports whether dir has a .git.
func IsRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// Gitlink is the mode of a submodule in a tree.
const Gitlink = "160000"

// InGitDir is git in a git directory whose working tree may be gone.
func InGitDir(gitDir, dir string, stdin string, args ...string) git.Command {
	return git.Command{Dir: dir, Stdin: []byte(stdin), Args: append([]string{"--git-dir=" + gitDir, "--work-tree=" + gitDir}, args...)}
}

// IsGitDir reports whether dir looks like a git directory.
func IsGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
