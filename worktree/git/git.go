package git

import (
	"bytes"
	"cmux/worktree/hint"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What errors.Is can tell apart. Each comes wrapped in a *hint.Error.
var (
	ErrGit    = errors.New("unusable git")
	ErrBadRef = errors.New("not a commit")
)

// Error is a git command that failed.
type Error struct {
	Args   []string // without git's own global options
	Dir    string
	Code   int // exit code, -1 when it ended otherwise
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	args := e.Args
	if len(args) > 6 {
		args = append(slices.Clone(args[:6]), "...")
	}
	said := slices.DeleteFunc(strings.Split(e.Stderr, "\n"), func(line string) bool { return strings.HasPrefix(line, "hint:") })
	msg := strings.TrimSpace(strings.Join(said, "\n"))
	if msg == "" {
		msg = e.Err.Error()
	}
	return fmt.Sprintf("git %s (in %s): %s", strings.Join(args, " "), e.Dir, msg)
}

func (e *Error) Unwrap() error { return e.Err }

// Command is one run of git.
type Command struct {
	Dir    string
	Args   []string
	Env    []string  // added to the fixed environment
	Config []string  // further -c settings, key=value
	Stdin  []byte    // or
	Input  io.Reader // never retried
	Stdout io.Writer // nil: returned
	Warned *string   // gets what git said on its standard error, also when all went well
}

// Run runs git with args in dir and returns its standard output.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	return Command{Dir: dir, Args: args}.Run(ctx)
}

// lockWait bounds how long a command is repeated while another git process
// holds a lock it needs.
const lockWait = 5 * time.Second

// Run runs git and returns its standard output, whole. If another process holds a lock,
// Run repeats the command with growing pauses. It removes a lock that a killed git left.
func (c Command) Run(ctx context.Context) (string, error) {
	began := time.Now()
	deadline := began.Add(lockWait)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		out, err := c.once(ctx)
		var ge *Error
		if err == nil || c.Input != nil || c.Stdout != nil || !errors.As(err, &ge) || !lockBusy(ge.Stderr) {
			return out, err
		}
		if pause >= abandonedAfter {
			removed, held := breakLock(ctx, lockPath(ge.Stderr, c.Dir), began)
			if time.Now().After(deadline) && !removed {
				return out, explainLock(err, lockPath(ge.Stderr, c.Dir), held)
			}
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return "", ctx.Err()
		case <-t.C:
		}
	}
}

// lockBusy tells a lock file in the way from every other failure.
func lockBusy(stderr string) bool {
	return strings.Contains(stderr, ".lock': File exists") ||
		strings.Contains(stderr, "could not lock config file")
}

func (c Command) once(ctx context.Context) (string, error) {
	var args []string
	for _, kv := range c.Config {
		args = append(args, "-c", kv)
	}
	cmd := Exec(ctx, c.Dir, os.Environ(), append(args, c.Args...)...)
	cmd.Env = append(cmd.Env, c.Env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.Input != nil {
		cmd.Stdin = c.Input
	} else if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	var err error
	if c.Stdout != nil {
		err = drain(ctx, cmd, c.Stdout)
	} else {
		err = Wait(ctx, cmd)
	}
	if c.Warned != nil {
		*c.Warned = stderr.String()
	}
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", gitMissing(err)
	}
	ge := &Error{Args: c.Args, Dir: c.Dir, Code: -1, Stderr: stderr.String(), Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		ge.Code = exit.ExitCode()
	}
	return stdout.String(), ge
}

// drain runs cmd with its output going to w for as long as w takes: git may
// have ended long before all of it is read, and a slow reader is no failure.
func drain(ctx context.Context, cmd *exec.Cmd, w io.Writer) error {
	if f, ok := w.(*os.File); ok {
		cmd.Stdout = f
		return Wait(ctx, cmd)
	}
	r, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Stdout = out
	var copyErr error
	err = wait(ctx, cmd, func() {
		out.Close()
		stop := context.AfterFunc(ctx, func() { r.SetReadDeadline(time.Now().Add(cancelGrace)) })
		defer stop()
		_, copyErr = io.Copy(w, r)
		r.Close() // a reader that gave up ends git, which would wait for it
	})
	out.Close()
	if err != nil {
		return err
	}
	return copyErr
}

// ExitCode is the code git ended with, 0 without an error and -1 when it did
// not end by itself.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var ge *Error
	if errors.As(err, &ge) {
		return ge.Code
	}
	return -1
}

// Line drops the newline that ends git's one-line answers, and only that: a path may end
// in white space.
func Line(out string) string { return strings.TrimSuffix(out, "\n") }

// Fields splits NUL-terminated output.
func Fields(out string) []string {
	out = strings.TrimSuffix(out, "\x00")
	if out == "" {
		return nil
	}
	return strings.Split(out, "\x00")
}

func gitMissing(err error) error {
	return hint.New(fmt.Errorf("%w: git is not installed or not in PATH: %w", ErrGit, err),
		"install git 2.38 or newer")
}

// Author is nil where a commit in dir has an author, with the environment env.
func Author(ctx context.Context, dir string, env []string) error {
	return Exec(ctx, dir, env, "var", "GIT_AUTHOR_IDENT").Run()
}

// CheckVersion refuses a git that lacks merge-tree --write-tree.
func CheckVersion(ctx context.Context) error {
	out, err := Run(ctx, "/", "version")
	if err != nil {
		return err
	}
	return versionOK(out)
}

func versionOK(out string) error {
	v := strings.TrimPrefix(strings.TrimSpace(out), "git version ")
	v, _, _ = strings.Cut(v, " ") // "2.39.5 (Apple Git-154)"
	parts := strings.SplitN(v, ".", 3)
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && (major > 2 || major == 2 && minor >= 38) {
			return nil
		}
	}
	return hint.New(fmt.Errorf("%w: git %s is too old: cmux needs git 2.38 or newer", ErrGit, v),
		"install a newer git and put it first in PATH")
}
