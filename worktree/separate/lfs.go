package separate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"cmux/worktree/git"
)

// takeLFS copies the large files that Git LFS keeps in the separate directory into the shared
// one, which has none under their names: each has the name of its content. Git LFS finds
// those of the shared directory by itself, through git's alternates.
func (w Worktree) takeLFS(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(git.EscapeGlob(w.Dir()), "lfs/objects/??/??/*"))
	for _, from := range files {
		id := filepath.Base(from)
		to := filepath.Join(w.Common, "lfs/objects", id[:min(2, len(id))], id[min(2, len(id)):min(4, len(id))], id)
		if len(id) != 2*sha256.Size || git.There(to) {
			continue
		}
		err = errors.Join(err, copyLFS(ctx, from, to, id))
	}
	return err
}

// copyLFS copies the file from, which is passed over unless its content has the name id. It
// is read before anything is written: a file that only claims to be large fills no disk.
func copyLFS(ctx context.Context, from, to, id string) error {
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // a link, or gone
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() || hollow(info) {
		return err
	}
	size := info.Size() // what is added meanwhile is not its content
	if is, err := digest(ctx, io.Discard, io.NewSectionReader(in, 0, size)); err != nil || is != strings.ToLower(id) {
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
	is, err := digest(ctx, out, io.NewSectionReader(in, 0, size))
	if err = errors.Join(err, out.Chmod(0o444), out.Sync(), out.Close()); err != nil || is != strings.ToLower(id) {
		return err
	}
	if err := os.Link(out.Name(), to); !errors.Is(err, fs.ErrExist) { // never in the place of another
		return err
	}
	return nil
}

// digest copies from in to out and returns the SHA-256 of what it copied, in hex.
func digest(ctx context.Context, out io.Writer, in io.Reader) (string, error) {
	sum := sha256.New()
	both := io.MultiWriter(out, sum)
	for {
		n, err := io.CopyN(both, in, 1<<24)
		if err := errors.Join(ctx.Err(), err); err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if n < 1<<24 {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
	}
}

// hollow reports whether a file has so much less on the disk than it claims, more than
// compression by a file system makes, that it takes for ever to read.
func hollow(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	const small, share = 1 << 30, 16
	return ok && info.Size() > small && st.Blocks*512 < info.Size()/share
}
