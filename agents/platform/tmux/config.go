package tmux

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
)

// Size of a session in cells until a person's terminal attaches.
const (
	DefaultWidth  = 220
	DefaultHeight = 60
)

// hiddenPrefix begins the names of control clients' sessions.
const hiddenPrefix = "_cmux-"

// lookAgainAfter are the seconds after which child processes end whose only purpose is that
// tmux notices the end of others.
var lookAgainAfter = [...]string{"0.1", "1", "5"}

// Config is the configuration file of cmux's tmux servers. The person's own cmux settings
// come last and win; ~/.tmux.conf is not read.
func Config() string {
	look := "run-shell -b 'sleep " + strings.Join(lookAgainAfter[:], "' ; run-shell -b 'sleep ") + "'"
	body := fmt.Sprintf(`# Written by cmux; changes are overwritten. Put your own settings into
# ~/.config/cmux/tmux.conf ($XDG_CONFIG_HOME/cmux/tmux.conf where that is set),
# which is read at the end.

# Panes stay readable after their process has ended. This stands before any
# pane exists.
set-option -g remain-on-exit on

# Runs continue while no client is attached. The server ends with its last session;
# control clients end their own hidden ones.
set-option -g destroy-unattached off
set-option -g detach-on-destroy on
set-option -s exit-empty on
set-option -s exit-unattached off

# Nobody attached: this size. Otherwise that of the terminal used last; control
# clients are attached with ignore-size and do not count.
set-option -g default-size %dx%d
set-option -g window-size latest
set-option -g aggressive-resize off

# The node's name, state and reason, in the color of the state; the title
# belongs to the program. A dead pane needs no line that says so.
set-option -g pane-border-status top
set-option -g pane-border-format "%[5]s"
set-option -g pane-border-style "%[6]s"
set-option -g pane-active-border-style "%[7]s"
set-option -gq pane-border-indicators both
set-option -gq remain-on-exit-format ""

# How the run stands. A window with an agent that needs a person has a ! behind
# its name.
set-option -g status-style fg=white,bg=black
set-option -g status-left " #{=/24/…:session_name} "
set-option -g status-left-length 27
set-option -g status-right "%[9]s"
set-option -g status-right-length 200
set-option -g window-status-format "#I:#W#{P:#{?@cmux_need,!,}}"
set-option -g window-status-current-format "#[reverse] #I:#W#{P:#{?@cmux_need,!,}} #[noreverse]"
set-option -g status-interval 60
set-option -g allow-rename off
set-option -g automatic-rename off
set-option -g set-titles on
set-option -g set-titles-string "cmux #{session_name}: #{window_name}"

set-option -g display-time 3000
set-option -g history-limit 50000
set-option -g mouse on
set-option -g default-terminal screen-256color
set-option -s escape-time 10
set-option -s focus-events on
set-option -g bell-action any
set-option -g visual-bell off

# The lists of sessions and windows leave control clients out.
bind-key s choose-tree -Zs -f "#{?#{m:%[3]s*,#{session_name}},0,1}"
bind-key w choose-tree -Zw -f "#{?#{m:%[3]s*,#{session_name}},0,1}"

# cmux's own keys, and the prefix that leads to this server.
set-option -g @cmux_prefix "#{prefix}"
%[8]s
# Seconds since 1970, for counting deaths of guarded panes.
set-option -g @cmux_clock "%%s"

# A tmux built with libutempter misses the end of a child while it records the
# login of another (SIGCHLD is set aside), until the next child ends. When a
# process that drives this server dies, its client detaches: this child makes
# tmux look, and so a guarded pane is started again. Several, as the end of one
# can be missed likewise.
set-hook -g client-detached[100] "%[4]s"

# The sessions of control clients end with them.
set-hook -g client-detached[101] "run-shell -C '#{S:#{?#{&&:#{m:%[3]s*,#{session_name}},#{==:#{session_attached},0}},kill-session -t #{session_id} ;,}}'"

# If a pane dies just when a waiting command of a hook goes on, as the one above, tmux
# runs no pane-died hook, and the processes that drive this server die as their
# clients detach. So a little later the hook of dead panes that may be guarded is run.
set-hook -g client-detached[102] "run-shell -b \"for s in 1 5; do sleep \$s; tmux -S '#{socket_path}' run-shell -C '##{S:##{W:##{P:##{?##{&&:##{pane_dead},##{%[10]s}},set-hook -R -t ##{pane_id} pane-died ;,}}}}'; done >/dev/null 2>&1; :\""

%%if "#{XDG_CONFIG_HOME}"
source-file -q "$XDG_CONFIG_HOME/cmux/tmux.conf"
%%else
source-file -q ~/.config/cmux/tmux.conf
%%endif
`, DefaultWidth, DefaultHeight, hiddenPrefix, look, borderFormat(), borderStyle("default"), borderStyle("fg=green")+"#,bold", bindings(), statusRight(), MonitorOption)
	return body + "set-option -s @cmux_config " + configMark(body) + "\n"
}

// configMark identifies the version of the file.
func configMark(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// writeConfig replaces the file by Config unless it is equal.
func (s Server) writeConfig() (err error) {
	if !filepath.IsAbs(s.Config) {
		return fmt.Errorf("the tmux configuration file needs an absolute path, not %q", s.Config)
	}
	want := Config()
	if got, err := os.ReadFile(s.Config); err == nil && string(got) == want {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(s.Config), filepath.Base(s.Config)+".*")
	if err != nil {
		return fmt.Errorf("write the tmux configuration: %w", err)
	}
	_, err = f.WriteString(want)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), s.Config)
	}
	if err != nil {
		return fmt.Errorf("write the tmux configuration: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
