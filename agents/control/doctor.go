package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/control/finding"
	"cmux/agents/control/merging"
	"cmux/agents/control/preflight"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/platform/lease"
	"cmux/agents/platform/limits"
	"cmux/agents/platform/notice"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/say"
	"cmux/agents/platform/seal"
	"cmux/agents/platform/settings"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// Examine looks at everything that can be looked at.
func Examine(ctx context.Context, c project.Caller) []finding.Finding {
	var all []finding.Finding
	add := func(what, detail string, err error, try string) {
		f := finding.Finding{What: what, OK: true, Detail: detail}
		if err != nil {
			f = finding.Wrong(what, err)
			f.Try = cmp.Or(try, f.Try)
		}
		all = append(all, f)
	}
	add("tmux", "usable", tmux.Check(ctx), "install tmux 3.2 or newer, or use cmux agents start --headless")
	if orphans, err := runner.TmuxServer("", c.Getenv("CMUX_TMUX_SOCKET")).Orphans(); err != nil {
		add("tmux clients", "", err, "")
	} else if len(orphans) > 0 {
		all = append(all, finding.Finding{What: "tmux clients", Detail: "left by a cmux that was killed, and can keep the tmux server from working and from ending: " + proc.Names(orphans),
			Try: "cmux agents start ends them, and so does kill -9 " + pids(orphans)})
	}
	p, err := Open(ctx, c)
	if err != nil {
		add("project", "", err, "")
		return append(all, preflight.Kinds(ctx, c.Env, "", nil)...)
	}
	root := p.Root
	repo, err := worktree.Open(ctx, root)
	add("git", "repository "+root, err, "")
	add("folder", run.Folder(root)+" can be written", writable(root), "make it writable for you: chmod u+rwx "+run.Folder(root))
	path := p.Configurations().Config("")
	var graph *dag.Graph
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		add("configuration", "none yet (cmux agents init)", nil, "")
	} else {
		g, warnings, err := p.Configurations().ReadConfig(ctx, path)
		detail := ""
		if err == nil {
			graph = g
			detail = fmt.Sprintf("%s: %s, %s", p.Short(path), say.Count(g.Len(), "agent"), say.Count(len(warnings), "warning"))
		}
		add("configuration", detail, err, "")
	}
	if graph != nil && repo != nil && slices.ContainsFunc(graph.Nodes, func(n dag.Node) bool { return len(n.OnComplete) > 0 }) {
		base := graph.Base
		if b, err := repo.Base(ctx, graph.Base); err == nil {
			base = b.Branch
		}
		notes, errs := preflight.Steps(ctx, repo, graph, base, c.Env)
		for _, note := range notes {
			errs = append(errs, errors.New(note))
		}
		add("on_complete", "what it pushes to answers", errors.Join(errs...), "")
	}
	detail, err := room(root, graph)
	add("disk", detail, err, "")
	all = append(all, preflight.Kinds(ctx, c.Env, root, graph)...)
	all = append(all, preflight.Fence(graph))
	key, _ := seal.Path()
	_, noKey := seal.Find()
	if errors.Is(noKey, fs.ErrNotExist) {
		key, noKey = key+" is not there; the next new run makes one", nil
	}
	add("key", key, noKey, "")
	detail, err = slotsHeld()
	add("slots", detail, err, "XDG_STATE_HOME: set it to a folder that you can write to; without, runs may be given the same ports")
	if user, err := settings.Read(); err != nil {
		add("your file", "", err, "cmux help configuration 'Keys of your own file'")
	} else {
		detail, err = agentsSeated(user)
		add("max_agents", detail, err, "cmux help configuration 'Keys of your own file'")
	}
	detail, err = limitsMet(p.Now())
	add("limits", detail, err, "remove the file that it names")
	newest, err := newestRuns(root)
	switch {
	case err != nil && noKey == nil:
		add("run", "", err, "")
	case err == nil && len(newest) == 0:
		add("run", "none yet", nil, "")
	}
	all = append(all, p.examineOrg(ctx)...)
	for _, r := range newest {
		for _, f := range p.examineRun(ctx, r) {
			if len(newest) > 1 {
				f.Try = runs.WithSession(f.Try, r.Plan.Graph.Session)
			}
			all = append(all, f)
		}
	}
	if err != nil {
		return all // whose the markers and worktrees are, only the runs could say
	}
	all = append(all, foreignMarkers(root, newest)...)
	if repo != nil {
		all = append(all, p.leftovers(ctx, repo, newest))
	}
	return all
}

// room says how much can still be written in the project and where its worktrees
// are.
func room(root string, g *dag.Graph) (string, error) {
	if g == nil {
		g = &dag.Graph{}
	}
	least, where, known := uint64(math.MaxUint64), "", false
	for _, dir := range []string{root, run.Folder(root), filepath.Dir(g.TreePath(root, &dag.Node{}))} {
		switch free, ok := run.Room(dir); {
		case run.Cramped(dir):
			return "", hint.New(fmt.Errorf("the disk is full: %s", dir), "free some space: whatever begins waits for it, and commands that change a run need some")
		case ok && free < least:
			least, where, known = free, dir, true
		}
	}
	if !known {
		return "does not tell how much is free", nil
	}
	return fmt.Sprintf("%sB free at %s", say.Short(int64(min(least, math.MaxInt64))), where), nil
}

// slotsHeld says which runs of the person have slots, and the ports of these.
func slotsHeld() (string, error) {
	dir, err := lease.SlotFolder()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "no run has any", nil
	}
	held, err := lease.Held(dir)
	if err != nil || len(held) == 0 {
		return "no run has any", err
	}
	var all []string
	for _, n := range slices.Sorted(maps.Keys(held)) {
		h := held[n]
		all = append(all, fmt.Sprintf("%d to %d: session %s of %s", n*lease.BlockSlots, (n+1)*lease.BlockSlots-1, h.Session, h.Project))
	}
	return say.List(all, 5), nil
}

// agentsSeated says how many agents of all runs may work at the same time, and
// who does.
func agentsSeated(user settings.User) (string, error) {
	if user.MaxAgents == 0 {
		return "no limit", nil
	}
	taken, err := lease.Seated()
	text := fmt.Sprintf("%d of %d in use", len(taken), user.MaxAgents)
	var all []string
	for _, h := range taken {
		all = append(all, h.String())
	}
	if len(all) > 0 {
		text += ": " + say.List(all, 5)
	}
	return text, err
}

// limitsMet says which accounts of the person are at a limit, and who met it.
func limitsMet(now time.Time) (string, error) {
	dir, err := limits.Folder()
	if err != nil {
		return "", err
	}
	known, err := limits.All(dir, now)
	var all []string
	for _, s := range known {
		if !s.Free && s.Until.After(now) {
			all = append(all, fmt.Sprintf("%s until %s: met by %s", s.Account, s.Until.In(now.Location()).Format("2006-01-02 15:04"), s.By))
		}
	}
	if len(all) == 0 {
		return "no account is at one", err
	}
	return say.List(all, 5), err
}

// newestRuns are the newest runs of the sessions of the project at root.
func newestRuns(root string) (newest []*run.Run, err error) {
	owners, err := run.Owners(root)
	for _, o := range owners {
		r, err := run.Open(root, o.ID)
		if err != nil {
			return newest, err
		}
		newest = append(newest, r)
	}
	return newest, err
}

// pids are the processes' numbers, as kill takes them.
func pids(ps []proc.Process) string {
	var all []string
	for _, p := range ps {
		all = append(all, strconv.Itoa(p.PID))
	}
	return strings.Join(all, " ")
}

// writable reports whether a file can be made in .cmux, or .cmux itself.
func writable(root string) error {
	dir := run.Folder(root)
	if err := signals.Expect(dir, fs.ModeDir); err != nil {
		return err
	}
	if _, err := signals.Type(dir); errors.Is(err, fs.ErrNotExist) {
		dir = root
	}
	probe := filepath.Join(dir, ".cmux-doctor-"+strconv.Itoa(os.Getpid()))
	if err := signals.PutFile(probe, nil, 0o600); err != nil {
		return err
	}
	return signals.RemoveFile(probe)
}

func (p *Project) examineRun(ctx context.Context, r *run.Run) []finding.Finding {
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return []finding.Finding{finding.Wrong("run", err)}
	}
	f := finding.Finding{What: "run", OK: true, Detail: fmt.Sprintf("%s: %s", r.Plan.ID, v.RunState)}
	if v.Holder != nil {
		f.Detail += ", runner " + v.Holder.String()
	}
	if v.RunState == dag.RunNoRunner {
		f.OK, f.Try = false, "cmux agents resume"
	}
	if at := runview.AtWork(v); len(at) > 0 && v.Holder == nil {
		f.OK = false
		f.Detail += "; still at work without a runner: " + say.List(at, 10)
		f.Try = "cmux agents resume, or cmux agents stop to end them"
	}
	all := []finding.Finding{f}
	if lines, err := v.Passed(true); err != nil {
		all = append(all, finding.Wrong("records", err))
	} else if len(lines) > 0 {
		all = append(all, finding.Finding{What: "records", Detail: "lines that cmux ignores: " + say.List(lines, 10),
			Try: "look at them in " + r.Records() + "; cmux agents status shows what the others say"})
	}
	for _, f := range notice.Failures(r.Dir) {
		all = append(all, finding.Finding{What: "notify", Detail: say.Line(f.String()), Try: "correct notify." + f.Way + " in " + p.Short(r.Plan.Config) + ", then " + runview.UpdateWay(v)})
	}
	if v.ConfigChanged {
		all = append(all, finding.Finding{What: "plan", OK: true, Detail: "the configuration differs from the plan of the run", Try: runview.UpdateWay(v)})
	}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if l := n.Status.Label; l.State == dag.NodeFailed && l.Reason == dag.ReasonBadMarker {
			all = append(all, finding.Finding{What: "marker", Detail: n.Spec.Name + ": " + say.Line(n.Status.Reason),
				Try: "cmux agents retry " + n.Spec.Name + ", or cmux agents override " + n.Spec.Name})
		}
	}
	return all
}

// foreignMarkers names the files among the markers that belong to no node.
func foreignMarkers(root string, newest []*run.Run) []finding.Finding {
	var names []string
	for _, r := range newest {
		names = append(names, r.Plan.Graph.Names()...)
	}
	slices.Sort(names)
	_, others, err := signals.NewScanner(run.SignalsDir(root), slices.Compact(names)).Scan(time.Now())
	switch {
	case errors.Is(err, signals.ErrNoDir):
		return nil
	case err != nil:
		return []finding.Finding{finding.Wrong("markers", err)}
	case len(others) > 0:
		for k, file := range others {
			for _, r := range newest {
				if i := runs.StrayFor(r.Plan.Graph, file); i >= 0 {
					others[k] = file + " (did you mean " + r.Plan.Graph.Nodes[i].Name + signals.Suffix + "?)"
				}
			}
		}
		return []finding.Finding{{What: "markers", Detail: "files that belong to no node of the newest run: " + say.List(others, 10),
			Try: "cd " + run.SignalsDir(root) + " and remove them, unless they are overrides for the next run"}}
	}
	return []finding.Finding{{What: "markers", OK: true, Detail: "only those of the run"}}
}

// leftovers names worktrees that cmux lent and that no run of the project
// still needs.
func (p *Project) leftovers(ctx context.Context, repo *worktree.Repo, newest []*run.Run) finding.Finding {
	f := finding.Finding{What: "worktrees", OK: true, Detail: "none left over"}
	out, err := p.Git(ctx, repo.Root, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return finding.Wrong(f.What, err)
	}
	var left, missing []string
	for line := range strings.SplitSeq(out, "\x00") {
		path, ok := strings.CutPrefix(line, "worktree ")
		if !ok || path == repo.Root {
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, path)
			continue
		}
		if path == merging.TreeOf(p.Root) {
			return finding.Finding{What: f.What, Detail: "a merge of branches has not ended", Try: "cmux agents merge --continue, or --abort"}
		}
		t, err := repo.Tree(ctx, path)
		if err != nil || t.Owner == "" || p.isAgents(t) || path == p.Tasks().MergeTree() || path == p.Health().Tree() {
			continue // not cmux's, or in use
		}
		if !slices.ContainsFunc(newest, func(r *run.Run) bool {
			name, ours := strings.CutPrefix(t.Owner, r.Plan.Graph.Session+"/")
			return ours && r.Plan.Graph.Index(filepath.Base(name)) >= 0
		}) {
			left = append(left, path)
		}
	}
	if len(left) > 0 {
		f.OK, f.Detail = false, "worktrees of nodes that are not in the newest run: "+say.List(left, 10)
		f.Try = "look into them (git -C PATH status), then git worktree remove PATH"
	} else if len(missing) > 0 {
		f.OK, f.Detail, f.Try = false, "registered and gone: "+say.List(missing, 10), "git worktree prune"
	}
	return f
}
