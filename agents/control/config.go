package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"cmux/agents/control/say"
	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/dag"
	"cmux/signals"
)

// Config is the absolute path of the configuration that is meant; named is
// empty for the project's own.
func (p *Project) Config(named string) string {
	if named != "" {
		return p.Abs(named)
	}
	return filepath.Join(p.Root, runner.DefaultConfig)
}

// ReadConfig reads and validates the configuration at path. Faults name it as
// Short does.
func (p *Project) ReadConfig(ctx context.Context, path string) (*dag.Graph, []dag.Warning, error) {
	src, err := run.ReadConfig(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, p.NoConfig(ctx, path)
	}
	if err != nil {
		return nil, nil, Tag(err, ErrUsage)
	}
	return p.parse(path, src)
}

// parse reads a text as the configuration at path, with the kinds of agents that start
// would take.
func (p *Project) parse(path string, src []byte) (*dag.Graph, []dag.Warning, error) {
	known := dag.Kinds()
	for _, name := range slices.Sorted(maps.Keys(p.Kinds)) {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	return dag.Parse(p.Short(path), src, dag.ParseOptions{Kinds: known, ReadFile: func(name string) ([]byte, error) {
		return run.ReadTask(p.Root, path, name)
	}})
}

// NoConfig says that there is no configuration at path. Only where the project
// has none is a new one the way out: another name was mistyped.
func (p *Project) NoConfig(ctx context.Context, path string) error {
	usual := p.Config("")
	if _, err := os.Stat(usual); path == usual || errors.Is(err, os.ErrNotExist) {
		if dir, err := p.linked(ctx); err == nil && dir != "" && path == usual {
			if there, _ := p.linkedConfig(dir); there != "" {
				return Usage("the same with --config "+say.Word(p.Short(there)), "there is no %s, the project's; the worktree %s has one", path, dir)
			}
		}
		return Usage("cmux agents init", "there is no %s", path)
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yml" || ext == ".yaml" {
			names = append(names, e.Name())
		}
	}
	if near := dag.Nearest(filepath.Base(path), names); near != "" {
		return Usage("the same with --config "+say.Word(p.Short(filepath.Join(filepath.Dir(path), near))), "there is no %s (did you mean %q?)", path, near)
	}
	return Usage("the same without --config", "there is no %s; without --config, %s is read", path, usual)
}

// WriteConfig writes a configuration, and the schema that editors check it with.
// One that is faulty is not written; one whose schema could not be is, which is
// noted.
func (p *Project) WriteConfig(path, text string) (*dag.Graph, error) {
	g, _, err := dag.Parse(p.Short(path), []byte(text), dag.ParseOptions{})
	if err != nil {
		return nil, Tag(fmt.Errorf("these answers make no valid configuration, so nothing was written:\n%w", err), ErrUsage)
	}
	if err := signals.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, err
	}
	if err := errors.Join(signals.Init(p.Root), signals.WriteFile(p.Schema(), dag.Schema(), 0o644)); err != nil {
		p.note(fmt.Sprintf("the schema for editors was not written: %v", err))
	}
	return g, nil
}

// Schema is the path of the JSON Schema of the configuration.
func (p *Project) Schema() string { return filepath.Join(p.Root, dag.SchemaPath) }
