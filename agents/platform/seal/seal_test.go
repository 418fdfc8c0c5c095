package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func testKey(text string) *Key { return newKey(bytes.Repeat([]byte(text), secretSize)[:secretSize]) }

// A sealed object opens only in its place, with its key, and unchanged.
func TestSeal(t *testing.T) {
	k, other := testKey("k"), testKey("o")
	rapid.Check(t, func(t *rapid.T) {
		object, err := json.Marshal(rapid.MapOfN(rapid.StringN(1, 5, 20), rapid.String(), 1, 4).Draw(t, "object"))
		if err != nil {
			t.Fatal(err)
		}
		place := rapid.String().Draw(t, "place")
		sealed, err := k.Seal(place, append(object, '\n'))
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Open(place, sealed); err != nil {
			t.Fatalf("%s: %v", sealed, err)
		}
		var was, is map[string]any
		if json.Unmarshal(object, &was) != nil || json.Unmarshal(sealed, &is) != nil {
			t.Fatalf("%s is not JSON", sealed)
		}
		for name, value := range was {
			if name != "mac" && is[name] != value {
				t.Fatalf("%s lost %q", sealed, name)
			}
		}
		if k.Open(place+"x", sealed) == nil || other.Open(place, sealed) == nil || k.Derive("a").Open(place, sealed) == nil {
			t.Fatal("opened in another place or with another key")
		}
		forged := bytes.Clone(sealed)
		forged[rapid.IntRange(0, len(forged)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if !bytes.Equal(bytes.TrimRight(forged, " \t\r\n"), sealed) && k.Open(place, forged) == nil {
			t.Fatalf("opened although changed: %s", forged)
		}
	})
}

func TestNotSealed(t *testing.T) {
	k := testKey("k")
	for _, object := range []string{"", "{}", "[1]", "x", `{"a":1}`, `{"a":1,"mac":""}`, `{"a":1,"mac":"` + strings.Repeat("A", codeLen) + `"}`, strings.Repeat("}", 99)} {
		if err := k.Open("p", []byte(object)); !errors.Is(err, ErrForeign) {
			t.Errorf("Open(%q) = %v", object, err)
		}
	}
	for _, object := range []string{"", "{}", "[1]", "x"} {
		if sealed, err := k.Seal("p", []byte(object)); err == nil {
			t.Errorf("Seal(%q) = %s", object, sealed)
		}
	}
	if string(k.Derive("ab", "c").secret) == string(k.Derive("a", "bc").secret) {
		t.Error("two derived keys are one")
	}
}

// Processes that need the key for the first time at once get the same one.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	keys := make([]*Key, 20)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			k, err := Own()
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = k
		})
	}
	wg.Wait()
	for _, k := range keys {
		if k == nil || !bytes.Equal(k.secret, keys[0].secret) {
			t.Fatal("two keys")
		}
	}
	path := filepath.Join(dir, "cmux", keyFile)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// On a file system without hard links, concurrent creation gives one key, whatever a killed
// process has left.
func TestCreateWithoutLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cmux", keyFile)
	noLinks := func(from, to string) error {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM}
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{path + ".lock", filepath.Join(filepath.Dir(path), ".key.123.tmp")} {
		if err := os.WriteFile(left, []byte("ab"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := make([]error, 20)
	keys := make([]*Key, len(made))
	var wg sync.WaitGroup
	for i := range made {
		wg.Go(func() {
			made[i] = create(path, noLinks)
			k, err := read(path)
			if err != nil {
				t.Errorf("read behind %v: %v", made[i], err)
			}
			keys[i] = k
		})
	}
	wg.Wait()
	won := 0
	for i, err := range made {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, fs.ErrExist):
			t.Error(err)
		}
		if keys[i] == nil || !bytes.Equal(keys[i].secret, keys[0].secret) {
			t.Fatal("two keys")
		}
	}
	if won != 1 {
		t.Errorf("%d have made the key", won)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{".key.123.tmp", keyFile, keyFile + ".lock"}) {
		t.Errorf("%q, %v", names, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := create(path, func(string, string) error { return syscall.EEXIST }); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside one that is there: %v", err)
	}
}

// Reading does not create a key.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	if _, err := Find(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a key: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	own, err := Own()
	if err != nil {
		t.Fatal(err)
	}
	if k, err := Find(); err != nil || !bytes.Equal(k.secret, own.secret) {
		t.Errorf("another key: %v", err)
	}
}

func TestOwnRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		make       func(path string) error
	}{
		{"readable by others", "chmod 600", func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("ab"), secretSize), 0o644) }},
		{"damaged", "damaged", func(p string) error { return os.WriteFile(p, []byte("ab\n"), 0o600) }},
		{"a link", "your key", func(p string) error { return os.Symlink("/dev/zero", p) }},
		{"a folder", "not a regular file", func(p string) error { return os.Mkdir(p, 0o700) }},
	} {
		dir := t.TempDir()
		t.Setenv("XDG_STATE_HOME", dir)
		if err := os.Mkdir(filepath.Join(dir, "cmux"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.make(filepath.Join(dir, "cmux", keyFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := Own(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "nowhere") // where no folder can be made, not even by root
	if err := os.Symlink(filepath.Join(dir, "x"), dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", dir)
	if _, err := Own(); err == nil || !strings.Contains(err.Error(), "your key") {
		t.Errorf("nowhere to write: %v", err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if _, err := Own(); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("without a home: %v", err)
	}
}

func BenchmarkOpen(b *testing.B) {
	k := testKey("k")
	line, err := k.Seal("records 12345", []byte(`{"t":"began","at":"2026-11-21T02:26:29.516Z","node":"api","n":1,"pid":12345,"pid_start":123456789}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if k.Open("records 12345", line) != nil {
			b.Fatal("foreign")
		}
	}
}

// A blind key reads what has a code, whoever made it, and signs nothing.
func TestBlind(t *testing.T) {
	sealed, err := newKey([]byte("a")).Seal("place", []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	k := Blind().Derive("run", "x")
	if err := k.Open("elsewhere", sealed); err != nil {
		t.Error(err)
	}
	if err := k.Open("place", []byte(`{"a":1}`)); !errors.Is(err, ErrForeign) {
		t.Errorf("without a code: %v", err)
	}
	if _, err := k.Seal("place", []byte(`{"a":1}`)); !errors.Is(err, ErrBlind) {
		t.Errorf("it signs: %v", err)
	}
}

// A key that is missing is not hidden, in an attempt either.
func TestMissingIsNotHidden(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(attemptVar, "run/node/1")
	if _, err := Find(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
