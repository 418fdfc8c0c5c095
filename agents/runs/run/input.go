package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/signals"

	"golang.org/x/sys/unix"
)

const (
	maxConfig   = 64 << 20 // bytes: a hundred thousand nodes fit in
	maxTaskFile = 1 << 20
)

// ReadConfig reads the configuration that a person named. It may be a link, and
// is a regular file.
func ReadConfig(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, path, maxConfig)
}

// readBounded reads a regular file of at most so many bytes.
func readBounded(f *os.File, name string, most int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return b, err
}

// ReadTask reads a task_file or an included file that the configuration at
// config names. The
// repository may be somebody else's, and what it names becomes what an agent is
// told and what is recorded: so it is a regular file of at most 1 MB inside the
// project at root, once links are resolved, and neither git's nor cmux's own. A
// configuration that lies elsewhere names files below its own folder.
func ReadTask(root, config, name string) ([]byte, error) {
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(config))
	if err != nil {
		return nil, err
	}
	if _, in := inside(base, folder); !in {
		base = folder
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	if _, in := inside(base, path); !in && !filepath.IsAbs(name) { // said before it is looked for
		return nil, outside(name, base)
	}
	path, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %q", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	rel, in := inside(base, path)
	if !in {
		return nil, outside(name, base)
	}
	for _, own := range []string{".git", signals.Folder} {
		if rel == own || strings.HasPrefix(rel, own+"/") {
			return nil, fmt.Errorf("%q is in %s, whose files are not for a configuration", name, own)
		}
	}
	dir, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	defer f.Close()
	return readBounded(f, fmt.Sprintf("%q", name), maxTaskFile)
}

func outside(name, base string) error {
	return fmt.Errorf("%q leads out of %s: name a file inside the project", name, base)
}

// inside is path as seen from base, when it lies below.
func inside(base, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(base, path)
	return rel, err == nil && filepath.IsLocal(rel)
}
