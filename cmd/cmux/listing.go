package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/say"
	"cmux/agents/run"
	"cmux/dag"
)

// latest is the newest run of the project.
func (d *Deps) latest(ctx context.Context) (*run.Run, error) {
	root, err := d.root(ctx)
	if err != nil {
		return nil, err
	}
	r, err := run.Latest(root)
	return r, noRun(err)
}

// latestView is the newest run as it stands, and the index of the named node.
func (d *Deps) latestView(ctx context.Context, name string) (*run.View, int, error) {
	r, err := d.latest(ctx)
	if err != nil {
		return nil, 0, err
	}
	i, err := nodeIndex(r, name)
	if err != nil {
		return nil, 0, err
	}
	v, err := r.View(ctx, d.Now())
	return v, i, err
}

// nodeIndex is the index of the named node in r's graph.
func nodeIndex(r *run.Run, name string) (int, error) {
	g := r.Plan.Graph
	if i := g.Index(name); i >= 0 {
		return i, nil
	}
	names := nodeNames(g)
	err := fmt.Errorf("run %s has no node %q: it has %s", r.Plan.ID, name, say.List(names, 20))
	if near := nearest(name, names); near != "" {
		return 0, &Hint{Err: control.Tag(err, errUsage), Try: near + " instead of " + name}
	}
	return 0, control.Tag(err, errUsage)
}

func nodeNames(g *dag.Graph) []string {
	names := make([]string, g.Len())
	for i := range g.Nodes {
		names[i] = g.Nodes[i].Name
	}
	return names
}

// nearest is the name that s was most likely meant to be, or one that begins
// with it; empty when there is none.
func nearest(s string, names []string) string {
	if near := dag.Nearest(s, names); near != "" || s == "" {
		return near
	}
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(strings.ToLower(n), strings.ToLower(s)) }); i >= 0 {
		return names[i]
	}
	return ""
}

// completeNode completes the name of a node of the newest run.
func (d *Deps) completeNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.completeNodes(cmd, args, func(*dag.Node) bool { return true })
}

// completeGate completes the name of a gate of the newest run.
func (d *Deps) completeGate(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.completeNodes(cmd, args, func(n *dag.Node) bool { return n.Role == dag.RoleGate })
}

func (d *Deps) completeNodes(cmd *cobra.Command, args []string, fits func(*dag.Node) bool) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r, err := d.latest(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range r.Plan.Graph.Nodes {
		if n := &r.Plan.Graph.Nodes[i]; fits(n) {
			names = append(names, n.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// pastRun is one entry of list --json.
type pastRun struct {
	ID        string       `json:"id"`
	State     dag.RunState `json:"state"`
	Session   string       `json:"session"`
	Config    string       `json:"config"`
	Base      string       `json:"base"`
	Nodes     int          `json:"nodes"`
	Done      int          `json:"done"`
	StartedAt *time.Time   `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at"`
}

func newListCmd(d *Deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the project's runs, newest first",
		Long: `List the project's runs, newest first. With --json the shape is
  [{"id", "state", "session", "config", "base", "nodes", "done", "started_at", "ended_at"}]
where base is a commit, nodes and done are counts, and times are RFC 3339 or null.`,
		Example: "  cmux agents list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			root, err := d.root(ctx)
			if err != nil {
				return err
			}
			ids, err := run.List(root)
			if err != nil {
				return err
			}
			runs := make([]pastRun, 0, len(ids))
			for _, id := range slices.Backward(ids) {
				one, err := d.pastRun(ctx, root, id)
				if err != nil { // one damaged folder does not hide the others
					fmt.Fprintf(d.Err, "cmux: %v\n", err)
					continue
				}
				runs = append(runs, one)
			}
			if asJSON {
				return printJSON(d.Out, runs)
			}
			if len(runs) == 0 && len(ids) > 0 {
				return nil // those that are there cannot be listed, as was said
			}
			if len(runs) == 0 {
				_, err := fmt.Fprintln(d.Out, "No run yet in this project: cmux agents start")
				return err
			}
			rows := make([][]string, len(runs))
			for i, r := range runs {
				started, took := "-", "-"
				if r.StartedAt != nil {
					end := d.Now()
					if r.EndedAt != nil {
						end = *r.EndedAt
					}
					started, took = r.StartedAt.Local().Format("2006-01-02 15:04"), say.Span(end.Sub(*r.StartedAt))
				}
				rows[i] = []string{r.ID, string(r.State), r.Session, fmt.Sprintf("%d/%d", r.Done, r.Nodes), started, took}
			}
			columns := []column{{head: "RUN"}, {head: "STATE", style: func(row int) string { return stateStyle(runs[row].State) }},
				{head: "SESSION", give: 1, least: 8}, {head: "DONE"}, {head: "STARTED", give: 2, least: 16}, {head: "TOOK", give: 3, least: 6}}
			_, err = fmt.Fprint(d.Out, table(columns, rows, d.width(), d.colour()))
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (d *Deps) pastRun(ctx context.Context, root, id string) (pastRun, error) {
	r, err := run.Open(root, id)
	if err != nil {
		return pastRun{}, err
	}
	v, err := r.View(ctx, d.Now())
	if err != nil {
		return pastRun{}, err
	}
	p := pastRun{ID: id, State: v.RunState, Session: r.Plan.Graph.Session, Config: r.Plan.Config, Base: r.Plan.Base,
		Nodes: len(v.Nodes), StartedAt: moment(v.StartedAt), EndedAt: moment(v.EndedAt)}
	for i := range v.Nodes {
		if f := &v.Nodes[i].Fact; f.Phase == dag.Ended && f.Outcome.Success() {
			p.Done++
		}
	}
	return p, nil
}
