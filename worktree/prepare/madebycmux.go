package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"cmux/worktree/git"
	"cmux/worktree/submodule"
)

// By is what put a path into a worktree that is not its agent's doing.
type By string

const (
	ByCheckout By = "checkout" // git, when it made the worktree
	ByCopy     By = "copy"     // copy and link of the configuration
	BySetup    By = "setup"    // the setup commands
	ByCheck    By = "check"    // a verify command
)

// BroughtPath is what a path that git shows as a change was like when it had
// been put there. Until it is another, nobody has written it.
type BroughtPath struct {
	Path []byte `json:"path"` // file names need not be UTF-8; a repository inside ends in a slash
	By   By     `json:"by"`
	content
}

// content tells cheaply whether a file is as it was: by what stat says, and by
// its hash where that differs and there is one.
type content struct {
	Gone  bool   `json:"gone,omitempty"`
	Mode  uint32 `json:"mode,omitempty"`
	Size  int64  `json:"size,omitempty"`
	Inode uint64 `json:"inode,omitempty"`
	MTime int64  `json:"mtime,omitempty"` // nanoseconds
	CTime int64  `json:"ctime,omitempty"`
	Hash  string `json:"hash,omitempty"` // of a file's bytes or a link's target
}

// What is hashed when paths are noted: of 50,000 files in node_modules not all.
const (
	maxHashed = 16 << 20 // of one file
	maxHashes = 64 << 20 // of all, with perFile for each
	perFile   = 16 << 10 // what opening a file costs, in bytes read
)

// look notes what is at a path; budget is what may still be read of files.
func look(name string, budget *int64) (content, error) {
	var st unix.Stat_t
	if err := unix.Lstat(strings.TrimSuffix(name, "/"), &st); err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return content{Gone: true}, nil
		}
		return content{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	c := content{Mode: uint32(st.Mode), Size: st.Size, Inode: st.Ino, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano()}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return content{Mode: c.Mode}, nil // a repository inside, whose content is its own
	}
	if c.Size > maxHashed || c.Size+perFile > *budget {
		return c, nil
	}
	*budget -= c.Size + perFile
	hash, err := hashOf(name, c.Mode)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return c, nil
	}
	c.Hash = hash
	return c, err
}

// hashOf is empty for what has no content, such as a pipe.
func hashOf(name string, mode uint32) (string, error) {
	h := sha256.New()
	switch mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		io.WriteString(h, target)
	case unix.S_IFREG:
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	default:
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Same tells whether the content at name is c still.
func (c *content) Same(name string) bool {
	none := int64(0)
	is, err := look(name, &none)
	if err != nil || is.Gone != c.Gone || is.Mode != c.Mode || is.Size != c.Size {
		return false
	}
	if is.Inode == c.Inode && is.MTime == c.MTime && is.CTime == c.CTime {
		return true
	}
	if c.Hash == "" {
		return false
	}
	hash, err := hashOf(name, is.Mode)
	return err == nil && hash == c.Hash
}

// Dirty lists, with what is there, the paths of a worktree that git shows as
// changed or untracked.
func Dirty(ctx context.Context, treePath string) ([]git.StatusEntry, error) {
	return git.Status(ctx, treePath, "--untracked-files=all", "--ignored=no")
}

// notice takes in what has come into the worktree, or changed in it, since
// before.
func (p *Record) notice(ctx context.Context, treePath string, before map[string]content, by By) (now map[string]content, err error) {
	entries, err := Dirty(ctx, treePath)
	if err != nil {
		return nil, err
	}
	if entries, err = hiddenOf(ctx, treePath, entries); err != nil {
		return nil, err
	}
	now = make(map[string]content, len(entries))
	budget := int64(maxHashes)
	for _, e := range entries {
		c, err := look(filepath.Join(treePath, e.Path), &budget)
		if err != nil {
			return nil, err
		}
		now[e.Path] = c
		was, ok := before[e.Path]
		if was.Hash = c.Hash; !ok || was != c {
			p.bring(e.Path, by, c)
		}
	}
	return now, nil
}

func (p *Record) bring(path string, by By, c content) {
	if b := p.brought[path]; b != nil {
		b.content = c // whose it is stays
		return
	}
	b := &BroughtPath{Path: []byte(path), By: by, content: c}
	p.Brought = append(p.Brought, b)
	p.brought[path] = b
}

// untouched tells whether a path is as it was brought.
func (p *Record) untouched(treePath, path string) bool {
	b := p.brought[path]
	return b != nil && b.Same(filepath.Join(treePath, path))
}

// RecordOf reads what is known of the worktree at a path.
func RecordOf(ctx context.Context, treePath string) (*Record, error) {
	private, err := git.PrivateDir(ctx, treePath)
	if err != nil {
		return nil, err
	}
	return ReadRecord(private)
}

// between lists the paths in which two commits differ.
func between(ctx context.Context, dir, from, to string) (map[string]bool, error) {
	out, err := git.Run(ctx, dir, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, name := range git.Fields(out) {
		all[name] = true
	}
	return all, nil
}

// Agents takes from paths, which differ from the commit start, those that were
// brought, are as they were, and are in no commit since. It takes those out as
// well whose file is as a checkout of start makes it, also where a commit since
// holds what git makes of that file, as after git add -A.
func (p *Record) Agents(ctx context.Context, treePath, start string, paths []string) ([]string, error) {
	same, err := asCheckedOut(ctx, treePath, start, paths)
	if err != nil || len(p.Brought)+len(same) == 0 {
		return paths, err
	}
	committed, err := between(ctx, treePath, start, "HEAD")
	if err != nil {
		return nil, err
	}
	var both []string
	for path := range same {
		if committed[path] {
			both = append(both, path)
		}
	}
	written, err := differing(ctx, treePath, "HEAD", both)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		if committed[path] {
			return same[path] && !slices.Contains(written, path)
		}
		return same[path] || p.untouched(treePath, path)
	}), nil
}

// TakenIn lists the files that copy or link put into the worktree untracked and
// that a commit since start holds: what was kept out of the repository has got
// in.
func (r *Preparer) TakenIn(ctx context.Context, treePath, start string) ([]string, error) {
	p, err := RecordOf(ctx, treePath)
	if err != nil || len(p.Brought) == 0 {
		return nil, err
	}
	committed, err := between(ctx, treePath, start, "HEAD")
	if err != nil {
		return nil, err
	}
	var taken []string
	for _, b := range p.Brought {
		if b.By == ByCopy && committed[string(b.Path)] && p.untouched(treePath, string(b.Path)) {
			taken = append(taken, string(b.Path))
		}
	}
	return taken, nil
}

// Own takes from entries of status those that were brought and are as they
// were, and those whose file is as git checked it out. rest are those.
func (p *Record) Own(ctx context.Context, treePath string, entries []git.StatusEntry) (own, rest []git.StatusEntry, err error) {
	own, rest, err = Unwritten(ctx, treePath, entries)
	if err != nil || len(p.Brought) == 0 {
		return own, rest, err
	}
	entries, own = own, nil
	for _, e := range entries {
		if e.Kind != 'u' && p.untouched(treePath, e.Path) {
			rest = append(rest, e)
		} else {
			own = append(own, e)
		}
	}
	return own, rest, nil
}

// A TreeState is what a worktree holds at one moment, for Changed.
type TreeState struct {
	head, branch string
	paths        map[string]treePath
}

type treePath struct {
	content
	untracked bool
}

// State looks at the worktree.
func (r *Preparer) State(ctx context.Context, tree string) (*TreeState, error) {
	p, err := RecordOf(ctx, tree)
	if err != nil {
		return nil, err
	}
	out, err := git.Run(ctx, tree, "status", "--porcelain=v2", "-z", "--branch", "--ignore-submodules=none", "--no-renames", "--untracked-files=all", "--ignored=no")
	if err != nil {
		return nil, err
	}
	lines := git.Fields(out)
	entries, err := git.ParseStatus(lines)
	if err != nil {
		return nil, err
	}
	s := &TreeState{paths: map[string]treePath{}}
	for _, l := range lines {
		if head, ok := strings.CutPrefix(l, "# branch.oid "); ok {
			s.head = head
		}
		if branch, ok := strings.CutPrefix(l, "# branch.head "); ok {
			s.branch = branch
		}
	}
	own, _, err := p.Own(ctx, tree, entries)
	if err != nil {
		return nil, err
	}
	budget := int64(1 << 40)
	for _, e := range own {
		c, err := look(filepath.Join(tree, e.Path), &budget)
		if err != nil {
			return nil, err
		}
		s.paths[e.Path] = treePath{c, e.Kind == '?'}
	}
	return s, nil
}

// A TreeChange is how a worktree differs from what it was.
type TreeChange struct {
	Moved   string   // HEAD or the branch, in words; empty: not
	Lost    []string // files that were there and are gone, or are empty now
	Changed []string // files that were there and are others
	New     []string // untracked files that were not there
}

// Forget leaves paths out of the state.
func (s *TreeState) Forget(paths []string) {
	for _, path := range paths {
		delete(s.paths, path)
	}
}

// Changed compares the state with a later one.
func (s *TreeState) Changed(now *TreeState) TreeChange {
	var d TreeChange
	switch {
	case s.branch != now.branch:
		d.Moved = "the branch from " + s.branch + " to " + now.branch
	case s.head != now.head:
		d.Moved = "HEAD from " + shortID(s.head) + " to " + shortID(now.head)
	}
	for path, is := range now.paths {
		was, known := s.paths[path]
		switch {
		case known && (was.content == is.content || was.Hash != "" && was.Hash == is.Hash && was.Mode == is.Mode || was.Gone && is.Gone):
		case !known && is.untracked:
			d.New = append(d.New, path)
		case is.Gone || is.Size == 0 && (!known || was.Size > 0):
			d.Lost = append(d.Lost, path)
		default:
			d.Changed = append(d.Changed, path)
		}
	}
	for path, was := range s.paths {
		if _, there := now.paths[path]; there {
			continue
		}
		if was.untracked {
			d.Lost = append(d.Lost, path)
		} else {
			d.Changed = append(d.Changed, path) // as committed again
		}
	}
	for _, list := range [][]string{d.Lost, d.Changed, d.New} {
		slices.Sort(list)
	}
	return d
}

func shortID(id string) string { return id[:min(len(id), 12)] }

// Disown says of untracked files that a check made them: until they change they
// are nobody's work.
func (r *Preparer) Disown(ctx context.Context, tree string, paths []string) error {
	private, err := git.PrivateDir(ctx, tree)
	if err != nil {
		return err
	}
	p, err := ReadRecord(private)
	if err != nil {
		return err
	}
	budget := int64(maxHashes)
	for _, path := range paths {
		c, err := look(filepath.Join(tree, path), &budget)
		if err != nil {
			return err
		}
		p.bring(path, ByCheck, c)
	}
	return git.WriteJSON(filepath.Join(private, git.PreparedFile), p)
}

// Repositories lists the repositories inside the worktree that are no
// submodules: untracked ones, and those that a commit since start holds as a
// mere reference, which no clone can follow.
func (r *Preparer) Repositories(ctx context.Context, tree, start string) ([]string, error) {
	entries, err := Dirty(ctx, tree)
	if err != nil {
		return nil, err
	}
	p, err := RecordOf(ctx, tree)
	if err != nil {
		return nil, err
	}
	if entries, _, err = p.Own(ctx, tree, entries); err != nil {
		return nil, err
	}
	subs, err := submodule.Named(ctx, tree)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, s := range subs {
		known[s.Path] = true
	}
	found := map[string]bool{}
	for _, e := range entries {
		path := strings.TrimSuffix(e.Path, "/")
		if e.Kind == '?' && path != e.Path && submodule.IsRepository(filepath.Join(tree, path)) ||
			e.Kind != '?' && e.Index == 'A' && e.Sub != "N..." && e.Sub != "" && !known[path] {
			found[path] = true
		}
	}
	out, err := git.Run(ctx, tree, "diff-tree", "-r", "-z", "--no-renames", "--raw", "--end-of-options", start, "HEAD")
	if err != nil {
		return nil, err
	}
	lines := git.Fields(out) // :OLDMODE NEWMODE OLD NEW STATUS, then the path
	for i := 0; i+1 < len(lines); i += 2 {
		if f := strings.Fields(lines[i]); len(f) > 1 && f[1] == "160000" && f[0] != ":160000" && !known[lines[i+1]] {
			found[lines[i+1]] = true
		}
	}
	var all []string
	for path := range found {
		all = append(all, path)
	}
	slices.Sort(all)
	return all, nil
}
