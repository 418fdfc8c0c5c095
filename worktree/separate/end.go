package separate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
)

// Left is a ref of a separate directory that could not be taken over under its name: the
// shared repository has another commit there, or the name means something else already.
type Left struct {
	Ref  string // such as refs/heads/main
	Kept string // where the shared repository has it now
}

// leftRefs is where refs are kept that cannot be taken over under their names.
const leftRefs = "refs/cmux/left/"

// maxRefs bounds the refs that are taken over.
const maxRefs = 1000

// End takes over what was done in the separate git directory, if there is one, and makes
// the worktree one of the shared repository again: the worktree's branch, its HEAD, what is
// staged, an unended merge or rebase, the reflog of its HEAD, new branches and tags, and
// entries of the stash. Interrupted, it is called again. On an error the separate directory
// stays, and with it the work.
func (w Worktree) End(ctx context.Context) (left []Left, err error) {
	err = w.locked(func() error {
		left, err = w.end(ctx)
		return err
	})
	return left, err
}

func (w Worktree) end(ctx context.Context) ([]Left, error) {
	old := w.Dir() + ".old"
	err := os.RemoveAll(old)
	info, serr := os.Lstat(w.Dir())
	if err == nil && serr == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", w.Dir())
	}
	if err != nil {
		return nil, err
	}
	to, gerr := gitfile.Private(w.Tree)
	var left []Left
	// One without the file was never worked in.
	if serr == nil && git.There(w.refsFile()) {
		// Where .git leads elsewhere already, Begin or End was interrupted there: the
		// state of the worktree is in its own directory.
		if left, err = w.takeOver(ctx, gerr != nil || to != w.Private); err != nil {
			return nil, fmt.Errorf("the commits in %s: %w", w.Dir(), err)
		}
	}
	if serr == nil && (gerr != nil || to != w.Private) || to == w.Dir() {
		if err := git.WriteFile(filepath.Join(w.Tree, ".git"), []byte("gitdir: "+w.Private+"\n")); err != nil {
			return nil, err
		}
	}
	if serr == nil {
		if err := os.Rename(w.Dir(), old); err != nil {
			return nil, err
		}
	}
	return left, errors.Join(os.RemoveAll(w.refsFile()), os.RemoveAll(old))
}

// taking is one taking over.
type taking struct {
	Worktree
	atWork bool
	in     git.Command       // git in the shared repository, which sees the separate objects
	was    map[string]string // refs at the beginning
	is     map[string]string // refs now
	head   string            // ref: NAME, or an object
	left   []Left
}

// takeOver takes over what is in the separate directory. Not at work: only what would be
// lost with it.
func (w Worktree) takeOver(ctx context.Context, atWork bool) ([]Left, error) {
	t, err := w.taking()
	if err != nil {
		return nil, err
	}
	t.atWork = atWork
	head, err := read(filepath.Join(w.Dir(), "HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t.head = strings.TrimSpace(string(head))
	log, stashed, err := t.objects(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.branches(ctx), t.stash(ctx, stashed)); err != nil {
		return nil, err
	}
	if !atWork {
		return t.left, nil
	}
	return t.left, t.state(ctx, log)
}

// taking begins to take over.
func (w Worktree) taking() (*taking, error) {
	entries, err := read(w.refsFile())
	if err != nil {
		return nil, err
	}
	t := &taking{Worktree: w, was: parsePacked(entries)}
	t.in = git.Command{Dir: w.Common, Env: []string{
		"GIT_DIR=" + w.Common, "GIT_INDEX_FILE=" + filepath.Join(w.Dir(), "index"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(filepath.Join(w.Dir(), "objects")),
	}}
	t.is, err = readRefs(w.Dir())
	return t, err
}

// Publish gives the worktree's branch in the shared repository the commits that it has in
// the separate directory now, so that others see them while it is at work. It does nothing
// without a separate directory.
func (w Worktree) Publish(ctx context.Context) error {
	if !w.Begun() {
		return nil
	}
	return w.locked(func() error {
		t, err := w.taking()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it ended, or is not there yet
		}
		if err != nil {
			return err
		}
		own, err := t.own(ctx)
		id := t.is[own]
		if err != nil || id == t.was[own] {
			return err
		}
		there, err := t.existing(ctx, []string{id})
		if err != nil || there[id] != "commit" {
			return err
		}
		t.in.Env = append(t.in.Env, "GIT_INDEX_FILE="+filepath.Join(t.Private, "index"))
		if err := t.pack(ctx, []string{id}, false); err != nil {
			return err
		}
		if err := t.update(ctx, own, id, t.was[own]); err != nil {
			return err
		}
		b, err := read(w.refsFile())
		if err != nil {
			return err
		}
		return git.WriteFile(w.refsFile(), fmt.Appendf(b, "%s %s\n", id, own))
	})
}

// object is an object name of git.
var object = regexp.MustCompile(`\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b`)

func isObject(s string) bool { return s != "" && object.FindString(s) == s }

// objects brings the objects that are worth keeping into the shared repository. It returns
// the reflog of HEAD, if all of it is there then, and that of the stash.
func (t *taking) objects(ctx context.Context) (log, stashed []byte, err error) {
	wants := map[string]string{}
	want := func(b []byte) {
		for _, id := range object.FindAllString(string(b), 1<<16) {
			wants[id] = ""
		}
	}
	for name, id := range t.is {
		if t.was[name] != id {
			wants[id] = ""
		}
	}
	want([]byte(t.head))
	for _, name := range files {
		if b, err := read(filepath.Join(t.Dir(), name)); err == nil && strings.HasSuffix(name, "HEAD") {
			want(b)
		}
	}
	for _, name := range []string{"orig-head", "onto", "stopped-sha", "autostash", "amend"} {
		for _, of := range []string{"rebase-merge", "rebase-apply"} {
			if b, err := read(filepath.Join(t.Dir(), of, name)); err == nil {
				want(b)
			}
		}
	}
	if log, err = read(filepath.Join(t.Dir(), "logs/HEAD")); err == nil {
		want(log)
	}
	if stashed, err = read(filepath.Join(t.Dir(), "logs/refs/stash")); err == nil {
		want(stashed)
	}
	there, err := t.existing(ctx, sorted(wants))
	if err != nil {
		return nil, nil, err
	}
	if len(there) < len(wants) {
		for _, id := range object.FindAllString(string(log), -1) {
			if _, ok := there[id]; !ok && strings.Trim(id, "0") != "" {
				log = nil // git calls a repository damaged whose reflog names what is not there
				break
			}
		}
	}
	return log, stashed, t.pack(ctx, sorted(there), true)
}

// existing returns the types of those of the objects that are there.
func (t *taking) existing(ctx context.Context, ids []string) (map[string]string, error) {
	c := t.in
	c.Args, c.Stdin = []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, []byte(strings.Join(ids, "\n")+"\n")
	types := map[string]string{}
	if len(ids) == 0 {
		return types, nil
	}
	out, err := c.Run(ctx)
	for line := range strings.Lines(out) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind != "missing" {
			types[id] = kind
		}
	}
	return types, err
}

// unpackLimit is the number of objects from which they stay together in a pack.
const unpackLimit = 100

// pack copies objects and what they lead to, as far as the shared repository does not have
// it; index: with what is staged. git names each object by its content again.
func (t *taking) pack(ctx context.Context, ids []string, index bool) error {
	f, err := os.CreateTemp(t.Private, "cmux-pack-")
	if err != nil {
		return err
	}
	defer func() { f.Close(); os.Remove(f.Name()) }()
	now, err := t.shared(ctx)
	if err != nil {
		return err
	}
	held := map[string]string{}
	for _, id := range now {
		held[id] = ""
	}
	there, err := t.existing(ctx, sorted(held)) // a ref of the person's may be broken
	if err != nil {
		return err
	}
	for _, id := range sorted(there) {
		ids = append(ids, "^"+id)
	}
	c := t.in
	c.Stdin, c.Stdout = []byte(strings.Join(ids, "\n")+"\n"), f
	c.Args = []string{"pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"}
	staged := c
	staged.Args = append(staged.Args[:len(c.Args):len(c.Args)], "--indexed-objects")
	if _, err := read(filepath.Join(t.Dir(), "index")); err != nil || !index {
		staged = c
	}
	if _, err = staged.Run(ctx); err != nil && ctx.Err() == nil && index {
		// The index may name what is not there: then what is staged is lost, and no more.
		t.in.Env = append(t.in.Env, "GIT_INDEX_FILE="+filepath.Join(t.Private, "index"))
		if terr := errors.Join(f.Truncate(0), seekStart(f)); terr != nil {
			return terr
		}
		if _, err = c.Run(ctx); err == nil { // else it was not the index
			err = remove(filepath.Join(t.Dir(), "index"))
		}
	}
	if err != nil {
		return err
	}
	header := make([]byte, 12)
	if _, err := f.ReadAt(header, 0); err != nil || string(header[:4]) != "PACK" {
		return fmt.Errorf("git pack-objects wrote no pack (%w)", err)
	}
	n := binary.BigEndian.Uint32(header[8:])
	if n == 0 {
		return nil
	}
	if err := seekStart(f); err != nil {
		return err
	}
	in := git.Command{Dir: t.Common, Env: []string{"GIT_DIR=" + t.Common}, Input: f, Args: []string{"unpack-objects", "-q"}}
	if n >= unpackLimit {
		in.Args = []string{"index-pack", "--stdin", "--fix-thin"}
	}
	_, err = in.Run(ctx)
	return err
}

func seekStart(f *os.File) error {
	_, err := f.Seek(0, 0)
	return err
}

// own returns the worktree's branch as a full name; empty: HEAD is detached.
func (t *taking) own(ctx context.Context) (string, error) {
	out, err := git.Command{Dir: t.Private, Env: []string{"GIT_DIR=" + t.Private}, Args: []string{"symbolic-ref", "-q", "HEAD"}}.Run(ctx)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	return git.Line(out), err
}

// branches takes over the refs that changed.
func (t *taking) branches(ctx context.Context) error {
	own, err := t.own(ctx)
	if err != nil {
		return err
	}
	now, err := t.shared(ctx)
	if err != nil {
		return err
	}
	changed := maps.Clone(t.is)
	maps.DeleteFunc(changed, func(name, id string) bool {
		return t.was[name] == id || now[name] == id || name == "refs/stash"
	})
	if len(changed) > maxRefs {
		return fmt.Errorf("%d branches and tags changed there, more than %d", len(changed), maxRefs)
	}
	ids := map[string]string{}
	for _, id := range changed {
		ids[id] = ""
	}
	types, err := t.existing(ctx, sorted(ids))
	if err != nil {
		return err
	}
	names := sorted(changed)
	if k := slices.Index(names, own); k > 0 { // what it holds needs no other name
		names = slices.Insert(slices.Delete(names, k, k+1), 0, own)
	}
	for _, name := range names {
		id := changed[name]
		switch kind := types[id]; {
		case kind == "" || kind != "commit" && !strings.HasPrefix(name, "refs/tags/"):
			continue // git could not read it there either
		case name == own && t.atWork:
			if theirs := now[name]; theirs != t.was[name] {
				err = t.leave(ctx, name, theirs) // somebody moved it meanwhile
			}
			if err == nil {
				err = t.update(ctx, name, id, now[name])
			}
		case t.was[name] == "" && now[name] == "" && t.means(ctx, name) == nil:
			if t.update(ctx, name, id, strings.Repeat("0", len(id))) != nil { // beside a folder of its name
				err = t.leave(ctx, name, id)
			}
		default:
			err = t.leave(ctx, name, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shared returns the refs of the shared repository.
func (t *taking) shared(ctx context.Context) (map[string]string, error) {
	c := t.in
	c.Args = []string{"for-each-ref", "--format=%(objectname) %(refname)"}
	out, err := c.Run(ctx)
	return parsePacked([]byte(out)), err
}

// means is an error where the short name of a ref means something else already: it would
// hide that, or be hidden by it.
func (t *taking) means(ctx context.Context, name string) error {
	if strings.HasPrefix(name, "refs/cmux/") {
		return nil
	}
	c := t.in
	short := strings.SplitN(name, "/", 3)[2]
	c.Args = []string{"rev-parse", "--verify", "--quiet", short}
	_, err := c.Run(ctx)
	switch {
	case err == nil:
		return fmt.Errorf("%s means something else", short)
	case git.ExitCode(err) == 1:
		return nil
	}
	return err
}

// update moves a ref of the shared repository.
func (t *taking) update(ctx context.Context, name, id, old string) error {
	c := t.in
	c.Args = []string{"update-ref", "--no-deref", "-m", "cmux: from " + filepath.Base(t.Tree), name, id, old}
	_, err := c.Run(ctx)
	return err
}

// leave keeps an object under a name of cmux, if nothing else holds it.
func (t *taking) leave(ctx context.Context, name, id string) error {
	c := t.in
	c.Args = []string{"rev-list", "--max-count=1", id, "--not", "--branches", "--tags", "--remotes"}
	if out, err := c.Run(ctx); err == nil && out == "" && !strings.HasPrefix(name, "refs/tags/") {
		return nil
	}
	to := leftRefs + git.RefSafe(filepath.Base(t.Tree)) + "/" + id[:12] + "/" + git.RefSafe(strings.TrimPrefix(name, "refs/"))
	t.left = append(t.left, Left{Ref: name, Kept: to})
	c.Args = []string{"update-ref", "--no-deref", to, id} // it may be there from before
	_, err := c.Run(ctx)
	return err
}

// stash adds the entries of the stash to those of the shared repository.
func (t *taking) stash(ctx context.Context, log []byte) error {
	if t.is["refs/stash"] == "" {
		return nil
	}
	for line := range bytes.Lines(log) {
		head, text, _ := strings.Cut(string(bytes.TrimSpace(line)), "\t")
		ids := object.FindAllString(head, 2)
		if len(ids) != 2 {
			continue
		}
		there, err := t.existing(ctx, ids[1:])
		if err != nil {
			return err
		}
		if there[ids[1]] != "commit" {
			continue
		}
		c := t.in
		c.Args = []string{"stash", "store", "--quiet", "-m", text, ids[1]}
		if _, err := c.Run(ctx); err != nil {
			if err := t.leave(ctx, "refs/stash", ids[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// state gives the worktree's private directory what is staged and in the middle, and the
// same HEAD.
func (t *taking) state(ctx context.Context, log []byte) error {
	var errs []error
	for _, name := range files {
		errs = append(errs, copyFile(filepath.Join(t.Dir(), name), filepath.Join(t.Private, name)))
	}
	for _, name := range folders {
		errs = append(errs, copyFolder(filepath.Join(t.Dir(), name), filepath.Join(t.Private, name)))
	}
	errs = append(errs, copyMatching(t.Dir(), t.Private, "sharedindex.*"), t.moveHead(ctx))
	if len(log) > 0 {
		errs = append(errs, git.WriteFile(filepath.Join(t.Private, "logs/HEAD"), log))
	}
	if err := errors.Join(errs...); err != nil || git.There(filepath.Join(t.Private, "index")) {
		return err
	}
	// It was lost: what is in the working tree and not in HEAD is not staged then.
	_, err := git.Command{Dir: t.Private, Env: []string{"GIT_DIR=" + t.Private, "GIT_WORK_TREE=" + t.Tree}, Args: []string{"read-tree", "HEAD"}}.Run(ctx)
	return err
}

// moveHead gives the worktree the HEAD of the separate directory: the same branch, where
// the shared repository has it there too and no other worktree is on it, or its commit.
func (t *taking) moveHead(ctx context.Context) error {
	own, err := t.own(ctx)
	if err != nil {
		return err
	}
	c := git.Command{Dir: t.Private, Env: []string{"GIT_DIR=" + t.Private}}
	branch, on := strings.CutPrefix(t.head, "ref: ")
	if on && branch == own {
		return nil
	}
	id := t.head
	if on {
		id = t.is[branch]
		now, err := t.shared(ctx)
		if err != nil {
			return err
		}
		taken, err := (&git.Repo{GitDir: t.Common}).CheckedOut()
		if err != nil {
			return err
		}
		main, err := read(filepath.Join(t.Common, "HEAD")) // the branch of the main worktree
		if err != nil {
			return err
		}
		busy := taken[branch] != "" || strings.TrimSpace(string(main)) == t.head
		if !busy && id != "" && now[branch] == id && strings.HasPrefix(branch, "refs/heads/") {
			c.Args = []string{"symbolic-ref", "-m", "cmux: from " + filepath.Base(t.Tree), "HEAD", branch}
			_, err := c.Run(ctx)
			return err
		}
	}
	there, err := t.existing(ctx, []string{id})
	if err != nil || there[id] != "commit" {
		return err // it names no commit: the worktree keeps its own HEAD
	}
	c.Args = []string{"update-ref", "--no-deref", "-m", "cmux: from " + filepath.Base(t.Tree), "HEAD", id}
	_, err = c.Run(ctx)
	return err
}
