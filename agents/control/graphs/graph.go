package graphs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/hint"
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
	Session  string             `json:"session"`
	Nodes    []commands.Planned `json:"nodes"` // in graph order; none where there are faults
	Waves    []commands.Wave    `json:"waves"` // in which order they would start
	Faults   []GraphFault       `json:"faults"`
	Warnings []GraphFault       `json:"warnings"`
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
func (p *Graphs) GraphText() (*GraphText, error) {
	path := p.Configurations.Config("")
	src, err := run.ReadConfig(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &GraphText{File: p.Short(path), There: err == nil, Text: string(src), Sum: run.Sum(src)}, nil
}

// CheckGraph says what a text would be as the configuration of agents.
func (p *Graphs) CheckGraph(ctx context.Context, text string) (*GraphCheck, error) {
	g, warned, err := p.parseGraph(ctx, text)
	c := &GraphCheck{Nodes: []commands.Planned{}, Waves: []commands.Wave{}, Faults: []GraphFault{}, Warnings: []GraphFault{}}
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
		c.Nodes = append(c.Nodes, commands.PlannedAs(&g.Nodes[i], ""))
	}
	c.Waves = append(c.Waves, commands.Waves(g, nil)...)
	return c, nil
}

// parseGraph reads a text as the configuration of agents.
func (p *Graphs) parseGraph(ctx context.Context, text string) (*dag.Graph, []dag.Warning, error) {
	return p.Configurations.Parse(ctx, p.Configurations.Config(""), []byte(text))
}

// WriteGraph writes a text as the configuration of agents, in place of the one that
// sum names. One with faults is written too: an editor saves what is half done, and
// start refuses it. Of two who write at once the second is told that it has changed. A
// link to a file in the project stays one.
func (p *Graphs) WriteGraph(ctx context.Context, text, sum string) (*GraphText, error) {
	if err := signals.Init(p.Root); err != nil {
		return nil, err
	}
	release, err := signals.Hold(ctx, run.Folder(p.Root))
	if err != nil {
		return nil, err
	}
	defer release()
	was, err := p.GraphText()
	if err != nil {
		return nil, err
	}
	if was.Sum != sum {
		return nil, hint.New(fmt.Errorf("%s has changed since it was read: nothing was written", was.File), "read it again, and make the change in what it says now")
	}
	path, err := p.graphFile()
	if err != nil {
		return nil, err
	}
	if err := signals.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return p.GraphText()
}

// graphFile is the file that the configuration of agents is written to: where it is a
// link, what that leads to.
func (p *Graphs) graphFile() (string, error) {
	path := p.Configurations.Config("")
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(p.Root)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, file); err != nil || !filepath.IsLocal(rel) {
		return "", hint.New(fmt.Errorf("%s is a link to %s, outside the project: nothing was written", p.Short(path), file), "edit that file by hand, or put a copy in the place of the link")
	}
	first, _, _ := strings.Cut(filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator))), "/")
	if strings.EqualFold(first, ".git") || strings.EqualFold(first, signals.Folder) {
		return "", hint.New(fmt.Errorf("%s is a link to %s, which is no configuration: nothing was written", p.Short(path), file), "edit that file by hand, or put a copy in the place of the link")
	}
	return file, nil
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
