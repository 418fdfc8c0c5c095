package fence

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Servers that run what they are told are found by the variables that name them.
func TestDoors(t *testing.T) {
	dir := t.TempDir()
	runtime, theirs := filepath.Join(dir, "runtime"), filepath.Join(dir, "tmux")
	for _, d := range []string{runtime, theirs} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "TMUX", "SCREENDIR", "DBUS_SESSION_BUS_ADDRESS"} {
		t.Setenv(name, "")
	}
	t.Setenv("TMUX_TMPDIR", theirs)
	vars := map[string]string{
		"HOME": dir, "TMUX": "/x/tmux-1/own,12,0", "CMUX_TMUX_SOCKET": "name", "XDG_RUNTIME_DIR": runtime, "SSH_AUTH_SOCK": filepath.Join(runtime, "agent"),
		"DBUS_SESSION_BUS_ADDRESS": "unix:abstract=/x;unix:path=/y/bus,guid=1",
	}
	hide, _ := Doors(func(name string) string { return vars[name] })
	sockets := filepath.Join(theirs, fmt.Sprintf("tmux-%d", os.Getuid()))
	for _, want := range []string{
		fmt.Sprintf("/tmp/tmux-%d", os.Getuid()), sockets, "/x/tmux-1/own", "/y/bus", filepath.Join(real(runtime), "bus"), filepath.Join(real(runtime), "systemd"),
		filepath.Join(dir, ".screen"),
	} {
		if !slices.Contains(hide, want) {
			t.Errorf("%s is not hidden: %q", want, hide)
		}
	}
	if i := slices.IndexFunc(hide, func(path string) bool { return !filepath.IsAbs(path) }); i >= 0 {
		t.Errorf("%q is no place", hide[i])
	}
	if info, err := os.Stat(sockets); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a server that starts later is not hidden: %v", err)
	}
}

// As root, a program is kept from the servers of ordinary users too.
func TestDoorsOfOthers(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"tmp/tmux-7", "tmp/tmux-socket-lib", "tmp/emacs7", "run/user/0", "run/user/7"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if got := ofOthers(dir); !slices.Equal(got, []string{at("tmp/tmux-7"), at("tmp/emacs7"), at("run/user/7")}) {
		t.Errorf("got %q", got)
	}
}

// Of a runtime folder, only the agents of ssh and gpg and the like stay.
func TestRuntimeDoors(t *testing.T) {
	dir, err := os.MkdirTemp("/run", "cmux-test")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	hide, show := runtimeDoors(dir, os.Getuid(), filepath.Join(dir, "agent"))
	if !slices.Equal(hide, []string{dir}) || !slices.Contains(show, filepath.Join(dir, "gnupg")) || !slices.Contains(show, filepath.Join(dir, "agent")) || slices.Contains(show, filepath.Join(dir, "bus")) {
		t.Errorf("hidden is %q but %q", hide, show)
	}
	if hide, _ := runtimeDoors(dir, os.Getuid()+1, ""); !slices.Equal(hide, []string{filepath.Join(dir, "systemd"), filepath.Join(dir, "bus")}) {
		t.Errorf("of somebody else's, hidden is %q", hide)
	}
}
