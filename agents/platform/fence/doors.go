package fence

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Doors returns where servers listen that run what they are told: whoever can connect has
// left the fence. show is what stays of it: the agents of ssh and gpg, containers, sound,
// the screen. env looks up a variable of the program's environment.
//
// The folder of tmux's sockets is made if it is missing: a server that starts later is
// hidden too.
func Doors(env func(name string) string) (hide, show []string) {
	uid := os.Getuid()
	own := func(format string) string { return fmt.Sprintf(format, uid) }
	for _, dir := range []string{"/tmp", os.Getenv("TMUX_TMPDIR"), env("TMUX_TMPDIR")} {
		if !filepath.IsAbs(dir) {
			continue
		}
		sockets := filepath.Join(dir, own("tmux-%d"))
		_ = os.Mkdir(sockets, 0o700) // as tmux does, which refuses what is not so
		hide = append(hide, sockets)
	}
	for _, get := range []func(string) string{env, os.Getenv} {
		socket, _, _ := strings.Cut(get("TMUX"), ",")
		hide = append(hide, socket, get("CMUX_TMUX_SOCKET"), get("SCREENDIR"))
		for address := range strings.SplitSeq(get("DBUS_SESSION_BUS_ADDRESS"), ";") {
			path, _ := strings.CutPrefix(address, "unix:path=")
			path, _, _ = strings.Cut(path, ",")
			hide = append(hide, path)
		}
	}
	home := env("HOME")
	hide = append(hide, "/run/tmux", "/run/screen", "/tmp/screens", "/tmp/uscreens", filepath.Join(home, ".screen"),
		own("/tmp/zellij-%d"), own("/tmp/emacs%d"))
	if uid == 0 {
		hide = append(hide, "/run/systemd/private", "/run/dbus/system_bus_socket")
		hide = append(hide, ofOthers("/")...)
	}
	for _, dir := range []string{own("/run/user/%d"), env("XDG_RUNTIME_DIR"), os.Getenv("XDG_RUNTIME_DIR")} {
		if filepath.IsAbs(dir) {
			h, s := runtimeDoors(real(dir), uid, cmp.Or(env("SSH_AUTH_SOCK"), os.Getenv("SSH_AUTH_SOCK")))
			hide, show = append(hide, h...), append(show, s...)
		}
	}
	var abs []string
	for _, path := range hide {
		if filepath.IsAbs(path) {
			abs = append(abs, path)
		}
	}
	return abs, show
}

// ofOthers returns where servers of ordinary users listen, below root: they do what root
// tells them, as these users.
func ofOthers(root string) (all []string) {
	for _, pattern := range []string{"tmp/tmux-[0-9]*", "tmp/zellij-[0-9]*", "tmp/emacs[0-9]*", "run/user/[0-9]*"} {
		places, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, place := range places {
			if filepath.Base(place) != "0" { // parts of root's own runtime folder stay
				all = append(all, place)
			}
		}
	}
	return all
}

// harmless are the parts of a runtime folder behind which nothing runs what it is told, or
// which stay on purpose.
var harmless = strings.Fields("gnupg keyring ssh-agent.socket ssh-agent openssh_agent gcr yubikey-agent p11-kit " +
	"docker.sock docker podman containerd-rootless buildkit pulse pipewire-0 pipewire-0-manager wayland-0 wayland-1 xauthority ICEauthority")

// runtimeDoors is Doors for a person's runtime folder. A folder that is not theirs alone
// is used for more: there the user manager and the session bus are hidden, by their names.
func runtimeDoors(dir string, uid int, agent string) (hide, show []string) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, nil
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != uid || info.Mode().Perm()&0o077 != 0 || !strings.HasPrefix(dir, "/run/") {
		return []string{filepath.Join(dir, "systemd"), filepath.Join(dir, "bus")}, nil
	}
	for _, name := range harmless {
		show = append(show, filepath.Join(dir, name))
	}
	if agent != "" && within(agent, dir) {
		show = append(show, agent)
	}
	return []string{dir}, show
}
