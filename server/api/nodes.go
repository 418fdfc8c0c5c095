package api

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"cmux/agents/control/commands"
	"cmux/agents/control/merging"
	"cmux/agents/control/project"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
	"cmux/agents/org/standing"
	"cmux/agents/runs/run"
)

// runUpdate is the effect of an edited configuration on a run.
type runUpdate struct {
	Changes []commands.Change `json:"changes"`
	Sum     string            `json:"sum" doc:"Checksum of the configuration, required to apply the update"`
}

// patch is a difference as git writes it.
type patch struct {
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty" doc:"There is more"`
}

// maxPatch bounds a patch in an answer.
const maxPatch = 4 << 20

// bounded keeps the beginning of its input.
type bounded struct {
	bytes.Buffer
	cut bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if rest := maxPatch - b.Len(); rest < len(p) {
		b.cut = true
		b.Buffer.Write(p[:rest])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// patchOf returns the output of show.
func patchOf(show func(runs.Diff) error) (patch, error) {
	var out bounded
	err := show(runs.Diff{Output: &out, Errors: io.Discard})
	return patch{out.String(), out.cut}, err
}

// nodes adds the routes of runs' nodes and their work.
func (r *routes) nodes() {
	const group, path, one = "runs", "/api/runs", "/api/runs/{id}"
	p := r.Project
	post(r, group, path, "Start the graph of agents", func(ctx context.Context, i *struct {
		Body struct {
			Base  string `json:"base,omitempty" doc:"Commit or branch to start from; empty: the configuration's, or HEAD"`
			New   bool   `json:"new,omitempty" doc:"End an unfinished run first"`
			Fresh bool   `json:"fresh,omitempty" doc:"Save what is there and begin at the base"`
		}
	}) (*standing.RunMade, error) {
		return p.Serving().OrderRun(ctx, commands.Start{Base: i.Body.Base, New: i.Body.New, Fresh: i.Body.Fresh})
	})
	post(r, group, path+"/plan", "Preview a start without starting anything", func(ctx context.Context, i *struct {
		Body struct {
			Base string `json:"base,omitempty"`
			New  bool   `json:"new,omitempty"`
		}
	}) (*commands.Starting, error) {
		return p.Commands().PlanStart(ctx, commands.Start{Base: i.Body.Base, New: i.Body.New, Dry: true})
	})
	post(r, group, one+"/resume", "Resume a run that was stopped or lost its runner", func(ctx context.Context, i *RunIn) (runs.Report, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return runs.Report{}, err
		}
		v, err := p.Commands().GoOn(ctx)
		if err != nil {
			return runs.Report{}, err
		}
		return runs.NewReport(v), nil
	})
	get(r, group, one+"/update", "Show what the edited configuration would change in a run", func(ctx context.Context, i *RunIn) (runUpdate, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return runUpdate{}, err
		}
		v, err := p.Commands().Updatable(ctx)
		if err != nil {
			return runUpdate{}, err
		}
		u, err := p.Commands().PlanUpdate(ctx, v)
		if err != nil {
			return runUpdate{}, err
		}
		return runUpdate{append([]commands.Change{}, u.Changes...), u.Sum()}, nil
	})
	post(r, group, one+"/update", "Apply the edited configuration to a run", func(ctx context.Context, i *struct {
		RunIn
		Body struct {
			Sum string `json:"sum" doc:"Checksum of the configuration whose changes were shown"`
		}
	}) (commands.Taken, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return commands.Taken{}, err
		}
		return p.Commands().UpdateSeen(ctx, i.Body.Sum)
	})
	get(r, group, one+"/changelog", "Summarize in Markdown what each node of a run did", func(ctx context.Context, i *RunIn) (text, error) {
		said, err := p.Remains().Changelog(ctx, remains.Changelog{Run: i.ID})
		return text{said}, err
	})
	get(r, group, one+"/collisions", "List the files that two branches of a run both change", func(ctx context.Context, i *struct {
		RunIn
		Paging
	}) (List[runs.Collision], error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return List[runs.Collision]{}, err
		}
		_, all, err := p.Runs().Collisions(ctx)
		if err != nil {
			return List[runs.Collision]{}, err
		}
		return page(all, i.Paging, func(c *runs.Collision) string { return c.A + "\x00" + c.B })
	})
	r.reviews()
	get(r, group, one+"/nodes/{node}", "Show all details of a node", func(ctx context.Context, i *NodeIn) (*runs.Inspection, error) {
		found, err := p.Runs().Named(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		v, err := found.View(ctx, p.Now())
		if err != nil {
			return nil, err
		}
		n := v.Run.Plan.Graph.Index(i.Node)
		if n < 0 {
			return nil, project.Tag(fmt.Errorf("run %s has no node %q", found.Plan.ID, i.Node), project.ErrMissing)
		}
		return runs.Inspect(v, n), nil
	})
	get(r, group, one+"/nodes/{node}/diff", "Show what a node has changed since it started, committed and not", func(ctx context.Context, i *NodeIn) (patch, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return patch{}, err
		}
		return patchOf(func(d runs.Diff) error {
			d.Node = i.Node
			return p.Runs().Diff(ctx, d)
		})
	})
	post(r, group, one+"/nodes/{node}/verify", "Start a node's checks now, in its worktree", func(ctx context.Context, i *NodeIn) (Job[[]merging.Checked], error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return Job[[]merging.Checked]{}, err
		}
		found, err := p.Runs().Named(ctx, i.ID) // by its whole id, whatever it was called
		if err != nil {
			return Job[[]merging.Checked]{}, err
		}
		id := found.Plan.ID
		return r.checks.of(id+"/"+i.Node).begin(r, "/api/runs/"+id+"/nodes/"+i.Node+"/verify", func(ctx context.Context, output io.Writer, begun func(string)) (*[]merging.Checked, error) {
			all, err := p.Merging().Verify(ctx, merging.Verify{Node: i.Node, Output: output, Begun: begun})
			return &all, err
		})
	})
	get(r, group, one+"/nodes/{node}/verify", "Show the status of a node's checks started here", func(ctx context.Context, i *NodeIn) (Job[[]merging.Checked], error) {
		found, err := p.Runs().Named(ctx, i.ID)
		if err != nil {
			return Job[[]merging.Checked]{}, err
		}
		id := found.Plan.ID
		return stood(r, "/api/runs/"+id+"/nodes/"+i.Node+"/verify", r.checks.look(id+"/"+i.Node)), nil
	})
}

// reviews adds the routes of a person's decisions about nodes' work, and of its merge.
func (r *routes) reviews() {
	const group, one = "runs", "/api/runs/{id}"
	p := r.Project
	get(r, group, one+"/reviews", "List the finished work of a run's nodes with your decisions", func(ctx context.Context, i *struct {
		RunIn
		Paging
	}) (List[runs.Delivery], error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return List[runs.Delivery]{}, err
		}
		all, err := p.Runs().Deliveries(ctx)
		if err != nil {
			return List[runs.Delivery]{}, err
		}
		return page(all, i.Paging, func(d *runs.Delivery) string { return d.Node })
	})
	get(r, group, one+"/nodes/{node}/review", "Show the work of a node and your decision", func(ctx context.Context, i *NodeIn) (*runs.Delivery, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		return p.Runs().Delivery(ctx, i.Node)
	})
	get(r, group, one+"/nodes/{node}/review/diff", "Show the patch of a node under review", func(ctx context.Context, i *struct {
		NodeIn
		File string `query:"file" maxLength:"4096" doc:"Only this file"`
	}) (patch, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return patch{}, err
		}
		d, err := p.Runs().Delivery(ctx, i.Node)
		if err != nil {
			return patch{}, err
		}
		return patchOf(func(o runs.Diff) error { return p.Runs().DeliveryDiff(ctx, d, i.File, o) })
	})
	post(r, group, one+"/nodes/{node}/review", "Approve the work of a node, send it back or drop it", func(ctx context.Context, i *struct {
		NodeIn
		Body struct {
			Verdict    string `json:"verdict" enum:"approved,dropped,sent back"`
			Commit     string `json:"commit,omitempty" doc:"The reviewed commit; empty: the branch's newest"`
			Comment    string `json:"comment,omitempty" doc:"Sent back: the requested changes"`
			Downstream bool   `json:"downstream,omitempty" doc:"Sent back: dependents run again too"`
		}
	}) (*commands.Judged, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		b := &i.Body
		return p.Commands().Judge(ctx, commands.Judgement{Node: i.Node, Verdict: run.Verdict(b.Verdict), Commit: b.Commit, Comment: b.Comment, Downstream: b.Downstream})
	})
	post(r, group, one+"/merge", "Start a merge of a run's branches, in order, with checks after each", func(ctx context.Context, i *struct {
		RunIn
		Body merging.Merge
	}) (Job[merging.Merged], error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return Job[merging.Merged]{}, err
		}
		found, err := p.Runs().Named(ctx, i.ID)
		if err != nil {
			return Job[merging.Merged]{}, err
		}
		return r.runMerges.of(found.Plan.ID).begin(r, "/api/runs/"+found.Plan.ID+"/merge", func(ctx context.Context, output io.Writer, begun func(string)) (*merging.Merged, error) {
			o := i.Body
			o.Output, o.Begun, o.Tell = output, begun, func(line string) { fmt.Fprintln(output, line) }
			return p.Merging().Merge(ctx, o)
		})
	})
	get(r, group, one+"/merge", "Show the status of a run's merge started here", func(ctx context.Context, i *RunIn) (Job[merging.Merged], error) {
		found, err := p.Runs().Named(ctx, i.ID)
		if err != nil {
			return Job[merging.Merged]{}, err
		}
		return stood(r, "/api/runs/"+found.Plan.ID+"/merge", r.runMerges.look(found.Plan.ID)), nil
	})
}
