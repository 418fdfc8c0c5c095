package separate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	Kept string // where the shared repository has it now; empty: it lacks objects, and is not kept
}

// String says it to a person.
func (l Left) String() string {
	if l.Kept == "" {
		return l.Ref + " lacks objects: it is not kept"
	}
	return fmt.Sprintf("%s was changed in its worktree, not in the repository: kept as %s", l.Ref, l.Kept)
}

// leftRefs is where refs are kept that cannot be taken over under their names.
const leftRefs = "refs/cmux/left/"

// maxRefs bounds the refs that are taken over under names of their own.
const maxRefs = 100

// End takes over what was done in the separate git directory, if there is one, and makes
// the worktree one of the shared repository again: the worktree's branch, its HEAD, what is
// staged, an unended merge or rebase, the reflog of its HEAD, new branches and tags, and
// entries of the stash. Interrupted, it is called again. On an error the separate directory
// stays, and with it the work.
func (w Worktree) End(ctx context.Context) (left []Left, err error) {
	err = w.locked(ctx, func(ctx context.Context) error {
		left, err = w.end(ctx, false)
		return err
	})
	return left, err
}

// Pause is End for a worktree in which programs still run: the folder of the separate
// directory stays, empty, for the next Begin.
func (w Worktree) Pause(ctx context.Context) (left []Left, err error) {
	err = w.locked(ctx, func(ctx context.Context) error {
		left, err = w.end(ctx, true)
		return err
	})
	return left, err
}

// end takes over what is in the separate directory. It first moves it out of the reach of
// what may still run in the worktree. keep: the folder of the directory stays.
func (w Worktree) end(ctx context.Context, keep bool) ([]Left, error) {
	taken := w.taken()
	info, serr := os.Lstat(w.Dir())
	if serr == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", w.Dir())
	}
	to, gerr := gitfile.Private(w.Tree)
	elsewhere := gerr != nil || to != w.Private
	var left []Left
	switch {
	case !w.Works(): // it was never worked in
		if err := os.RemoveAll(taken.dir); err != nil {
			return nil, err
		}
	case serr == nil || git.There(taken.dir):
		// Where .git leads elsewhere already, Begin or End was interrupted there: the
		// state of the worktree is in its own directory.
		err := w.moveOut(taken.dir)
		if err == nil {
			err = errors.Join(taken.sanitize(), taken.takeLFS())
		}
		if err == nil {
			left, err = taken.takeOver(ctx, elsewhere)
		}
		if err != nil { // it goes on as it was
			err = errors.Join(err, moveAll(taken.dir, w.Dir()))
			return nil, fmt.Errorf("the commits in %s: %w", w.Dir(), err)
		}
	}
	if (serr == nil || git.There(taken.dir)) && elsewhere || to == w.Dir() {
		if err := git.WriteFile(filepath.Join(w.Tree, ".git"), []byte("gitdir: "+w.Private+"\n")); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(os.RemoveAll(w.refsFile()), os.RemoveAll(taken.dir)); err != nil {
		return nil, err
	}
	if keep {
		return left, empty(w.Dir())
	}
	return left, os.RemoveAll(w.Dir())
}

// moveOut moves what is in the separate directory to dir. What is there already, an
// interrupted call moved.
func (w Worktree) moveOut(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if git.There(to) {
			continue
		}
		if merr := os.Rename(filepath.Join(w.Dir(), e.Name()), to); !errors.Is(merr, fs.ErrNotExist) {
			err = errors.Join(err, merr)
		}
	}
	return err
}

// taking is one taking over.
type taking struct {
	Worktree
	atWork bool
	in     git.Command       // git in the shared repository, which sees the separate objects
	was    map[string]string // refs at the beginning
	is     map[string]string // refs now
	head   string            // ref: NAME, or an object
	whole  map[string]bool   // commits and tags that lack nothing in the shared repository
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

func (w Worktree) objects() string { return filepath.Join(w.Dir(), "objects") }

// sanitize leaves nothing but objects in their folder: a link leads elsewhere, git waits for
// ever at a pipe, and believes what describes objects.
func (w Worktree) sanitize() error {
	err := filepath.WalkDir(w.objects(), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir() && !d.Type().IsRegular(), strings.HasPrefix(d.Name(), "multi-pack-index"):
			return os.RemoveAll(name)
		}
		return nil
	})
	return errors.Join(err, remove(filepath.Join(w.objects(), "info")), w.borrow())
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
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(w.objects()),
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
	ctx, cancel := context.WithTimeout(ctx, patience) // what is at work there can hold git up
	defer cancel()
	return w.locked(ctx, func(ctx context.Context) error {
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
		if err := t.pack(ctx, []string{id}); err != nil {
			return err
		}
		if err := t.connected(ctx, []string{id}); err != nil || !t.whole[id] {
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
	ids := sorted(there)
	own, err := t.own(ctx)
	if err != nil {
		return nil, nil, err
	}
	if id := t.is[own]; there[id] != "" { // without this one nothing is taken over
		if err := t.pack(ctx, []string{id}); err != nil {
			return nil, nil, err
		}
	}
	each(ids, func(ids []string) bool {
		perr := t.pack(ctx, ids)
		if !errors.Is(perr, errLacking) {
			err = errors.Join(err, perr)
		}
		return perr == nil
	})
	if err != nil {
		return nil, nil, err
	}
	if err := t.connected(ctx, ids); err != nil {
		return nil, nil, err
	}
	if len(t.whole) < len(ids) {
		log = nil
	}
	return log, stashed, t.packStaged(ctx)
}

// maxAsked bounds how often each asks: who damages that much loses more.
const maxAsked = 200

// each returns those of ids that ok accepts, alone or together with others.
func each(ids []string, ok func([]string) bool) (all []string) {
	asked := 0
	var some func([]string)
	some = func(ids []string) {
		if len(ids) == 0 || asked == maxAsked {
			return
		}
		asked++
		switch half := len(ids) / 2; {
		case ok(ids):
			all = append(all, ids...)
		case half > 0:
			some(ids[:half])
			some(ids[half:])
		}
	}
	some(ids)
	return all
}

// connected finds out which of the objects lack nothing in the shared repository alone: it
// is what git fetch asks before it moves a ref.
func (t *taking) connected(ctx context.Context, ids []string) error {
	held, err := t.held(ctx)
	if err != nil {
		return err
	}
	c := t.alone()
	c.Args = []string{"rev-list", "--objects", "--quiet", "--stdin"}
	if t.partial(ctx) {
		c.Args = append(c.Args, "--exclude-promisor-objects")
	}
	t.whole = map[string]bool{}
	for _, id := range each(ids, func(ids []string) bool {
		c.Stdin = []byte(strings.Join(slices.Concat(ids, held), "\n") + "\n")
		_, err := c.Run(ctx)
		return err == nil
	}) {
		t.whole[id] = true
	}
	return ctx.Err()
}

// alone is git in the shared repository, which does not see the separate objects.
func (t *taking) alone() git.Command {
	return git.Command{Dir: t.Common, Env: []string{"GIT_DIR=" + t.Common}}
}

// partial reports whether the repository is a partial clone, in which objects lack that a
// remote has promised.
func (t *taking) partial(ctx context.Context) bool {
	c := t.alone()
	c.Args = []string{"config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`}
	_, err := c.Run(ctx)
	return err == nil
}

// held returns what the refs of the shared repository lead to, as arguments that exclude it.
func (t *taking) held(ctx context.Context) ([]string, error) {
	now, err := t.shared(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, id := range now {
		ids[id] = ""
	}
	there, err := t.existing(ctx, sorted(ids)) // a ref of the person's may be broken
	held := sorted(there)
	for i, id := range held {
		held[i] = "^" + id
	}
	return held, err
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
// it.
func (t *taking) pack(ctx context.Context, ids []string) error {
	held, err := t.held(ctx)
	if err != nil {
		return err
	}
	return t.copy(ctx, slices.Concat(ids, held), "--delta-base-offset")
}

// packStaged copies what is staged. Of what HEAD leads to it copies nothing.
func (t *taking) packStaged(ctx context.Context) error {
	index := filepath.Join(t.Dir(), "index")
	if _, err := read(index); errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLarge) {
		return nil
	}
	own, err := t.own(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, id := range []string{t.is[own], t.was[own], t.head} {
		if isObject(id) {
			known = append(known, id)
		}
	}
	there, err := t.existing(ctx, known)
	if err != nil {
		return err
	}
	known = sorted(there)
	for i, id := range known {
		known[i] = "^" + id
	}
	// Only so does pack-objects leave out the files of commits without descendants.
	args := []string{"--thin", "--shallow", "--indexed-objects"}
	if t.partial(ctx) {
		args = append(args, "--missing=allow-any")
	}
	if err = t.copy(ctx, known, args...); errors.Is(err, errLacking) {
		// The index names what is not there: then what is staged is lost, and no more.
		t.in.Env = append(t.in.Env, "GIT_INDEX_FILE="+filepath.Join(t.Private, "index"))
		return remove(index)
	}
	return err
}

// errLacking means that git cannot make a pack, for what is to be in it is not there.
var errLacking = errors.New("objects are not there")

// copy gives the shared repository the objects of a pack that git makes of revs. git names
// each by its content again. What lacks objects is an errLacking, and no full disk is.
func (t *taking) copy(ctx context.Context, revs []string, args ...string) error {
	f, err := os.CreateTemp(t.Private, "cmux-pack-")
	if err != nil {
		return err
	}
	defer func() { f.Close(); os.Remove(f.Name()) }()
	c := t.in
	c.Stdin, c.Stdout = []byte(strings.Join(revs, "\n")+"\n"), f
	c.Args = append([]string{"pack-objects", "--revs", "--stdout", "--quiet"}, args...)
	if _, err := c.Run(ctx); err != nil {
		c.Stdout = io.Discard
		if _, again := c.Run(ctx); again != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errLacking, err)
		}
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
	in := t.alone()
	in.Input, in.Args = f, []string{"unpack-objects", "-q"}
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
	ids := map[string]string{}
	for _, id := range changed {
		ids[id] = ""
	}
	types, err := t.existing(ctx, sorted(ids))
	if err != nil {
		return err
	}
	names := sorted(changed)
	rank := func(name string) int {
		switch {
		case name == own: // what it holds needs no other name
			return 0
		case !strings.HasPrefix(name, "refs/"):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for i, name := range names {
		id := changed[name]
		if i == maxRefs {
			return t.leaveAll(ctx, names[i:], changed, types)
		}
		switch kind := types[id]; {
		case kind != "" && !t.whole[id]:
			t.left = append(t.left, Left{Ref: name})
			continue
		case kind == "" || kind != "commit" && !strings.HasPrefix(name, "refs/tags/"):
			continue // git could not read it there either
		case !strings.HasPrefix(name, "refs/"):
			err = t.leave(ctx, name, id)
		case name == own && t.atWork:
			if theirs := now[name]; theirs != t.was[name] {
				err = t.leave(ctx, name, theirs) // somebody moved it meanwhile
			}
			if err == nil {
				err = t.update(ctx, name, id, now[name])
			}
			if err != nil && now[name] == "" { // it was deleted, and its name may be a folder now
				err = t.leave(ctx, name, id)
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
	// No name is a folder of another.
	flat := strings.ReplaceAll(strings.TrimPrefix(name, "refs/"), "/", ".")
	to := leftRefs + git.RefSafe(filepath.Base(t.Tree)) + "/" + id[:12] + "/" + git.RefSafe(flat)
	t.left = append(t.left, Left{Ref: name, Kept: to})
	c.Args = []string{"update-ref", "--no-deref", to, id} // it may be there from before
	_, err := c.Run(ctx)
	return err
}

// leaveAll keeps the objects of more refs than a repository should get, as parents of one
// commit that names them.
func (t *taking) leaveAll(ctx context.Context, names []string, ids, types map[string]string) error {
	c := t.in
	c.Args, c.Stdin = []string{"hash-object", "-t", "tree", "-w", "--stdin"}, []byte{}
	tree, err := c.Run(ctx)
	if err != nil {
		return err
	}
	var parents, list strings.Builder
	seen := map[string]bool{}
	for _, name := range names {
		id := ids[name]
		if types[id] != "commit" || !t.whole[id] {
			continue
		}
		if !seen[id] {
			fmt.Fprintf(&parents, "parent %s\n", id)
		}
		seen[id] = true
		fmt.Fprintf(&list, "%s %s\n", id, name)
	}
	const who = "cmux <cmux@localhost> 0 +0000"
	c.Args = []string{"hash-object", "-t", "commit", "-w", "--stdin"}
	c.Stdin = fmt.Appendf(nil, "tree %s\n%sauthor %s\ncommitter %s\n\n%s", git.Line(tree), parents.String(), who, who, list.String())
	id, err := c.Run(ctx)
	if err != nil || len(seen) == 0 {
		return err
	}
	return t.leave(ctx, "refs/many", git.Line(id))
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
	c := git.Command{Dir: t.Private, Env: []string{"GIT_DIR=" + t.Private, "GIT_WORK_TREE=" + t.Tree}, Args: []string{"read-tree", "HEAD"}}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	c.Args = []string{"config", "--type=bool", "--default=false", "core.sparseCheckout"}
	if sparse, err := c.Run(ctx); err != nil || git.Line(sparse) != "true" {
		return err
	}
	c.Args = []string{"sparse-checkout", "reapply"} // or what is not checked out were deleted
	_, err := c.Run(ctx)
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
