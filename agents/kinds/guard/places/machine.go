package places

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// here is the Machine that cmux itself runs on.
type here struct {
	dir   string
	env   []string
	start func(*exec.Cmd) error
}

// Here is the machine that this process runs on, for an agent that works in dir
// with env. A question to git may take ten seconds.
func Here(dir string, env []string) Machine { return HereBy(dir, env, (*exec.Cmd).Start) }

// HereBy is Here for an agent whose own settings of git may hold there: start starts git.
func HereBy(dir string, env []string, start func(*exec.Cmd) error) Machine {
	return here{dir, append(dotenv(dir, env), env...), start}
}

var (
	// dotenvs are the files of the folder where they work from which programs add to
	// their environment what it does not have.
	dotenvs   = []string{".env", ".qwen/.env", ".gemini/.env"}
	assigning = sync.OnceValue(func() *regexp.Regexp {
		// Wherever it stands: what ends a line, and what is blank, readers see differently.
		return regexp.MustCompile(`\b(GIT_\w+|GOFLAGS|GOENV|BASH_ENV|ENV|ZDOTDIR|CDPATH|XDG_CONFIG_HOME|(?:LD|DYLD|PYTHON|PERL|RUBY|NODE)_?\w+|PROMPT_COMMAND|CMUX_PORT_BASE|CMUX_SLOT)\s*[=:]\s*([^\r\n]*)`)
	})
)

// dotenv are the variables of such files that matter to git and to shells.
func dotenv(dir string, env []string) (more []string) {
	for _, name := range dotenvs {
		b, err := readBounded(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
			continue
		case err != nil:
			more = append(more, "GIT_DIR=unknown") // a program may be able to read it
		}
		for _, m := range assigning().FindAllStringSubmatch(string(b), -1) {
			if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, m[1]+"=") }) {
				more = append(more, m[1]+"="+strings.Trim(m[2], `"'`+"`"))
			}
		}
	}
	return more
}

const patience = 10 * time.Second

// readBounded reads a regular file, links followed, of at most 1 MB.
func readBounded(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would have it wait
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return nil, syscall.EISDIR
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil, fmt.Errorf("%s is not a regular file, or is larger than 1 MB", path)
	}
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// Env implements Machine.
func (h here) Env(name string) string {
	value := ""
	for _, e := range h.env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// Program implements Machine.
func (h here) Program(name string) (folders []string, ok bool) {
	for _, folder := range filepath.SplitList(h.Env("PATH")) {
		folders = append(folders, folder)
		if !filepath.IsAbs(folder) {
			return folders, true // it is where the agent stands
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return folders, true
		}
	}
	return folders, false
}

// Git implements Machine. What is asked is no deed of the agent's: a trace of
// those does not have it.
func (h here) Git(stdin string, args ...string) (string, error) {
	folders, ok := h.Program("git")
	if !ok {
		return "", exec.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(folders[len(folders)-1], "git"), args...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.dir, append(slices.DeleteFunc(slices.Clone(h.env), traced), "GIT_OPTIONAL_LOCKS=0"), strings.NewReader(stdin), &out, &said
	err := h.start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, said.String())
	}
	return out.String(), nil
}

func traced(e string) bool { return strings.HasPrefix(e, "GIT_TRACE") }

// Exists implements Machine.
func (h here) Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Public implements Machine.
func (h here) Public(path string) bool {
	if i, err := os.Lstat(path); err != nil || !i.Mode().IsRegular() || i.Mode().Perm()&0o004 == 0 {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if i, err := os.Lstat(dir); err != nil || i.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// Text implements Machine.
func (h here) Text(path string) (string, error) {
	b, err := readBounded(path)
	return string(b), err
}

// Names implements Machine.
func (h here) Names(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Machine is what is asked of the machine about the commands of an agent, with
// the agent's own environment, each time again: what it says of one call need
// not hold at the next.
type Machine interface {
	// Env is a variable of the agent's environment.
	Env(name string) string
	// Program is where PATH finds a program, after the folders that it looks
	// through before; the last one is the program's.
	Program(name string) (folders []string, ok bool)
	// Git runs git in the node's worktree.
	Git(stdin string, args ...string) (stdout string, err error)
	// Names are the entries of a folder; none when there is no folder.
	Names(folder string) ([]string, error)
	// Text is what a regular file of at most 1 MB holds.
	Text(path string) (string, error)
	// Exists reports whether there is anything of that name, be it a link to nothing.
	Exists(path string) bool
	// Public reports whether a path is a regular file that every user may read.
	Public(path string) bool
}

// Absolute is a path that a program printed in a folder.
func Absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
