package graphs

import (
	"context"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/control/configfile"
	"cmux/agents/control/project"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// GraphCheck is what a configuration of agents would be.
type GraphCheck struct {
	Session  string                   `json:"session"`
	Nodes    []commands.Planned       `json:"nodes"` // in graph order; none where there are faults
	Waves    []commands.Wave          `json:"waves"` // in which order they would start
	Faults   []configfile.ConfigFault `json:"faults"`
	Warnings []configfile.ConfigFault `json:"warnings"`
}

// GraphSchema is the JSON Schema of the configuration of agents.
func GraphSchema() []byte { return dag.Schema() }

// source is the file of the configuration of agents.
func (p *Graphs) source() configfile.Source {
	return configfile.Source{Path: p.Configurations.Config(""), Read: run.ReadConfig}
}

// GraphText reads the configuration of agents, which need not be there.
func (p *Graphs) GraphText() (*configfile.ConfigText, error) {
	return p.Configurations.Text(p.source())
}

// CheckGraph says what a text would be as the configuration of agents.
func (p *Graphs) CheckGraph(ctx context.Context, text string) (*GraphCheck, error) {
	g, warned, err := p.parseGraph(ctx, text)
	c := &GraphCheck{Nodes: []commands.Planned{}, Waves: []commands.Wave{}, Warnings: []configfile.ConfigFault{}}
	for _, w := range warned {
		c.Warnings = append(c.Warnings, configfile.ConfigFault(w))
	}
	if c.Faults, err = configfile.Faults(err); err != nil {
		return nil, err
	}
	if len(c.Faults) > 0 {
		return c, nil
	}
	c.Session = g.Session
	for _, i := range g.Order() {
		c.Nodes = append(c.Nodes, commands.PlannedAs(&g.Nodes[i], ""))
	}
	c.Waves = append(c.Waves, commands.Waves(g, nil)...)
	return c, nil
}

// parseGraph reads a text as the configuration of agents.
func (p *Graphs) parseGraph(ctx context.Context, text string) (*dag.Graph, []dag.Warning, error) {
	return p.Configurations.Parse(ctx, p.Configurations.Config(""), []byte(text))
}

// WriteGraph writes a text as the configuration of agents, in place of the one that sum
// names. It writes one with faults too: an editor saves what is half done, and start
// refuses it.
func (p *Graphs) WriteGraph(ctx context.Context, text, sum string) (*configfile.ConfigText, error) {
	return p.Configurations.WriteText(ctx, p.source(), text, sum)
}

// AddToGraph is a configuration of agents with one more node, and what that would be.
func (p *Graphs) AddToGraph(ctx context.Context, text string, s dag.Sketch) (string, *GraphCheck, error) {
	if strings.TrimSpace(s.Name) == "" {
		return "", nil, project.Usage("", "the node has no name")
	}
	out, err := dag.AddNode([]byte(text), s)
	if err != nil {
		return "", nil, project.Usage("", "%w", err)
	}
	check, err := p.CheckGraph(ctx, string(out))
	return string(out), check, err
}
