package runs

import (
	"fmt"
	"strings"
	"time"

	"cmux/agents/control/runview"
	"cmux/agents/platform/notice"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Notice is what a person is told below the table of a run.
type Notice struct {
	Text string `json:"text"`
	Long bool   `json:"-"` // it may be longer than a line
}

// Notices says what is wanted of a person and why nodes stand as they do.
func Notices(v *run.View) (all []Notice) {
	long := func(text string) { all = append(all, Notice{text, true}) }
	tell := func(format string, args ...any) { all = append(all, Notice{Text: fmt.Sprintf(format, args...)}) }
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if !wantsLooking(n.Status) {
			continue
		}
		line := n.Spec.Name + ": " + runview.Explained(v, i)
		if end := n.LastEnd(); end != nil && end.Snapshot != "" && !n.Fact.Live() {
			line += "; its work is saved: cmux snapshots restore " + end.Snapshot
		}
		long(line)
	}
	if names, why := crowded(v); names != nil {
		long(fmt.Sprintf("%s: ready: %s", say.List(names, 5), why))
	}
	all = append(append(all, collisionNotices(v)...), fenceNotices(v)...)
	incidents := v.Incidents
	if n := len(incidents) - shownIncidents; n > 0 {
		tell("%s before these: cmux agents status --json", say.Count(n, "incident"))
		incidents = incidents[n:]
	}
	for _, rec := range incidents {
		line := "incident: "
		if rec.Node != "" {
			line += rec.Node + ": "
		}
		long(line + say.Line(rec.Detail))
	}
	if v.Run != nil {
		for _, f := range notice.Failures(v.Run.Dir) {
			long(say.Line(f.String()))
		}
	}
	switch {
	case v.Full == "":
	case runview.Over(v):
		tell("the disk is full: %s (free some space: commands that change the run need some)", v.Full)
	default:
		tell("the disk is full: %s (free some space; nodes wait for it and continue by themselves)", v.Full)
	}
	for k, file := range v.Strays {
		if k == shownStrays {
			tell("%s more beside the markers: cmux doctor", say.Count(len(v.Strays)-k, "file"))
			break
		}
		tell("%s", stray(v, file))
	}
	if len(v.Lost) > 0 {
		long(fmt.Sprintf("another run has started since with %s: the markers of these names are that run's (cmux agents list)", say.List(v.Lost, 5)))
	}
	switch v.RunState {
	case dag.RunNoRunner:
		tell("no runner: cmux agents resume")
	case dag.RunStopped:
		tell("stopped: cmux agents resume")
	}
	if v.Halted {
		tell("a signal has stopped the runner, so nothing here changes: kill -CONT %d", v.Holder.PID)
	}
	if v.Holder == nil {
		var here, away []string
		for _, name := range runview.AtWork(v) {
			if a := v.Nodes[v.Run.Plan.Graph.Index(name)].Away(); a != nil {
				away = append(away, run.AwayNode{Name: name, Machine: a.Place.Machine}.String())
			} else {
				here = append(here, name)
			}
		}
		if len(here) > 0 {
			tell("still at work without a runner: %s (cmux agents stop ends them)", strings.Join(here, ", "))
		}
		if len(away) > 0 {
			tell("still at work without a runner: %s (cmux agents resume collects their work)", strings.Join(away, ", "))
		}
	}
	all = append(all, silentNotices(v)...)
	if err := v.RunOverBudget(); err != nil {
		tell("%v, so no agent is started: raise it in the configuration, then %s", err, runview.UpdateWay(v))
	}
	if n := unreviewed(v); n > 0 {
		tell("%s to review before a merge: cmux agents review", say.Count(n, "node"))
	}
	if n := len(v.Pending); n > 0 && v.Holder == nil {
		tell("%s waiting for a runner: cmux agents resume", say.Count(n, "request"))
	}
	if lines, _ := v.Passed(false); len(lines) > 0 {
		tell("%s of the records not counted: %s", say.Count(len(lines), "line"), say.Line(say.List(lines, 3)))
	}
	if v.ConfigChanged {
		tell("the configuration differs from the plan of this run; to apply it: %s", runview.UpdateWay(v))
	}
	return all
}

// silentNotices tells of machines that are not heard of, and what they carry out.
func silentNotices(v *run.View) (all []Notice) {
	nodes := make(map[string][]string)
	since := make(map[string]time.Time)
	var machines []string
	for i := range v.Nodes {
		at := v.Nodes[i].HeardAt()
		if at.IsZero() {
			continue
		}
		m := v.Nodes[i].Where()
		if nodes[m] == nil {
			machines = append(machines, m)
		}
		nodes[m] = append(nodes[m], v.Nodes[i].Spec.Name)
		if at.After(since[m]) {
			since[m] = at
		}
	}
	for _, m := range machines {
		all = append(all, Notice{fmt.Sprintf("no contact with %s since %s; its agents work on: %s", m, since[m].Local().Format("15:04"), say.List(nodes[m], 5)), true})
	}
	return all
}

// crowded are the nodes that would start if it were not for the agents of the
// person's other runs, and why they do not.
func crowded(v *run.View) (names []string, why string) {
	for i := range v.Nodes {
		if w := v.Nodes[i].Status.Crowded; w != "" {
			names, why = append(names, v.Nodes[i].Spec.Name), w
		}
	}
	return names, why
}

const (
	shownIncidents = 5 // the newest
	shownStrays    = 3
)

// stray tells of a file among the markers that belongs to no node: a person who
// mistyped a name waits for a node that nobody has told anything.
func stray(v *run.View, file string) string {
	text := fmt.Sprintf("%s/signals/%s belongs to no node and does not count", signals.Folder, say.Line(file))
	i := StrayFor(v.Run.Plan.Graph, file)
	if i < 0 {
		return text
	}
	n := &v.Nodes[i]
	order := ""
	switch {
	case runview.Succeeded(n):
	case n.Spec.Role == dag.RoleGate:
		order = " cmux agents approve " + n.Spec.Name
	default:
		order = " cmux agents override " + n.Spec.Name
	}
	return text + fmt.Sprintf(" (did you mean %s?%s)", n.Spec.Name, order)
}

// StrayFor is the index of the node that a file among the markers was probably
// meant for, or -1.
func StrayFor(g *dag.Graph, file string) int {
	name, suffixed := strings.CutSuffix(file, signals.Suffix)
	if !suffixed && g.Index(name) >= 0 {
		return g.Index(name)
	}
	if near := Nearest(name, g.Names()); near != "" {
		return g.Index(near)
	}
	return -1
}

// wantsLooking reports whether a person should read why a node stands so.
// Blocked nodes carry their reason in the label; a running one has a reason
// while something keeps it from getting on.
func wantsLooking(s dag.Status) bool {
	switch s.Label.State {
	case dag.NodeNeedsInput, dag.NodeFailed, dag.NodeLost, dag.NodeTakenOver, dag.NodeLimited:
		return true
	case dag.NodeRunning:
		return s.Reason != ""
	case dag.NodeDone:
		return s.Label.Open && s.Label.Reason == dag.ReasonOverride
	}
	return false
}
