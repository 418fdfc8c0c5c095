package common

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"cmux/worktree/git"
)

// maxKept is the size up to which a shared file's content is kept.
const maxKept = 256 << 10

// Read returns what the worktree at dir, a root of the repository, shares with
// the others. Refs are read when asked for: those of replace objects always.
func (d Dir) Read(ctx context.Context, dir string, refs bool) (*State, error) {
	s := &State{Home: os.Getenv("HOME") + ":" + os.Getenv("XDG_CONFIG_HOME") + ":" + os.Getenv("GIT_CONFIG_GLOBAL") + ":" + os.Getenv("GIT_CONFIG_SYSTEM")}
	var (
		wg             sync.WaitGroup
		confErr, rfErr error
	)
	wg.Go(func() { confErr = s.readConfig(ctx, dir) })
	wg.Go(func() { rfErr = s.readRefs(ctx, d, refs) })
	err := s.readFiles(d.repo.GitDir)
	wg.Wait()
	if err = errors.Join(confErr, rfErr, err); err != nil {
		return nil, err
	}
	return s, s.readIncluded(d.repo.GitDir)
}

// readIncluded adds the files that the repository's configuration includes:
// under a condition that does not hold here, git lists nothing of them.
func (s *State) readIncluded(gitDir string) error {
	for _, e := range s.Config {
		section, name, _ := cutKey(e.Key)
		if section != "includeif" || name != "path" || e.Scope != "local" && e.Scope != "worktree" {
			continue
		}
		file := e.Value
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			file = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(gitDir, file)
		}
		f, err := readShared(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		} else if err != nil {
			return err
		}
		rel, err := filepath.Rel(gitDir, file)
		if err != nil {
			return err
		}
		s.Files[rel] = f
	}
	return nil
}

func (s *State) readConfig(ctx context.Context, dir string) error {
	out, err := git.Run(ctx, dir, "config", "--list", "--show-scope", "--includes", "-z")
	if err != nil {
		var ge *git.Error
		if ctx.Err() == nil && errors.As(err, &ge) && ge.Code > 0 {
			s.Broken = strings.TrimSpace(ge.Stderr)
			return nil
		}
		return err
	}
	f := git.Fields(out)
	for i := 0; i+1 < len(f); i += 2 {
		if f[i] == "command" {
			continue // of this very call
		}
		key, value, ok := strings.Cut(f[i+1], "\n")
		if !ok {
			value = "true" // a key without a value
		}
		s.Config = append(s.Config, Setting{Scope: f[i], Key: key, Value: value})
	}
	return nil
}

// ownRefs are those that every worktree has for itself.
var ownRefs = []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"}

func (s *State) readRefs(ctx context.Context, d Dir, all bool) error {
	args := []string{"for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)"}
	if !all {
		args = append(args, "refs/replace/")
	}
	// The environment that hides replace objects does not hide their refs.
	out, err := git.Run(ctx, d.repo.Root, args...)
	if err != nil {
		if git.ExitCode(err) > 0 && ctx.Err() == nil {
			return nil // a configuration that git cannot read; Broken says so
		}
		return err
	}
	s.Refs = make(map[string]string, strings.Count(out, "\n"))
	for l := range strings.Lines(out) {
		f := strings.Split(git.Line(l), "\x00")
		if len(f) != 3 {
			return fmt.Errorf("git for-each-ref: unexpected line %q", l)
		}
		own := false
		for _, p := range ownRefs {
			own = own || strings.HasPrefix(f[0], p)
		}
		if own {
			continue
		}
		if s.Refs[f[0]] = f[1]; f[2] != "" {
			s.Refs[f[0]] = "ref: " + f[2]
		}
	}
	return nil
}

// sharedFiles are the files, and the folders with one level of files, in which
// git keeps what all worktrees share, as patterns below the git directory.
var sharedFiles = []string{"config", "config.worktree", "HEAD", "shallow", "hooks/*", "info/exclude", "info/attributes",
	"info/grafts", "info/sparse-checkout", "objects/info/alternates", "objects/info/http-alternates",
	"remotes/*", "branches/*", "modules/*/config", "modules/*/hooks/*"}

func (s *State) readFiles(gitDir string) error {
	s.Files = make(map[string]SharedFile)
	for _, pattern := range sharedFiles {
		names := []string{filepath.Join(gitDir, pattern)}
		if strings.Contains(pattern, "*") {
			var err error
			if names, err = filepath.Glob(filepath.Join(git.EscapeGlob(gitDir), pattern)); err != nil {
				return err
			}
		}
		for _, full := range names {
			rel, err := filepath.Rel(gitDir, full)
			if err != nil {
				return err
			}
			if strings.HasPrefix(rel, "hooks/") && strings.HasSuffix(rel, ".sample") {
				continue // git runs no such
			}
			f, err := readShared(full)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue
			} else if err != nil {
				return err
			}
			s.Files[rel] = f
		}
	}
	return nil
}

// readShared reads one file without following a link or waiting for a pipe.
func readShared(name string) (SharedFile, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return SharedFile{}, err
	}
	f := SharedFile{Mode: info.Mode() & (fs.ModeType | fs.ModePerm)}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return f, err
		}
		f.Data = []byte(target)
		// What it points to is what git reads.
		if there, err := os.Stat(name); err == nil && there.Mode().IsRegular() {
			f.Sum = fmt.Sprint(there.Size(), there.ModTime().UnixNano())
		}
		f.Sum = sum(append([]byte(f.Sum+"\x00"), f.Data...))
		return f, nil
	case !info.Mode().IsRegular():
		f.Sum = sum(nil)
		return f, nil
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) {
		f.Sum = sum([]byte("unreadable"))
		return f, nil
	} else if err != nil {
		return f, err
	}
	defer file.Close()
	h := sha256.New()
	if info.Size() > maxKept {
		_, err = io.Copy(h, file)
	} else if f.Data, err = io.ReadAll(io.LimitReader(file, maxKept+1)); err == nil {
		h.Write(f.Data)
	}
	f.Sum = hex.EncodeToString(h.Sum(nil))
	return f, err
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Stamp returns a text that changes with the files that decide which programs git runs
// in a checkout or merge. It costs a few system calls.
func (d Dir) Stamp() string {
	files := []string{filepath.Join(d.repo.GitDir, "config"), filepath.Join(d.repo.GitDir, "config.worktree"),
		filepath.Join(d.repo.GitDir, "info", "attributes"), filepath.Join(d.repo.GitDir, "objects", "info", "alternates")}
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"))
	}
	var b strings.Builder
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			b.WriteString("-\n")
			continue
		}
		fmt.Fprintln(&b, info.Size(), info.ModTime().UnixNano(), changeTime(info))
	}
	return b.String()
}

// Pushed notes that a commit was pushed to the branch of the same name of a remote, as git
// push --set-upstream does: branch follows that one, and its remote-tracking branch is at
// the commit.
func (d Dir) Pushed(ctx context.Context, branch, remote, commit string) error {
	out, err := git.Run(ctx, d.repo.Root, "config", "--get-all", "remote."+remote+".fetch")
	if err != nil && git.ExitCode(err) != 1 {
		return err
	}
	for line := range strings.Lines(out) {
		from, to, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "+"), ":")
		if folder, ok := strings.CutSuffix(to, "/*"); ok && from == "refs/heads/*" {
			ref := folder + "/" + branch
			d.repo.RecordOwn(git.Own{Ref: ref, New: commit})
			if _, err := git.Run(ctx, d.repo.Root, "update-ref", "-m", "update by push", ref, commit); err != nil {
				return err
			}
		}
	}
	d.repo.RecordOwn(git.Own{Key: "branch." + branch + ".remote", New: remote})
	d.repo.RecordOwn(git.Own{Key: "branch." + branch + ".merge", New: "refs/heads/" + branch})
	if _, err := git.Run(ctx, d.repo.Root, "config", "branch."+branch+".remote", remote); err != nil {
		return err
	}
	_, err = git.Run(ctx, d.repo.Root, "config", "branch."+branch+".merge", "refs/heads/"+branch)
	return err
}

// Restore brings back what changed, of which base was the state before:
// the repository's settings and files, and the refs that base holds. It touches
// nothing else. What it cannot bring back it returns, with why as New.
func (d Dir) Restore(ctx context.Context, base *State, changes []Change) (left []Change, err error) {
	for _, c := range changes {
		var err error
		switch c.Kind {
		case ChangedSetting:
			err = d.restoreSetting(ctx, c)
		case ChangedFile:
			err = d.restoreFile(base, c.Name)
		case ChangedRef:
			err = d.restoreRef(ctx, c)
		}
		if ctx.Err() != nil {
			return left, ctx.Err()
		}
		if err != nil {
			c.New = err.Error()
			left = append(left, c)
		}
	}
	return left, nil
}

func (d Dir) restoreSetting(ctx context.Context, c Change) error {
	scope := "--" + c.Scope
	if c.Scope != "local" && c.Scope != "worktree" {
		return errors.New("cmux changes nothing outside the repository; set it by hand")
	}
	d.repo.RecordOwn(git.Own{Key: c.Name})
	if _, err := git.Run(ctx, d.repo.Root, "config", scope, "--unset-all", c.Name); err != nil && git.ExitCode(err) != 5 { // 5: there is none
		return err
	}
	for _, v := range c.was {
		if _, err := git.Run(ctx, d.repo.Root, "config", scope, "--add", c.Name, v); err != nil {
			return err
		}
	}
	return nil
}

func (d Dir) restoreFile(base *State, name string) error {
	full := filepath.Join(d.repo.GitDir, name)
	f, was := base.Files[name]
	if was && f.Data == nil && f.Mode.IsRegular() {
		return errors.New("it is too large to have been kept")
	}
	if was && !f.Mode.IsRegular() && f.Mode&fs.ModeSymlink == 0 {
		return fmt.Errorf("it was a %s", f.Mode.Type())
	}
	if !was || f.Mode&fs.ModeSymlink != 0 {
		if err := os.RemoveAll(full); err != nil {
			return err
		}
		if !was {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		return err
	}
	if f.Mode&fs.ModeSymlink != 0 {
		return os.Symlink(string(f.Data), full)
	}
	if info, err := os.Lstat(full); err == nil && info.IsDir() {
		if err := os.RemoveAll(full); err != nil {
			return err
		}
	}
	if err := git.WriteFile(full, f.Data); err != nil {
		return err
	}
	return os.Chmod(full, f.Mode.Perm())
}

func (d Dir) restoreRef(ctx context.Context, c Change) error {
	var err error
	switch {
	case c.Old == "" && strings.HasPrefix(c.New, "ref: "):
		_, err = git.Run(ctx, d.repo.Root, "symbolic-ref", "-d", c.Name)
	case c.Old == "":
		_, err = git.Run(ctx, d.repo.Root, "update-ref", "-d", "--", c.Name, c.New)
	case strings.HasPrefix(c.Old, "ref: "):
		_, err = git.Run(ctx, d.repo.Root, "symbolic-ref", c.Name, strings.TrimPrefix(c.Old, "ref: "))
	case strings.HasPrefix(c.New, "ref: "): // itself, not what it leads to
		_, err = git.Run(ctx, d.repo.Root, "update-ref", "--no-deref", "--", c.Name, c.Old)
	default:
		err = d.repo.UpdateRef(ctx, c.Name, c.Old, c.New)
	}
	return err
}
