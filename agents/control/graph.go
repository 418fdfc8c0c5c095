package control

import (
	"errors"
	"fmt"
	"io/fs"

	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
)

// GraphText is the project's configuration of agents as its file has it.
type GraphText struct {
	File  string `json:"file"` // from the project's root
	There bool   `json:"there"`
	Text  string `json:"text"`
	Sum   string `json:"sum"` // names this text
}

// GraphCheck is what a configuration of agents would be.
type GraphCheck struct {
	Session  string       `json:"session"`
	Nodes    []Planned    `json:"nodes"` // in graph order; none where there are faults
	Waves    []Wave       `json:"waves"` // in which order they would start
	Faults   []GraphFault `json:"faults"`
	Warnings []GraphFault `json:"warnings"`
}

// GraphFault is a place of a configuration and what is wrong there.
type GraphFault struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// GraphSchema is the JSON Schema of the configuration of agents.
func GraphSchema() []byte { return dag.Schema() }

// GraphText reads the configuration of agents, which need not be there.
func (p *Project) GraphText() (*GraphText, error) {
	path := p.Config("")
	src, err := run.ReadConfig(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &GraphText{File: p.Short(path), There: err == nil, Text: string(src), Sum: run.Sum(src)}, nil
}

// CheckGraph says what a text would be as the configuration of agents.
func (p *Project) CheckGraph(text string) (*GraphCheck, error) {
	path := p.Config("")
	g, warned, err := dag.Parse(p.Short(path), []byte(text), dag.ParseOptions{ReadFile: func(name string) ([]byte, error) {
		return run.ReadTask(p.Root, path, name)
	}})
	c := &GraphCheck{Nodes: []Planned{}, Waves: []Wave{}, Faults: []GraphFault{}, Warnings: []GraphFault{}}
	for _, w := range warned {
		c.Warnings = append(c.Warnings, GraphFault(w))
	}
	var faults dag.Faults
	if errors.As(err, &faults) {
		for _, f := range faults {
			c.Faults = append(c.Faults, GraphFault(f))
		}
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.Session = g.Session
	for _, i := range g.Order() {
		c.Nodes = append(c.Nodes, planned(&g.Nodes[i], ""))
	}
	c.Waves = append(c.Waves, waves(g, nil)...)
	return c, nil
}

// WriteGraph writes a text as the configuration of agents, in place of the one that
// sum names. One with faults is written too: an editor saves what is half done, and
// start refuses it.
func (p *Project) WriteGraph(text, sum string) (*GraphText, error) {
	was, err := p.GraphText()
	if err != nil {
		return nil, err
	}
	if was.Sum != sum {
		return nil, &Hint{Err: fmt.Errorf("%s has changed since it was read: nothing was written", was.File), Try: "read it again, and make the change in what it says now"}
	}
	if err := signals.WriteFile(p.Config(""), []byte(text), 0o644); err != nil {
		return nil, err
	}
	return p.GraphText()
}
