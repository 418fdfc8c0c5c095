package signals

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNamedOnce: what cannot be written is named once.
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
