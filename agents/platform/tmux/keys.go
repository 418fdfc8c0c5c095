package tmux

import "strings"

// cmux's keys, in addition to tmux's. The first of each works without the prefix in the
// panes of nodes and in the monitor, because inside another tmux the prefix would belong to
// that one. In any other pane the key goes to the person's program there, except KeyNext
// while somebody needs the person, as the status line then says.
const (
	KeyNext, PrefixNext       = "F8", "a"
	KeyMonitor, PrefixMonitor = "F9", "m"
	PrefixEnded               = "e"
)

// The text about the keys in the status line, shown for a while after the first attach to a
// session. It is not a tmux message, because tmux removes those at the next focus, or
// swallows keys while it shows one. The prefix in it is what the person must press: see
// [Server.TellPrefix].
const (
	keyLine = "Keys: " + KeyNext + " next agent that needs you, " + KeyMonitor + " monitor, " +
		"#{E:@cmux_prefix} " + PrefixEnded + " ended, #{E:@cmux_prefix} z zoom, #{E:@cmux_prefix} d leave, #{E:@cmux_prefix} ? all"
	keyLineBrief = KeyNext + " who needs you, " + KeyMonitor + " monitor, #{E:@cmux_prefix} ? keys"
	keyLineTime  = "20" // seconds
)

// ofCmux: the pane is a node's or the monitor.
const ofCmux = "#{?#{" + optNode + "},1,#{" + MonitorOption + "}}"

// narrow: the terminal has little room in the status line. crowded: too little for all keys
// beside the windows and the run's status.
const (
	narrow  = "#{e|<:#{client_width},130}"
	crowded = "#{e|<:#{client_width},220}"
)

// statusRight is the right part of the status line: the run's status or, after the first
// attach, the keys.
func statusRight() string {
	// In a pane of the person, KeyMonitor goes to the program.
	monitor := "#{?" + ofCmux + "," + KeyMonitor + ",#{E:@cmux_prefix} " + PrefixMonitor + "} monitor"
	text := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, ",", "#,"), KeyMonitor+" monitor", monitor)
	}
	return "#{?#{" + optHint + "},#{?" + crowded + "," + text(keyLineBrief) + "," + text(keyLine) + "} · ,}" +
		"#{?" + narrow + ",#{" + optBrief + "},#{" + optStatus + "}} "
}

// Session and pane options that the keys read.
const (
	optNeed    = "@cmux_need"   // a pane that needs a person
	optHome    = "@cmux_home"   // the monitor's pane
	optStatus  = "@cmux_status" // status of the run in the status line
	optBrief   = "@cmux_brief"  // the same, short
	optKeysOut = "@cmux_keys_shown"
	optHint    = "@cmux_hint" // the keys are shown now
	optPrefix  = "@cmux_prefix"
	optZoomed  = "@cmux_zoomed" // of a window: the key zoomed a pane in it
	optKind    = "@cmux_kind"   // of a window: its kind
)

// Options of the server in which the key for the next agent computes where to go.
const (
	optProject = "@cmux_project" // the root of the project whose session has the key
	optRing    = "@cmux_ring"    // the panes of the project that need a person, each with a space behind
	optNext    = "@cmux_next"    // the one of them after the pane with the key
)

// RootOption is the option of a session that names its project: a run's session
// has the project's root, one of the organization's has OrgMark behind it. Neither
// takes the other's session for its own.
const (
	RootOption = "@cmux_root"
	OrgMark    = " (cmux start)"
)

// MonitorOption marks the pane in which a run is carried and shown.
const MonitorOption = "@cmux_monitor"

// bindings are the key bindings of the configuration.
func bindings() string {
	to := "#{" + optNext + "}"
	// A window that is left is as it was before the key zoomed a pane in it.
	back := []string{"if-shell", "-F", "-t", "#{pane_id}", "##{&&:##{window_zoomed_flag},##{" + optZoomed + "}}",
		mustText([]string{"resize-pane", "-Z", "-t", "#{pane_id}"}, []string{"set-option", "-w", "-u", "-t", "#{pane_id}", "--", optZoomed})}
	// It is computed when the key is pressed: the panes may be of several sessions,
	// of several keepers and runners, and no process has to know all of them.
	root := "#{s/" + strings.NewReplacer("(", ".", ")", ".").Replace(OrgMark) + "$//:" + RootOption + "}"
	compute := func(option, format string) []string { return []string{"set-option", "-sF", option, format} }
	next := func(nobody ...[]string) []string {
		return choose("1", [][]string{
			compute(optProject, root),
			compute(optRing, "#{S:#{?#{==:"+root+",#{"+optProject+"}},#{W:#{P:#{?#{"+optNeed+"},#{pane_id} ,}}},}}"),
			compute(optNext, "#{s/^.*#{pane_id} //:"+optRing+"}#{"+optRing+"}"),
			compute(optNext, "#{s/ .*$//:"+optNext+"}"),
			choose(to,
				[][]string{{"run-shell", "-C", mustText(
					[]string{"if-shell", "-F", "-t", to, "##{!=:##{window_id},#{window_id}}", mustText(back)},
					[]string{"switch-client", "-t", to},
					// Whole: what it asks may be longer than its tile. It is a person who
					// pressed the key, so nobody's typing is led elsewhere.
					[]string{"if-shell", "-F", "-t", to, later("#{?#{window_zoomed_flag},0,#{!=:#{window_panes},1}}"),
						mustText([]string{"resize-pane", "-Z", "-t", to}, []string{"set-option", "-w", "-t", to, "--", optZoomed, "1"})},
				)}},
				nobody),
		}, nil)
	}
	tiles := [][]string{
		{"if-shell", "-F", "#{window_zoomed_flag}", "resize-pane -Z"},
		{"display-message", "No agent needs you."},
	}
	monitor := choose("#{"+optHome+"}",
		[][]string{{"run-shell", "-C", mustText(back, []string{"select-window", "-t", "#{" + optHome + "}"})}},
		[][]string{{"display-message", "This session has no monitor."}})
	ended := choose("#{W:#{?#{==:#{"+optKind+"},"+kindEnded+"},1,}}",
		[][]string{{"select-window", "-t", ":=" + kindEnded}},
		[][]string{{"display-message", "No agent has ended."}})
	own := func(key string, do ...[]string) []string {
		return choose(ofCmux, do, [][]string{{"send-keys", key}})
	}
	var b strings.Builder
	for _, bind := range [][]string{
		append([]string{"bind-key", "-N", "The next agent that needs you", PrefixNext}, next(tiles...)...),
		append([]string{"bind-key", "-N", "The monitor", PrefixMonitor}, monitor...),
		append([]string{"bind-key", "-N", "Agents that have ended", PrefixEnded}, ended...),
		append([]string{"bind-key", "-n", KeyNext}, next(own(KeyNext, tiles...))...),
		append([]string{"bind-key", "-n", KeyMonitor}, own(KeyMonitor, monitor)...),
		// Once in each of cmux's sessions: at the first attach.
		{"set-hook", "-g", "client-attached[100]", mustText(choose("#{?#{"+optHome+"},#{?#{"+optKeysOut+"},0,1},0}",
			[][]string{{"set-option", optKeysOut, "1"}, {"set-option", optHint, "1"},
				{"run-shell", "-b", "-d", keyLineTime, "-C", mustText([]string{"set-option", "-u", "-t", "#{session_id}", optHint})}}, nil))},
	} {
		b.WriteString(mustText(bind) + "\n")
	}
	return b.String()
}

// choose returns a command that runs one command or the other, depending on a format.
func choose(format string, then, otherwise [][]string) []string {
	cmd := []string{"if-shell", "-F", format, mustText(then...)}
	if len(otherwise) > 0 {
		cmd = append(cmd, mustText(otherwise...))
	}
	return cmd
}

// later protects a format from one expansion.
func later(format string) string { return strings.ReplaceAll(format, "#", "##") }

// mustText is commandText for constant commands of this package.
func mustText(commands ...[]string) string {
	text, err := commandText(commands...)
	if err != nil {
		panic(err)
	}
	return text
}
