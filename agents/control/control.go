package control

import (
	"context"

	"cmux/agents/control/configfile"
	"cmux/agents/control/project"
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

// Configurations opens the configurations that commands read.
func (p *Project) Configurations() *configfile.Files { return &configfile.Files{Project: p.Project} }
