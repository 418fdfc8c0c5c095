package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"cmux/agents/control/project"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/fence"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/separate"
)

// Changes are the files that a node or a task has changed since the commit that it
// started from.
type Changes struct {
	Start string                `json:"start"` // the commit
	Tip   string                `json:"tip"`   // the commit that its branch holds; empty: there is none
	Live  bool                  `json:"live"`  // what is not committed is among them
	Files []worktree.FileChange `json:"files"` // by path
	More  int                   `json:"more"`  // beside Files
}

// maxChanges bounds the files of Changes.
const maxChanges = 5000

// FilePair is a file as it was at the start commit and as it is now.
type FilePair struct {
	Path string    `json:"path"`
	Was  string    `json:"was"`
	Old  *FileSide `json:"old"` // null: there was none
	New  *FileSide `json:"new"` // null: there is none
}

// FileSide is one state of a file.
type FileSide struct {
	Kind   string `json:"kind"` // file, executable, link, submodule, other
	Size   int64  `json:"size"`
	Text   string `json:"text"`   // of a link what it points at; of a submodule its commit
	Binary bool   `json:"binary"` // it is no text, which is then empty
	Cut    bool   `json:"cut"`    // it goes on
}

// Span is what a node or a task has changed: from the commit Start to Tip, or to what
// stands in a worktree, committed or not (see Stands).
type Span struct {
	By         project.Caller // whose git it is
	Dir        string         // where git looks: the project, or the worktree
	Start, Tip string
	Root       string    // the project's
	Fence      dag.Fence // of the node whose worktree it is
	objects    string    // where git may write objects of the worktree
	tree       bool      // it ends in the worktree Dir
}

// Stands makes the span end in a worktree, and reports whether that is there.
func (w *Span) Stands(tree string) bool {
	if info, err := os.Stat(tree); tree == "" || err != nil || !info.IsDir() {
		return false
	}
	common := filepath.Join(w.Dir, ".git")
	if private, err := gitfile.Private(w.Dir); err == nil { // the project is itself a linked worktree
		common = gitfile.Common(private)
	}
	w.objects = filepath.Join(common, "objects")
	if own, err := gitfile.Private(tree); err == nil && separate.Is(common, own) {
		w.objects = own // and not what lies in it, which may be a link of the node's
	}
	w.Dir, w.tree = tree, true
	return true
}

// Look returns ctx in which git writes nothing but write, as far as the system has a fence.
// A node with a fence of its own may lead git elsewhere in its worktree and name programs
// for git to run: what looks into it from outside is not to do more than the node may.
// The node has the fence f, in the project at root. env looks up a variable of the person.
func Look(ctx context.Context, env func(name string) string, root string, f dag.Fence, write ...string) context.Context {
	if _, err := fence.Support(); err != nil {
		return ctx
	}
	around := outside(env, append(endpoint.Secrets(root), fence.Named(f.Hide, env)...))
	return git.WithConfine(ctx, func(cmd *exec.Cmd, also []string) error { return around(cmd, slices.Concat(write, also)) })
}

// Foreign returns ctx in which git writes no more than an agent could, where the settings
// of git may be an agent's.
func Foreign(ctx context.Context, env func(name string) string) context.Context {
	ctx = git.WithPlain(ctx, plain())
	return git.WithForeign(ctx, outside(env, nil))
}

// plain returns what keeps git from following links in a worktree where a program lives, and
// in the folders of a project that its supervisor writes. Where the system cannot do that, git
// writes in nothing but the worktree and its repository.
func plain() func(cmd *exec.Cmd, tree, private string) error {
	can := sync.OnceValue(func() error { _, err := fence.Hides(); return err })
	return func(cmd *exec.Cmd, tree, private string) error {
		folders := []string{tree}
		if private == "" {
			if folders = ledgers(tree); len(folders) == 0 {
				return nil
			}
		}
		if can() == nil {
			return fence.Plain(cmd, folders...)
		}
		if _, err := fence.Support(); err != nil || private == "" {
			return nil // nor is there a fence around the program
		}
		return (&fence.Fence{Write: []string{tree, gitfile.Common(private), os.DevNull}}).Confine(cmd)
	}
}

// ledgers are the folders of a project that its supervisor may write.
func ledgers(root string) (all []string) {
	for _, l := range places.Ledgers() {
		path := filepath.Join(root, l.Path)
		if info, err := os.Lstat(path); err == nil && l.Folder && info.IsDir() {
			all = append(all, path)
		}
	}
	return all
}

// outside returns what restricts git to writing places. It hides secrets, the person's key
// and the servers that run what they are told, if this system can.
func outside(env func(name string) string, secrets []string) func(cmd *exec.Cmd, write []string) error {
	hidden := sync.OnceValue(func() (f fence.Fence) {
		if _, err := fence.Hides(); err != nil {
			return f
		}
		f.Hide, f.Show = fence.Doors(env)
		f.Hide = append(f.Hide, secrets...)
		if dir, err := run.KeyFolder(); err == nil {
			f.Hide = append(f.Hide, dir)
		}
		return f
	})
	return func(cmd *exec.Cmd, write []string) error {
		f := hidden()
		f.Write = append(slices.Clone(write), os.DevNull)
		return f.Confine(cmd)
	}
}

// Diff calls f to run a diff of the span, with further arguments and environment, in a
// context for git.
func (w *Span) Diff(ctx context.Context, f func(ctx context.Context, env []string, args ...string) error) error {
	if !w.tree {
		return f(ctx, nil, w.Start, w.Tip)
	}
	return w.unmoved(ctx, func() error { return w.diffTree(ctx, f) })
}

// unmoved calls f, which asks git in the span's folder, and calls it again if it failed
// because the worktree's node ended meanwhile: cmux takes over its own git directory then.
func (w *Span) unmoved(ctx context.Context, f func() error) error {
	was, _ := gitfile.Private(w.Dir)
	err := f()
	if err == nil || !w.tree || filepath.Base(was) != gitfile.Separate {
		return err
	}
	late := time.After(takeOver)
	for waited := false; ; waited = true {
		is, gerr := gitfile.Private(w.Dir)
		switch {
		case gerr == nil && is != was:
			w.objects = filepath.Join(gitfile.Shared(is), "objects")
			return f()
		case git.There(filepath.Join(was, "HEAD")): // it was not taken over, or begins again
			if waited {
				return f()
			}
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// takeOver bounds how long a look into a worktree waits for its node to end.
const takeOver = 5 * time.Second

// diffTree is Diff of what stands in a worktree.
func (w *Span) diffTree(ctx context.Context, f func(ctx context.Context, env []string, args ...string) error) error {
	tmp, err := git.TempDir(cmp.Or(w.Root, w.Dir), "cmux-diff-", false)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if w.Fence.On() {
		ctx = Look(ctx, w.By.Getenv, w.Root, w.Fence, tmp, w.objects)
	}
	index, err := w.privateIndex(ctx, tmp)
	if err != nil {
		return err
	}
	return f(ctx, index, w.Start)
}

// privateIndex copies the index of the worktree into tmp and adds untracked
// files to the copy, so that a diff shows them and the worktree is not touched.
// It returns the environment that selects the copy.
func (w *Span) privateIndex(ctx context.Context, tmp string) (env []string, err error) {
	path, err := w.By.Git(ctx, w.Dir, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(tmp, "index")
	if _, err := git.CopyIndex(strings.TrimSuffix(path, "\n"), copied); err != nil {
		return nil, err
	}
	env = []string{"GIT_INDEX_FILE=" + copied}
	cmd := git.Exec(ctx, w.Dir, w.By.Env, "add", "--intent-to-add", "--all", "--sparse", ".")
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := git.Wait(ctx, cmd); err != nil {
		return nil, fmt.Errorf("git add in a copy of the index: %s: %w", bytes.TrimSpace(out.Bytes()), err)
	}
	return env, nil
}

// Changes lists the files of the work.
func (w *Span) Changes(ctx context.Context) (*Changes, error) {
	c := &Changes{Start: w.Start, Tip: w.Tip}
	err := w.Diff(ctx, func(ctx context.Context, env []string, args ...string) error {
		cmd := git.Exec(ctx, w.Dir, w.By.Env, slices.Concat([]string{"diff", "--no-ext-diff", "--no-textconv", "-z", "--raw", "--numstat", "--find-renames"}, args, []string{"--"})...)
		cmd.Env = append(cmd.Env, env...)
		var out bytes.Buffer
		cmd.Stdout = &out
		err := git.Wait(ctx, cmd)
		if err != nil {
			return fmt.Errorf("git diff in %s: %w", w.Dir, err)
		}
		if c.Files, err = worktree.ReadChanges(out.String()); err != nil || !w.tree {
			return err
		}
		c.Live, err = w.uncommitted(ctx, env)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.Files, func(a, b worktree.FileChange) int { return strings.Compare(a.Path, b.Path) })
	if n := len(c.Files); n > maxChanges {
		c.Files, c.More = c.Files[:maxChanges], n-maxChanges
	}
	return c, nil
}

// uncommitted says whether something stands in the worktree that its commit does not
// have; env selects the index that has the untracked files.
func (w *Span) uncommitted(ctx context.Context, env []string) (bool, error) {
	cmd := git.Exec(ctx, w.Dir, w.By.Env, "diff", "--no-ext-diff", "--no-textconv", "--quiet", "HEAD", "--")
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := git.Wait(ctx, cmd)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true, nil
	} else if err != nil {
		return false, fmt.Errorf("git diff in %s: %s: %w", w.Dir, bytes.TrimSpace(out.Bytes()), err)
	}
	return false, nil
}

// File is both sides of a file.
func (w *Span) File(ctx context.Context, path, was string) (*FilePair, error) {
	if was == "" {
		was = path
	}
	pair := &FilePair{Path: path, Was: was}
	for _, name := range []string{path, was} {
		if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) || !isShown(filepath.Clean(name)) {
			return nil, project.Tag(fmt.Errorf("there is no file %q, or it is not shown", name), project.ErrMissing)
		}
	}
	err := w.unmoved(ctx, func() (err error) {
		pair.Old, err = w.committed(ctx, w.Start, was)
		return err
	})
	if err != nil {
		return nil, err
	}
	if w.tree {
		pair.New, err = StandingFile(w.Dir, path)
	} else {
		pair.New, err = w.committed(ctx, w.Tip, path)
	}
	if err == nil && pair.Old == nil && pair.New == nil {
		err = project.Tag(fmt.Errorf("there is no file %q, before or after", path), project.ErrMissing)
	}
	return pair, err
}

// committed is a file as a commit has it; nil: it has none.
func (w *Span) committed(ctx context.Context, commit, path string) (*FileSide, error) {
	out, err := w.By.Git(ctx, w.Dir, "ls-tree", "-z", "--long", "--full-tree", commit, "--", path)
	if err != nil {
		return nil, err
	}
	head, name, _ := strings.Cut(strings.TrimSuffix(out, "\x00"), "\t")
	f := strings.Fields(head) // MODE TYPE ID SIZE
	if len(f) != 4 || name != path {
		return nil, nil
	}
	side := &FileSide{Kind: "file"}
	side.Size, _ = strconv.ParseInt(f[3], 10, 64)
	switch f[0] {
	case "160000":
		side.Kind, side.Text = "submodule", f[2]
		return side, nil
	case "120000":
		side.Kind = "link"
	case "100755":
		side.Kind = "executable"
	}
	if f[1] != "blob" {
		return nil, nil
	}
	cmd := git.Exec(ctx, w.Dir, w.By.Env, "cat-file", "blob", f[2])
	said := new(bytes.Buffer)
	cmd.Stderr = said
	r, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err = side.read(r)
	if side.Cut {
		_ = cmd.Process.Kill() // what it still has to say is not wanted
	}
	if end := cmd.Wait(); end != nil && !side.Cut {
		err = errors.Join(err, fmt.Errorf("git cat-file in %s: %s: %w", w.Dir, strings.TrimSpace(said.String()), end))
	}
	return side, err
}

// StandingFile is a file as it stands in a worktree; nil: there is none. No link
// leads out of the worktree.
func StandingFile(tree, path string) (*FileSide, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	} else if err != nil {
		return nil, project.Tag(fmt.Errorf("%s cannot be shown: %w", path, err), project.ErrMissing)
	}
	side := &FileSide{Kind: "file", Size: info.Size()}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		side.Kind = "link"
		side.Text, err = root.Readlink(path)
		return side, err
	case mode.IsDir(): // a repository in the repository, or a folder in place of the file
		side.Kind, side.Size = "submodule", 0
		return side, nil
	case !mode.IsRegular():
		side.Kind, side.Size = "other", 0
		return side, nil
	case mode&0o111 != 0:
		side.Kind = "executable"
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return side, side.read(f)
}

// read takes in what is shown of a file.
func (s *FileSide) read(r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, maxShown+1))
	if s.Cut = len(b) > maxShown; s.Cut {
		b = Whole(b[:maxShown])
	}
	if s.Binary = !utf8.Valid(b) || slices.Contains(b, 0); !s.Binary {
		s.Text = string(b)
	}
	return err
}

// Whole is text without a character at its end that was cut in two, which is no
// reason to call it binary.
func Whole(b []byte) []byte {
	for range utf8.UTFMax {
		if utf8.Valid(b) {
			break
		}
		b = b[:len(b)-1]
	}
	return b
}
