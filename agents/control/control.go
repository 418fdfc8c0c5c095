package control

import (
	"context"
	"fmt"

	"cmux/agents/control/commands"
	"cmux/agents/control/configfile"
	"cmux/agents/control/crew"
	"cmux/agents/control/files"
	"cmux/agents/control/graphs"
	"cmux/agents/control/health"
	"cmux/agents/control/letters"
	"cmux/agents/control/locking"
	"cmux/agents/control/logs"
	"cmux/agents/control/merging"
	"cmux/agents/control/orders"
	"cmux/agents/control/overview"
	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
	"cmux/agents/control/schedules"
	"cmux/agents/control/serving"
	"cmux/agents/control/tasks"
	"cmux/agents/control/teams"
	"cmux/agents/control/terminals"
)

// Project is a project with all that can be asked of it and done in it.
type Project struct{ project.Project }

// Open finds the project that c stands in: see project.Open.
func Open(ctx context.Context, c project.Caller) (*Project, error) {
	p, err := project.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Project{*p}, nil
}

// Allow refuses a person's order to a process that comes from an attempt of the
// project that c stands in, and records that it was tried. It returns that
// project where it looked for it and found it.
func Allow(ctx context.Context, c project.Caller, o orders.Order) (*Project, error) {
	if !orders.IsPersons(o) {
		return nil, nil
	}
	p, err := Open(ctx, c)
	if err != nil {
		return nil, nil // there is no project: who carries the order out says so
	}
	return p, p.Orders().Allow(ctx, o)
}

// Configurations opens the configurations that commands read.
func (p *Project) Configurations() *configfile.Files { return &configfile.Files{Project: p.Project} }

// OfRun is p with orders that mean a run. It has to be the newest of its session:
// an order never means an older one. A headless run is given no runner: who
// ordered would have to stay for it.
func (p *Project) OfRun(ctx context.Context, id string) (*Project, error) {
	r, err := p.Runs().Named(ctx, id)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Session = r.Plan.Graph.Session
	q.Start = p.Start && !r.Plan.Headless
	newest, err := q.Runs().Latest(ctx)
	if err != nil {
		return nil, err
	}
	if newest.Plan.ID != r.Plan.ID {
		return nil, fmt.Errorf("run %s is over: session %s has the newer run %s", r.Plan.ID, q.Session, newest.Plan.ID)
	}
	return &q, nil
}

// Files opens the files of the project.
func (p *Project) Files() *files.Files { return &files.Files{Project: &p.Project} }

// Runs opens the runs of the project.
func (p *Project) Runs() *runs.Runs { return &runs.Runs{Project: &p.Project} }

// Logs opens the logs of runs and standing agents.
func (p *Project) Logs() *logs.Logs { return &logs.Logs{Project: &p.Project, Runs: p.Runs()} }

// Commands opens the commands to the runs of the project.
func (p *Project) Commands() *commands.Commands {
	return &commands.Commands{Project: &p.Project, Runs: p.Runs(), Configurations: p.Configurations()}
}

// Graphs opens the graphs of configurations and runs.
func (p *Project) Graphs() *graphs.Graphs {
	return &graphs.Graphs{Project: &p.Project, Runs: p.Runs(), Configurations: p.Configurations()}
}

// Merging opens the merge of what runs did.
func (p *Project) Merging() *merging.Merging {
	return &merging.Merging{Project: &p.Project, Runs: p.Runs(), Talk: talkOf(p)}
}

// Remains opens what runs left behind.
func (p *Project) Remains() *remains.Remains {
	return &remains.Remains{Project: &p.Project, Runs: p.Runs()}
}

// Records opens what is written down of the project.
func (p *Project) Records() *records.Records { return &records.Records{Project: &p.Project} }

// Tasks opens the tasks of the project.
func (p *Project) Tasks() *tasks.Tasks {
	return &tasks.Tasks{Project: &p.Project, Talk: talkOf(p)}
}

// Letters opens the messages of the project.
func (p *Project) Letters() *letters.Letters { return &letters.Letters{Project: &p.Project} }

// Locks opens the locks of the project.
func (p *Project) Locks() *locking.Locks {
	return &locking.Locks{Project: &p.Project, Letters: p.Letters()}
}

// Schedules opens the schedule of the project.
func (p *Project) Schedules() *schedules.Schedules {
	return &schedules.Schedules{Project: &p.Project, Letters: p.Letters(), Tasks: p.Tasks()}
}

// Crew opens who works beside the supervisor.
func (p *Project) Crew() *crew.Crew {
	return &crew.Crew{Project: &p.Project, Runs: p.Runs(), Tasks: p.Tasks(), Letters: p.Letters()}
}

// Serving opens the server of the project.
func (p *Project) Serving() *serving.Serving {
	return &serving.Serving{Project: &p.Project, Commands: p.Commands()}
}

// Terminals opens the terminals of the project.
func (p *Project) Terminals() *terminals.Terminals {
	return &terminals.Terminals{Project: &p.Project, Runs: p.Runs(), Logs: p.Logs(), Crew: p.Crew(), Records: p.Records(),
		OfRun: func(ctx context.Context, id string) (*commands.Commands, error) {
			of, err := p.OfRun(ctx, id)
			if err != nil {
				return nil, err
			}
			return of.Commands(), nil
		}}
}

// Overview opens how all of the project stands.
func (p *Project) Overview() *overview.Overview {
	return &overview.Overview{Project: &p.Project, Runs: p.Runs(), Records: p.Records(), Letters: p.Letters(), Locks: p.Locks(), Serving: p.Serving(), Rooms: p.Rooms()}
}

// Orders opens the decision about who may order.
func (p *Project) Orders() *orders.Orders {
	return &orders.Orders{Project: &p.Project, Records: p.Records()}
}

// Health opens the care for the project.
func (p *Project) Health() *health.Health {
	return &health.Health{Project: &p.Project, Records: p.Records(), Orders: p.Orders(), Crew: p.Crew(), Overview: p.Overview()}
}

// Teams opens the teams of the project.
func (p *Project) Teams() *teams.Teams {
	return &teams.Teams{Project: &p.Project, Crew: p.Crew(), Tasks: p.Tasks(), Overview: p.Overview()}
}
