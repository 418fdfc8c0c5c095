package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"cmux/worktree/gitfile"
)

type confineKey struct{}

// A Confine restricts a command to writing what its program may, and the places of write.
// It changes the calling thread for good, or cmd.
type Confine = func(cmd *exec.Cmd, write []string) error

// WithConfine returns a context in which confine restricts the commands that Start starts,
// cmux's own git among them. A worktree and its private git directory may belong to a
// program that leads git elsewhere: by links, commondir, settings and nested repositories.
// Under that program's own fence, git does no more than the program can.
func WithConfine(ctx context.Context, confine Confine) context.Context {
	return context.WithValue(ctx, confineKey{}, confine)
}

type looksKey struct{}

// Looking returns a context without what WithConfine set, in which that restricts nothing
// but commands that look at the files of a worktree: git status and git diff go into nested
// repositories, and run the filters that an agent set there.
func Looking(ctx context.Context) context.Context {
	if confine, _ := ctx.Value(confineKey{}).(Confine); confine != nil {
		ctx = context.WithValue(ctx, looksKey{}, confine)
	}
	return WithConfine(ctx, nil)
}

// looks reports whether a command of git only looks at files.
func looks(args []string) bool {
	return slices.Contains([]string{"status", "diff", "diff-files", "diff-index"}, verb(args))
}

// writes reports whether a command of git writes the files of a worktree.
func writes(args []string) bool {
	return slices.Contains([]string{"checkout", "clean", "merge", "read-tree", "reset", "restore"}, verb(args))
}

// verb returns what a command of git is told to do.
func verb(args []string) string {
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-c":
			i++
		case !strings.HasPrefix(arg, "-"):
			return arg
		}
	}
	return ""
}

type foreignKey struct{}

// WithForeign returns a context in which confine restricts git where the settings of git may
// be an agent's, unless WithConfine does: in a worktree that has a separate git directory,
// and, once it has had one, in the repositories inside of it. There git may write what the
// agent could. What only looks at the files of such a worktree goes into the repositories
// inside, and may write nothing.
func WithForeign(ctx context.Context, confine Confine) context.Context {
	return context.WithValue(ctx, foreignKey{}, confine)
}

type plainKey struct{}

// WithPlain returns a context in which plain restricts git that nothing else restricts, where
// a program may put a link in the place of a folder while git writes or reads there: where
// WithTree gives git a directory, since a program lives in that worktree, and where git writes
// the files of another worktree. plain is told the worktree and the git directory of the
// former, else no directory. It keeps git from following links where such a program writes.
func WithPlain(ctx context.Context, plain func(cmd *exec.Cmd, tree, private string) error) context.Context {
	return context.WithValue(ctx, plainKey{}, plain)
}

// settings are whose settings of git hold in a folder, beside those of the person.
type settings struct {
	agents bool     // an agent's
	inside bool     // an agent's in the repositories inside
	write  []string // where the agent could write, if it is in one of those
}

// settingsIn finds the worktree above a folder in which an agent works, or has worked, with
// a separate git directory.
func settingsIn(dir string) settings {
	nested := false
	for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		name := filepath.Join(dir, ".git")
		if file, err := os.Lstat(name); err == nil {
			private, err := gitfile.Private(dir)
			separate := err == nil && filepath.Base(private) == gitfile.Separate
			if separate && !nested {
				return settings{agents: true}
			}
			if separate {
				private = filepath.Dir(private)
			}
			if err == nil && There(filepath.Join(private, gitfile.Fenced)) && registeredAs(private, file) {
				if !nested {
					return settings{inside: true}
				}
				return settings{agents: true, write: []string{dir, filepath.Join(private, "modules")}}
			}
			nested = true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return settings{}
}

// registeredAs reports whether private is the git directory of the worktree whose .git is
// the file: an agent can write such a file that names another's.
func registeredAs(private string, file os.FileInfo) bool {
	b, err := gitfile.Read(filepath.Join(private, "gitdir"), 1<<16)
	if err != nil {
		return false
	}
	info, err := os.Lstat(strings.TrimRight(string(b), "\r\n"))
	return err == nil && os.SameFile(info, file)
}

// restricted returns what restricts cmd, which WithConfine does not; nil: nothing.
func restricted(ctx context.Context, cmd *exec.Cmd) (Confine, error) {
	within, _ := ctx.Value(foreignKey{}).(Confine)
	private := pinnedAt(ctx, cmd.Dir)
	pinned := private != ""
	var s settings
	if !pinned {
		s = settingsIn(cmd.Dir)
	}
	if s.agents && within == nil {
		return nil, fmt.Errorf("an agent's own settings of git hold in %s: git does not run there", cmd.Dir)
	}
	if !s.agents && looks(cmd.Args) {
		if confine, _ := ctx.Value(looksKey{}).(Confine); confine != nil {
			return confine, nil
		}
		s.agents = pinned || s.inside // pinned: an agent lives there
	}
	if plain, _ := ctx.Value(plainKey{}).(func(*exec.Cmd, string, string) error); !s.agents && plain != nil && (pinned || writes(cmd.Args)) {
		return func(cmd *exec.Cmd, _ []string) error { return plain(cmd, cmd.Dir, private) }, nil
	}
	if !s.agents || within == nil {
		return nil, nil
	}
	return func(cmd *exec.Cmd, write []string) error { return within(cmd, slices.Concat(s.write, write)) }, nil
}

// Start starts cmd, restricted as ctx says.
func Start(ctx context.Context, cmd *exec.Cmd) error {
	confine, err := confinement(ctx, cmd)
	if err != nil {
		return err
	}
	return start(cmd, confine, nil)
}

// confinement returns what restricts cmd; nil: nothing.
func confinement(ctx context.Context, cmd *exec.Cmd) (Confine, error) {
	if confine, _ := ctx.Value(confineKey{}).(Confine); confine != nil {
		return confine, nil
	}
	return restricted(ctx, cmd)
}

func start(cmd *exec.Cmd, confine Confine, write []string) error {
	if confine == nil {
		return cmd.Start()
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		err := confine(cmd, write)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// Wait runs cmd to its end, restricted as ctx says.
func Wait(ctx context.Context, cmd *exec.Cmd) error {
	return wait(ctx, cmd, func() {})
}

// wait is Wait, and calls meanwhile when cmd has started.
//
// To compare a file with what is committed, Git LFS writes a copy of it into the git
// directory, which a restricted command may not write: such a command gets a folder of its own
// for that. The copies are of no use to anybody.
func wait(ctx context.Context, cmd *exec.Cmd, meanwhile func()) error {
	confine, err := confinement(ctx, cmd)
	if err != nil {
		return err
	}
	var write []string
	if confine != nil && (looks(cmd.Args) || slices.Contains(cmd.Args, "--intent-to-add")) { // the latter in a copy of the index
		dir, err := os.MkdirTemp("", "cmux-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return err
		}
		write = []string{dir}
		cmd.Args = slices.Insert(slices.Clone(cmd.Args), 1, "-c", "lfs.storage="+dir)
	}
	if err := start(cmd, confine, write); err != nil {
		return err
	}
	meanwhile()
	return cmd.Wait()
}
