package prepare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
)

// Preparer gives worktrees of a repository what they need beside their tracked files.
type Preparer struct {
	repo     *git.Repo
	excludes sync.Mutex // held while info/exclude is changed
}

// Of returns the preparer of repo.
func Of(repo *git.Repo) *Preparer { return &Preparer{repo: repo} }

// place is a worktree and its private git directory.
type place struct{ Path, GitDir string }

// Spec says what a new worktree needs beside its tracked files.
type Spec struct {
	Copy, Link   []string      // doublestar patterns relative to the main worktree's root
	Setup        []string      // run with sh -c, one after another, in the tree
	SetupTimeout time.Duration // for each command; 0: none
	Env          []string      // the setup commands' whole environment; nil: this process's
	Output       io.Writer     // what is done, and the commands' output; nil: nowhere
}

// ErrSetup is a setup command that failed or ran past its time.
var ErrSetup = errors.New("setup failed")

// includeFile lists, in .gitignore syntax, ignored files that every worktree
// shall have.
const includeFile = ".worktreeinclude"

// Prepare copies and links files from the main worktree and runs the setup
// commands. It does so once for each tree; after a failure the next call does
// all of it again. Nothing is read from outside the main worktree or written
// outside the tree, and a tracked file or one that is already there is left
// alone. A pattern without a match is a warning in the output.
//
// What is ignored by git and came from here is recorded, so that snapshots
// leave it out as long as it is unchanged. path is the worktree and private its
// private git directory.
func (r *Preparer) Prepare(ctx context.Context, path, private string, s Spec) error {
	t := place{path, private}
	if s.Output == nil {
		s.Output = io.Discard
	}
	p, err := ReadRecord(t.GitDir)
	if err != nil || p.Done {
		return err
	}
	// Before anything arrives: what an earlier, failed preparation brought was
	// recorded by it, and what the agent made is not ours to leave out.
	before, err := ignoredPaths(ctx, t.Path)
	if err != nil {
		return err
	}
	seen := map[string]content{}
	brings := len(s.Copy)+len(s.Link)+len(s.Setup) > 0
	if brings {
		q := &Record{brought: map[string]*BroughtPath{}}
		if seen, err = q.notice(ctx, t.Path, nil, ByCopy); err != nil {
			return err
		}
	}
	workErr := r.bringAll(ctx, t, s)
	if workErr == nil && len(s.Copy)+len(s.Link) > 0 {
		seen, workErr = p.notice(ctx, t.Path, seen, ByCopy)
	}
	for k := 0; k < len(s.Setup) && workErr == nil; k++ {
		workErr = setup(ctx, t, s.Setup[k], s)
	}
	// Recorded also after a failure, and then with the caller's context ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	after, err := ignoredPaths(ctx, t.Path)
	if err != nil {
		return errors.Join(workErr, err)
	}
	if brings {
		by := BySetup
		if len(s.Setup) == 0 {
			by = ByCopy
		}
		if _, err := p.notice(ctx, t.Path, seen, by); err != nil {
			return errors.Join(workErr, err)
		}
	}
	given := append(p.Given, arrived(t.Path, before, after)...)
	return errors.Join(workErr, git.WriteJSON(filepath.Join(t.GitDir, git.PreparedFile), Record{Done: workErr == nil, Given: given, Brought: p.Brought}))
}

// bringAll copies and links what the spec names.
func (r *Preparer) bringAll(ctx context.Context, t place, s Spec) error {
	for _, pattern := range s.Copy {
		if err := r.bring(ctx, t, pattern, "copy", s.Output, copyPath); err != nil {
			return err
		}
	}
	if err := r.include(ctx, t, s.Output); err != nil {
		return err
	}
	link := func(ctx context.Context, from, to string) error {
		if err := r.linkOut(ctx, t, from, to, s.Output); err != nil {
			return err
		}
		name, err := filepath.Rel(t.Path, to)
		if err != nil {
			return err
		}
		return r.hide(ctx, t, name)
	}
	for _, pattern := range s.Link {
		if err := r.bring(ctx, t, pattern, "link", s.Output, link); err != nil {
			return err
		}
	}
	return nil
}

// arrived are the ignored paths of a worktree that are there afterwards and were
// not before.
func arrived(dir string, before, after []string) (given []givenPath) {
	for _, name := range after {
		if slices.Contains(before, name) {
			continue
		}
		g := givenPath{Path: []byte(name)}
		if !strings.HasSuffix(name, "/") {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil {
				continue // gone again
			}
			g.Size, g.MTime = info.Size(), info.ModTime().UnixNano()
		}
		given = append(given, g)
	}
	return given
}

// ignoredPaths lists the ignored files, a wholly ignored directory as one with
// a slash at its end.
func ignoredPaths(ctx context.Context, dir string) ([]string, error) {
	out, err := git.Run(ctx, dir, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
	return git.Fields(out), err
}

// bring hands every match of the pattern at the main root to put.
func (r *Preparer) bring(ctx context.Context, t place, pattern, verb string, out io.Writer, put func(ctx context.Context, from, to string) error) error {
	pattern = strings.TrimSuffix(filepath.ToSlash(pattern), "/")
	if !filepath.IsLocal(pattern) || !doublestar.ValidatePattern(pattern) {
		return hint.Errorf("a pattern below "+r.repo.Root, "%s: %q leads out of the repository or is no pattern", verb, pattern)
	}
	// An os.Root refuses links that lead out of it, wherever on the way.
	root, err := os.OpenRoot(r.repo.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	matches, err := doublestar.Glob(root.FS(), pattern, doublestar.WithNoFollow())
	if err != nil {
		return fmt.Errorf("%s %q: %w", verb, pattern, err)
	}
	n := 0
	for _, name := range matches {
		if name == ".git" || strings.HasPrefix(name, ".git/") || name == ".cmux" || strings.HasPrefix(name, ".cmux/") {
			continue
		}
		n++
		if err := r.bringOne(ctx, root, t, name, verb, put); err != nil {
			return err
		}
	}
	if n == 0 {
		fmt.Fprintf(out, "cmux: warning: %s: nothing at %s matches %q\n", verb, r.repo.Root, pattern)
	}
	return nil
}

func (r *Preparer) bringOne(ctx context.Context, root *os.Root, t place, name, verb string, put func(ctx context.Context, from, to string) error) error {
	if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %s: %w", verb, filepath.Join(r.repo.Root, name), err)
	}
	tree, err := os.OpenRoot(t.Path)
	if err != nil {
		return err
	}
	defer tree.Close()
	if dir := filepath.Dir(name); dir != "." {
		if err := tree.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	return put(ctx, filepath.Join(r.repo.Root, name), filepath.Join(t.Path, name))
}

// hide keeps a link out of git's sight where the directory it stands for is
// out of it: a pattern with a slash at its end matches no link, and an agent
// would commit it. The list is the repository's own (info/exclude), where the
// line changes nothing else.
func (r *Preparer) hide(ctx context.Context, t place, name string) error {
	ignored := func(dir string) (bool, error) {
		_, err := git.Command{Dir: dir, Args: []string{"check-ignore", "-q", "-z", "--stdin"}, Stdin: []byte(name + "\x00")}.Run(ctx)
		if git.ExitCode(err) == 1 {
			return false, nil
		}
		return err == nil, err
	}
	if there, err := ignored(t.Path); there || err != nil {
		return err
	}
	if at, err := ignored(r.repo.Root); !at || err != nil || strings.ContainsAny(name, "\n") {
		return err
	}
	return r.exclude(name, "")
}

// HideTrees keeps git from taking worktrees that stand inside the main worktree for
// the project's files: it adds those that git does not ignore to info/exclude.
func (r *Preparer) HideTrees(ctx context.Context, paths []string) error {
	for _, path := range paths {
		name, err := filepath.Rel(r.repo.Root, path)
		if err != nil || !filepath.IsLocal(name) || name == "." {
			continue
		}
		_, err = git.Command{Dir: r.repo.Root, Args: []string{"check-ignore", "-q", "-z", "--stdin"}, Stdin: []byte(name + "/\x00")}.Run(ctx)
		if err == nil {
			continue // ignored
		}
		if git.ExitCode(err) != 1 {
			return err
		}
		if err := r.exclude(name, "/"); err != nil {
			return err
		}
	}
	return nil
}

// exclude adds a path to the repository's info/exclude. end is "/" for a folder
// alone.
func (r *Preparer) exclude(name, end string) error {
	r.excludes.Lock()
	defer r.excludes.Unlock()
	file := filepath.Join(r.repo.GitDir, "info", "exclude")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	pattern := "/" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(filepath.ToSlash(name)) + end
	if slices.Contains(strings.Split(string(have), "\n"), pattern) {
		return nil
	}
	lines := pattern + "\n"
	if len(have) > 0 && have[len(have)-1] != '\n' {
		lines = "\n" + lines
	}
	r.repo.RecordOwn(git.Own{Key: git.ExcludeKey, New: pattern})
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(lines)
	return errors.Join(err, f.Close())
}

// linkPath links to the main worktree's file or directory.
func linkPath(from, to string) error {
	err := os.Symlink(from, to)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// copyPath copies a file, a link as a link, or a directory with all it holds;
// what is there already stays.
func copyPath(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch mode := d.Type(); {
		case mode.IsDir():
			if err := os.Mkdir(target, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return nil
		case mode&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err == nil {
				err = os.Symlink(link, target)
			}
			if errors.Is(err, fs.ErrExist) {
				return nil
			}
			return err
		case mode.IsRegular():
			return copyFile(name, target)
		}
		return nil // a socket or pipe
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // a clone of the blocks where the file system can
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(to)) // half a file would pass for one that was there
	}
	return nil
}

// include copies what .worktreeinclude names and git ignores.
func (r *Preparer) include(ctx context.Context, t place, out io.Writer) error {
	file := filepath.Join(r.repo.Root, includeFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	listed, err := git.Run(ctx, r.repo.Root, "ls-files", "--others", "--ignored", "--exclude-from="+file, "-z")
	if err != nil {
		return err
	}
	names := git.Fields(listed)
	if len(names) == 0 {
		return nil
	}
	ignored, err := git.Command{Dir: r.repo.Root, Args: []string{"check-ignore", "-z", "--stdin"}, Stdin: []byte(listed)}.Run(ctx)
	if err != nil && git.ExitCode(err) != 1 { // 1: none of them
		return err
	}
	root, err := os.OpenRoot(r.repo.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range git.Fields(ignored) {
		if strings.HasSuffix(name, "/") || strings.HasPrefix(name, ".cmux/") {
			continue // a repository of its own; cmux's own files
		}
		if err := r.bringOne(ctx, root, t, name, includeFile, copyPath); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "cmux: copied %d files of %s\n", len(git.Fields(ignored)), includeFile)
	return nil
}

// setup runs one command in a process group of its own, which does not outlive it.
func setup(ctx context.Context, t place, script string, s Spec) error {
	if s.SetupTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.SetupTimeout, fmt.Errorf("ran longer than %s", s.SetupTimeout))
		defer cancel()
	}
	fmt.Fprintf(s.Output, "cmux: setup: %s\n", script)
	var tail tailWriter
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = t.Path
	cmd.Env = s.Env
	cmd.Stdout = io.MultiWriter(s.Output, &tail)
	cmd.Stderr = cmd.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for one that left the group and holds the output
	err := git.Start(ctx, cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return hint.New(fmt.Errorf("%w: %q in %s: %w%s", ErrSetup, script, t.Path, err, tail.quoted()),
		"run it there by hand, fix it, and retry the node")
}

// tailWriter keeps the end of what is written to it.
type tailWriter struct{ b []byte }

const tailSize = 2000

func (w *tailWriter) Write(b []byte) (int, error) {
	w.b = append(w.b, b...)
	if n := len(w.b) - tailSize; n > 0 {
		w.b = append(w.b[:0], w.b[n:]...)
	}
	return len(b), nil
}

func (w *tailWriter) quoted() string {
	if b := bytes.TrimSpace(w.b); len(b) > 0 {
		return "\n" + string(b)
	}
	return ""
}

// Record is what Prepare records in the private git directory.
type Record struct {
	Done  bool        `json:"done"`
	Given []givenPath `json:"given,omitempty"`
	// Brought are the paths that git shows and that are not the agent's doing.
	Brought []*BroughtPath `json:"brought,omitempty"`

	dirs    map[string]bool
	files   map[string]givenPath
	brought map[string]*BroughtPath
}

// givenPath is an ignored path that copy, link or setup brought. A directory
// ends in a slash; a file counts as given as long as it is unchanged.
type givenPath struct {
	Path  []byte `json:"path"` // file names need not be UTF-8
	Size  int64  `json:"size,omitempty"`
	MTime int64  `json:"mtime,omitempty"` // nanoseconds
}

// ReadRecord reads what cmux put into a worktree from its private folder. A missing file
// is an empty record; of a torn one nothing counts as given.
func ReadRecord(private string) (*Record, error) {
	p := &Record{dirs: map[string]bool{}, files: map[string]givenPath{}, brought: map[string]*BroughtPath{}}
	b, err := gitfile.Read(filepath.Join(private, git.PreparedFile), 1<<30)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	} else if err != nil && !errors.Is(err, gitfile.ErrNone) {
		return nil, err
	}
	if json.Unmarshal(b, p) != nil {
		// Torn by a crash: nothing counts as given, so more is saved, and Prepare runs again.
		p.Done, p.Given, p.Brought = false, nil, nil
	}
	p.Brought = slices.DeleteFunc(p.Brought, func(b *BroughtPath) bool { return b == nil })
	for _, b := range p.Brought {
		p.brought[string(b.Path)] = b
	}
	for _, g := range p.Given {
		if dir, ok := strings.CutSuffix(string(g.Path), "/"); ok {
			p.dirs[dir] = true
		} else {
			p.files[string(g.Path)] = g
		}
	}
	return p, nil
}

// At is what is known of a path that was brought; nil: it was not.
func (p *Record) At(path string) *BroughtPath { return p.brought[path] }

// Within tells whether rel is, or lies in, a given directory.
func (p *Record) Within(rel string) bool {
	if len(p.dirs) == 0 {
		return false
	}
	for ; rel != "." && rel != "/"; rel = filepath.Dir(rel) {
		if p.dirs[rel] {
			return true
		}
	}
	return false
}

// File tells whether rel is a given file, and unchanged.
func (p *Record) File(rel string, info fs.FileInfo) bool {
	g, ok := p.files[rel]
	return ok && g.Size == info.Size() && g.MTime == info.ModTime().UnixNano()
}
