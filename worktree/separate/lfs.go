package separate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"cmux/worktree/git"
)

// takeLFS copies the large files that Git LFS keeps in the separate directory into the shared
// one, which has none under their names: each has the name of its content. Git LFS finds
// those of the shared directory by itself, through git's alternates.
func (w Worktree) takeLFS() error {
	files, err := filepath.Glob(filepath.Join(git.EscapeGlob(w.Dir()), "lfs/objects/??/??/*"))
	for _, from := range files {
		id := filepath.Base(from)
		to := filepath.Join(w.Common, "lfs/objects", id[:min(2, len(id))], id[min(2, len(id)):min(4, len(id))], id)
		if len(id) != 2*sha256.Size || git.There(to) {
			continue
		}
		err = errors.Join(err, copyLFS(from, to, id))
	}
	return err
}

// copyLFS copies the file from, which is passed over unless its content has the name id.
func copyLFS(from, to, id string) error {
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // a link, or gone
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), "cmux-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	if err = errors.Join(err, out.Chmod(0o444), out.Sync(), out.Close()); err != nil || hex.EncodeToString(sum.Sum(nil)) != strings.ToLower(id) {
		return err
	}
	if err := os.Link(out.Name(), to); !errors.Is(err, fs.ErrExist) { // never in the place of another
		return err
	}
	return nil
}
