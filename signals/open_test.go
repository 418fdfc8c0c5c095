package signals

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// users are all ways to open a file of a project. Each gets a path with an obstacle in it
// and must neither follow it nor wait.
var users = map[string]func(path string) error{
	"Open": func(path string) error { return closing(Open(path)) },
	"OpenFile": func(path string) error {
		return closing(OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600))
	},
	"append":   func(path string) error { return closing(OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)) },
	"ReadFile": func(path string) error { _, err := ReadFile(path, 100); return err },
	"OpenLog": func(path string) error {
		l, err := OpenLog(path)
		if err == nil {
			l.Close()
		}
		return err
	},
	"ReadLog": func(path string) error { _, err := ReadLog(path, 0, nil); return err },
	"TryLock": func(path string) error {
		l, err := TryLock(path)
		if err == nil {
			l.Unlock()
		}
		return err
	},
	"ReadHolder": func(path string) error { _, _, err := ReadHolder(path); return err },
}

func closing(f *os.File, err error) error {
	if err == nil {
		f.Close()
	}
	return err
}

// obstacles are the things that may be in the place of a file of cmux.
var obstacles = map[string]func(t *testing.T, at, outside string){
	"link to a file":     func(t *testing.T, at, outside string) { symlink(t, outside, at) },
	"link to nothing":    func(t *testing.T, at, outside string) { symlink(t, outside+"-none", at) },
	"link to a device":   func(t *testing.T, at, outside string) { symlink(t, "/dev/zero", at) },
	"link inside":        func(t *testing.T, at, _ string) { symlink(t, "other", at) },
	"link to itself":     func(t *testing.T, at, _ string) { symlink(t, filepath.Base(at), at) },
	"named pipe":         func(t *testing.T, at, _ string) { must(t, unix.Mkfifo(at, 0o666)) },
	"directory":          func(t *testing.T, at, _ string) { must(t, os.Mkdir(at, 0o755)) },
	"link to a pipe":     func(t *testing.T, at, o string) { must(t, unix.Mkfifo(o+".p", 0o666)); symlink(t, o+".p", at) },
	"link to a folder":   func(t *testing.T, at, outside string) { symlink(t, filepath.Dir(outside), at) },
	"socket of somebody": func(t *testing.T, at, _ string) { must(t, unix.Mknod(at, unix.S_IFSOCK|0o666, 0)) },
}

func symlink(t *testing.T, to, at string) { t.Helper(); must(t, os.Symlink(to, at)) }

func TestNothingButFilesIsOpened(t *testing.T) {
	for what, make := range obstacles {
		for how, use := range users {
			t.Run(what+"/"+how, func(t *testing.T) {
				if what == "socket of somebody" && os.Getuid() != 0 && errors.Is(unix.Mknod(filepath.Join(t.TempDir(), "s"), unix.S_IFSOCK|0o666, 0), syscall.EPERM) {
					t.Skip("this system makes sockets by bind alone")
				}
				outside := filepath.Join(t.TempDir(), "outside")
				must(t, os.WriteFile(outside, []byte("kept"), 0o600))
				folder := filepath.Join(t.TempDir(), Folder, "runs", "r")
				must(t, os.MkdirAll(folder, 0o755))
				must(t, os.WriteFile(filepath.Join(folder, "other"), []byte("kept"), 0o600))
				path := filepath.Join(folder, "file")
				make(t, path, outside)
				err := use(path)
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("it was used: %v", err)
				}
				for _, name := range []string{outside, filepath.Join(folder, "other")} {
					if b, err := os.ReadFile(name); err != nil || string(b) != "kept" {
						t.Errorf("%s holds %q: %v", name, b, err)
					}
				}
				if _, err := os.Lstat(outside + "-none"); err == nil {
					t.Error("a link to nothing was followed in writing")
				}
			})
		}
	}
}

// TestNoLinkOnTheWay: a link is refused and named at every element from the project's
// folder on, and followed above it.
func TestNoLinkOnTheWay(t *testing.T) {
	ways := map[string]func(path string) error{
		"WriteFile": func(path string) error { return WriteFile(path, []byte("x"), 0o600) },
		"PutFile":   func(path string) error { return PutFile(path, []byte("x"), 0o600) },
		"MkdirAll":  func(path string) error { return MkdirAll(path, 0o700) },
		"Mkdir":     func(path string) error { return Mkdir(path, 0o700) },
		"Remove":    RemoveFile,
		"Rename":    func(path string) error { return Rename(path, "other") },
		"ReadDir":   func(path string) error { _, err := ReadDir(filepath.Dir(path)); return err },
		"Type":      func(path string) error { _, err := Type(path); return err },
		"Prepare": func(path string) error {
			p, err := Prepare(filepath.Dir(path), "n", 0)
			if err == nil {
				p.Discard()
			}
			return err
		},
		"Replace": func(path string) error { _, err := Replace(filepath.Dir(path), "n", Exit(1)); return err },
		"Scan":    func(path string) error { _, _, err := NewScanner(filepath.Dir(path), nil).Scan(time.Now()); return err },
		"Look": func(path string) error {
			_, err := NewScanner(filepath.Dir(path), []string{"n"}).Look(0, time.Now())
			return err
		},
	}
	for name, use := range users {
		ways[name] = use
	}
	elements := []string{Folder, Folder + "/runs", Folder + "/runs/r", Folder + "/runs/r/node"}
	for how, use := range ways {
		for _, elem := range elements {
			t.Run(how+"/"+elem, func(t *testing.T) {
				elsewhere := t.TempDir()
				must(t, os.MkdirAll(filepath.Join(elsewhere, "runs/r/node"), 0o755))
				root := t.TempDir()
				at := filepath.Join(root, elem)
				must(t, os.MkdirAll(filepath.Dir(at), 0o755))
				tail := strings.TrimPrefix(elements[3], elem)
				target := filepath.Join(elsewhere, strings.TrimPrefix(elem, Folder))
				symlink(t, target, at)
				before := tree(t, elsewhere)
				err := use(filepath.Join(at+tail, "file"))
				var in *FileError
				if !errors.As(err, &in) || in.Path != at || in.What != "is a symbolic link" {
					t.Errorf("got %v; want %s named as a link", err, at)
				}
				if after := tree(t, elsewhere); after != before {
					t.Errorf("it changed what the link leads to:\n%s", after)
				}
			})
		}
		t.Run(how+"/above", func(t *testing.T) {
			real := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(real, elements[3]), 0o755))
			above := filepath.Join(t.TempDir(), "project")
			symlink(t, real, above)
			if err := use(filepath.Join(above, elements[3], "file")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a link above the project's folder is the person's own: %v", err)
			}
		})
	}
}

// TestWalkIsTheSame: without openat2, the elements are opened one by one, with the same
// result.
func TestWalkIsTheSame(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, Folder, "a"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, Folder, "a", "f"), nil, 0o600))
	symlink(t, "a", filepath.Join(root, Folder, "link"))
	symlink(t, "f", filepath.Join(root, Folder, "a", "l"))
	for _, c := range []struct {
		rel  string
		want bool
	}{{"a/f", true}, {"a", true}, {"link/f", false}, {"a/l", false}, {"a/none", false}, {"a/f/x", false}} {
		path := filepath.Join(root, Folder, c.rel)
		fd, err := walk(root, Folder+"/"+c.rel, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			unix.Close(fd)
		}
		fd, quick := openBelow(path, root, Folder+"/"+c.rel, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if quick == nil {
			unix.Close(fd)
		}
		if (err == nil) != c.want || (quick == nil) != c.want {
			t.Errorf("%s: one by one %v, at once %v; want success %v", c.rel, err, quick, c.want)
		}
	}
}

func TestReadFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), Folder+"-file")
	must(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	if b, err := ReadFile(path, 10); err != nil || string(b) != "0123456789" {
		t.Errorf("got %q, %v", b, err)
	}
	var large *SizeError
	if _, err := ReadFile(path, 9); !errors.As(err, &large) {
		t.Errorf("10 bytes where 9 may be: %v", err)
	}
	must(t, os.Truncate(path, 1<<40)) // sparse
	if _, err := ReadFile(path, MaxFile); !errors.As(err, &large) {
		t.Errorf("a terabyte: %v", err)
	}
}

// TestPutFileMakesItsOwn: it does not write into a hard link to another file, and a file
// that was readable by all is not afterwards.
func TestPutFileMakesItsOwn(t *testing.T) {
	dir := t.TempDir()
	theirs, path := filepath.Join(dir, "theirs"), filepath.Join(dir, "ours")
	must(t, os.WriteFile(theirs, []byte("theirs"), 0o644))
	must(t, os.Link(theirs, path))
	must(t, PutFile(path, []byte("ours"), 0o600))
	if b, _ := os.ReadFile(theirs); string(b) != "theirs" {
		t.Errorf("the other name's file now holds %q", b)
	}
	info, err := os.Stat(path)
	if b, _ := os.ReadFile(path); err != nil || string(b) != "ours" || info.Mode() != 0o600 {
		t.Errorf("got %q, %v, %v", b, info.Mode(), err)
	}
}

func tree(t *testing.T, root string) string {
	var b strings.Builder
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		b.WriteString(strings.TrimPrefix(path, root) + "\n")
		return err
	}))
	return b.String()
}

func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), Folder, "runs", "r", "node")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "log")
	for how, open := range map[string]func(string, int, fs.FileMode) (*os.File, error){"how=os": os.OpenFile, "how=signals": OpenFile} {
		b.Run(how, func(b *testing.B) {
			for b.Loop() {
				f, err := open(path, os.O_RDWR|os.O_CREATE, 0o600)
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
