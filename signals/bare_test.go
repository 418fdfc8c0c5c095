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
)

// TestNoFileDescriptorIsNoMarker: without free file descriptors, a marker is not observed.
// Once there is one again, it is observed as it was.
func TestNoFileDescriptorIsNoMarker(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"+Suffix), []byte("0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewScanner(dir, []string{"a"})
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	next, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(next)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = uint64(next)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &small); err != nil {
		t.Fatal(err)
	}
	there, looked := s.look(int(d.Fd()), "a"+Suffix, 0, time.Now(), true)
	_, _, scanned := s.Scan(time.Now())
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if there || !errors.Is(looked, syscall.EMFILE) || !errors.Is(scanned, syscall.EMFILE) {
		t.Errorf("there %v, %v, %v", there, looked, scanned)
	}
	all, _, err := s.Scan(time.Now())
	if err != nil || !all[0].Exists || all[0].Problem != "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestNamedOnce: an error of a write names the file once.
func TestNamedOnce(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	for what, write := range map[string]func(string, []byte, fs.FileMode) error{"WriteFile": WriteFile, "PutFile": PutFile} {
		path := filepath.Join(t.TempDir(), "file")
		err := write(path, make([]byte, 100), 0o600)
		if !errors.Is(err, syscall.EFBIG) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
}
