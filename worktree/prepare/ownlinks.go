package prepare

import (
	"bytes"
	"cmux/worktree/hint"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A linked folder of packages may lead back to the project: npm and pnpm
// workspaces and composer's path repositories put links to the project's own
// packages into it, and a Python environment names the project's folder. Through
// a plain link these lead to the main checkout, and a check then tests code that
// the agent did not write.

// ownLinks finds, in the folder or link at from, the links to the project's own
// files: each with the folders above it, up to from.
func (r *Preparer) ownLinks(ctx context.Context, from string) (own map[string]bool, links int, err error) {
	own = map[string]bool{}
	err = filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			if !r.leadsHome(from, name) {
				return nil
			}
			links++
			for ; !own[name]; name = filepath.Dir(name) {
				own[name] = true
				if name == from {
					break
				}
			}
			return nil
		case d.Type().IsRegular():
			return r.imports(from, name)
		}
		return nil
	})
	return own, links, err
}

// leadsHome reports whether a link leads to the project's own files, and not to
// another place in the folder at from or to a package of somebody else's.
func (r *Preparer) leadsHome(from, link string) bool {
	to, err := filepath.EvalSymlinks(link)
	if err != nil {
		return false
	}
	if rel, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(rel) {
		return false
	}
	rel, err := filepath.Rel(r.repo.Root, to)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		switch part {
		case "node_modules", ".git", ".cmux":
			return false
		}
	}
	return true
}

// maxImports bounds the size of a file that imports reads.
const maxImports = 1 << 20

// imports refuses a file that has a program load the project's own files from
// the main checkout by its path.
func (r *Preparer) imports(from, name string) error {
	base := filepath.Base(name)
	var marks []string
	try := ""
	top := filepath.Base(from)
	switch {
	case strings.HasSuffix(base, ".pth"), strings.HasSuffix(base, ".egg-link"), strings.HasPrefix(base, "__editable__"):
		marks = []string{r.repo.Root + "/", r.repo.Root + "\n", r.repo.Root + "'", r.repo.Root + `"`}
		try = "setup: [\"python3 -m venv " + top + " && " + top + "/bin/pip install -e .\"] in place of link: [" + top + "]"
	case strings.HasPrefix(base, "autoload_") && filepath.Base(filepath.Dir(name)) == "composer":
		marks = []string{"$baseDir . '"}
		try = "copy: [" + top + "] in place of link: [" + top + "]"
	default:
		return nil
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() > maxImports {
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	// Its own place in the linked folder is no path of the project's.
	b = append(bytes.ReplaceAll(b, []byte(from), nil), '\n')
	for _, mark := range marks {
		if bytes.Contains(b, []byte(mark)) {
			return hint.Errorf(try, "%w: link: %s loads the project's files from the main checkout, not from the worktree", ErrSetup, name)
		}
	}
	return nil
}

// linkOut links the file or folder at from to the worktree. Where links to the
// project's own files are in it, its folders are made and those links lead into
// the worktree; all else is linked.
func (r *Preparer) linkOut(ctx context.Context, t place, from, to string, out io.Writer) error {
	own, links, err := r.ownLinks(ctx, from)
	if err != nil {
		return err
	}
	if links == 0 {
		return linkPath(from, to)
	}
	if _, err := os.Lstat(to); err == nil {
		return nil // it is there already
	}
	if err := r.relinkOwn(from, to, own, t); err != nil {
		return err
	}
	n := "1 link in it leads"
	if links > 1 {
		n = fmt.Sprintf("%d links in it lead", links)
	}
	fmt.Fprintf(out, "cmux: link: %s: %s to the project's own files, in this worktree; the rest is linked\n", strings.TrimPrefix(from, r.repo.Root+"/"), n)
	return nil
}

// relinkOwn is linkOut for a path in own.
func (r *Preparer) relinkOwn(from, to string, own map[string]bool, t place) error {
	if !own[from] {
		return linkPath(from, to)
	}
	if target, err := os.Readlink(from); err == nil {
		if rest, ok := strings.CutPrefix(target, r.repo.Root+"/"); ok {
			target = filepath.Join(t.Path, rest)
		}
		return os.Symlink(target, to)
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := r.relinkOwn(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), own, t); err != nil {
			return err
		}
	}
	return nil
}
