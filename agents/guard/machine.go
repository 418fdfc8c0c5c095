package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// here is the Machine that cmux itself runs on.
type here struct {
	dir string
	env []string
}

// Here is the machine that this process runs on, for an agent that works in dir
// with env. A question to git may take ten seconds.
func Here(dir string, env []string) Machine { return here{dir, env} }

const patience = 10 * time.Second

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
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, said.String())
	}
	return out.String(), nil
}

func traced(e string) bool { return strings.HasPrefix(e, "GIT_TRACE") }

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
