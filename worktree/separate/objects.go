package separate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmux/worktree/git"
)

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
	if log, err = readUpTo(filepath.Join(t.Dir(), "logs/HEAD"), maxLog); err == nil {
		want(log)
	}
	if stashed, err = readUpTo(filepath.Join(t.Dir(), "logs/refs/stash"), maxLog); err == nil {
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
	if !t.checksOut(ctx) {
		return t.dropStaged()
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
		return t.dropStaged() // it names what is not there
	}
	return err
}

// dropStaged loses what is staged, and no more.
func (t *taking) dropStaged() error {
	t.in.Env = append(t.in.Env, "GIT_INDEX_FILE="+filepath.Join(t.Private, "index"))
	return remove(filepath.Join(t.Dir(), "index"))
}

// checksOut reports whether the index names only files in a working tree. git asks that of
// names that are added, but not of an index that is there: `git restore .` would write what
// ../../x is said to hold.
func (t *taking) checksOut(ctx context.Context) bool {
	c := t.in
	c.Args = []string{"ls-files", "-z"}
	out, err := c.Run(ctx)
	if err != nil {
		return ctx.Err() != nil // or git cannot read it later either
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if out != "" && !inWorkingTree(name) {
			return false
		}
	}
	return true
}

// inWorkingTree reports whether a name is one that git would add: no way leads out of the
// working tree, or into .git, however a file system compares names.
func inWorkingTree(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".", "..":
			return false
		}
		seen := strings.Map(func(r rune) rune {
			if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
				return -1 // macOS does not see it
			}
			return r
		}, part)
		if strings.EqualFold(seen, ".git") {
			return false
		}
	}
	return true
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
