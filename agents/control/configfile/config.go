// Package configfile finds and reads the configuration that a command works on.
//
// It reads files and git. Only WriteConfig and WriteText change anything. A fault in a
// configuration is an error with its line.
package configfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/dag/keys"
	"cmux/signals"
	"cmux/worktree/git"
)

// Files are the configurations of a project, as its caller sees them.
type Files struct{ project.Project }

// DefaultConfig is the name of a configuration that needs no --config.
const DefaultConfig = runner.DefaultConfig

// Config returns the absolute path of the configuration that is meant. named is what
// the caller gave. If named is empty, Config takes the nearest DefaultConfig from
// where the caller stands up to the root of their worktree, else the one at the
// project's root, which need not exist.
func (p *Files) Config(named string) string {
	if named != "" {
		return p.Abs(named)
	}
	usual := filepath.Join(p.Root, runner.DefaultConfig)
	top := p.stands()
	if top == "" {
		return usual
	}
	for at := resolved(p.Dir); ; at = filepath.Dir(at) {
		path := filepath.Join(at, runner.DefaultConfig)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if at == top || at == filepath.Dir(at) {
			return usual
		}
	}
}

// Below returns the caller's folder relative to the root of the working tree around it,
// with slashes. "." means the root, or that there is none.
func (p *Files) Below() string {
	if top := p.stands(); top != "" {
		if rel, err := filepath.Rel(top, resolved(p.Dir)); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return "."
}

// HasFolder reports whether dir, relative to the project's root, is a folder of it.
func (p *Files) HasFolder(dir string) bool {
	info, err := os.Stat(filepath.Join(p.Root, dir))
	return err == nil && info.IsDir()
}

// stands returns the root of the working tree around the caller's folder, as the
// files show it. "" means that there is none, or that CMUX_HOME names a project
// elsewhere.
func (p *Files) stands() string {
	for at := resolved(p.Dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil && !project.IsGuard(at) {
			if p.Getenv("CMUX_HOME") != "" && at != resolved(p.Root) {
				return ""
			}
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// resolved returns path without links, or path itself if that cannot be found out.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// ReadConfig reads and validates the configuration at path. Faults name it as
// Short does.
func (p *Files) ReadConfig(ctx context.Context, path string) (*dag.Graph, []dag.Warning, error) {
	src, err := run.ReadConfig(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, p.NoConfig(ctx, path)
	}
	if err != nil {
		return nil, nil, project.Tag(err, project.ErrUsage)
	}
	return p.Parse(ctx, path, src)
}

// Taken returns the branches that a new one must fit beside; none where there is no
// repository.
func (p *Files) Taken(ctx context.Context) []string {
	all, err := (&git.Repo{Root: p.Root}).Takes(ctx)
	if err != nil {
		return nil
	}
	return all
}

// Parse reads a text as the configuration at path, with the kinds of agents that start
// would take, and beside the branches that there are.
func (p *Files) Parse(ctx context.Context, path string, src []byte) (*dag.Graph, []dag.Warning, error) {
	taken := p.Taken(ctx)
	known := dag.Kinds()
	for _, name := range slices.Sorted(maps.Keys(p.Kinds)) {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	return dag.Parse(p.Short(path), src, dag.ParseOptions{Kinds: known, InTheWay: func(branch string) string { return git.InTheWay(branch, taken) }, ReadFile: func(name string) ([]byte, error) {
		return run.ReadTask(p.Root, path, name)
	}})
}

// NoConfig says that there is no configuration at path. Only where the project
// has none is a new one the way out: another name was mistyped.
func (p *Files) NoConfig(ctx context.Context, path string) error {
	usual := p.Config("")
	if _, err := os.Stat(usual); path == usual || errors.Is(err, os.ErrNotExist) {
		if below := p.configsBelow(ctx); len(below) > 0 && path == usual {
			return project.Usage("the same with --config "+say.Word(p.Short(below[0])), "there is no %s; the project has %s", path, say.List(p.shorts(below), 5))
		}
		return project.Usage("cmux agents init", "there is no %s", path)
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yml" || ext == ".yaml" {
			names = append(names, e.Name())
		}
	}
	if near := keys.Nearest(filepath.Base(path), names); near != "" {
		return project.Usage("the same with --config "+say.Word(p.Short(filepath.Join(filepath.Dir(path), near))), "there is no %s (did you mean %q?)", path, near)
	}
	return project.Usage("the same without --config", "there is no %s; without --config, %s is read", path, usual)
}

// configsBelow returns the configurations in subfolders of the caller's worktree, as
// git knows them: tracked, or untracked and not ignored.
func (p *Files) configsBelow(ctx context.Context) (all []string) {
	top := p.stands()
	if top == "" {
		return nil
	}
	out, err := p.Git(ctx, top, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ":(glob)**/"+runner.DefaultConfig)
	if err != nil {
		return nil // a bare repository has none
	}
	for name := range strings.SplitSeq(out, "\x00") {
		path := filepath.Join(top, name)
		if _, err := os.Stat(path); name != "" && err == nil {
			all = append(all, path)
		}
	}
	return all
}

func (p *Files) shorts(paths []string) []string {
	all := make([]string, len(paths))
	for i, path := range paths {
		all[i] = p.Short(path)
	}
	return all
}

// WriteConfig writes a configuration, and the schema that editors check it with.
// One that is faulty is not written; one whose schema could not be is, which is
// noted.
func (p *Files) WriteConfig(path, text string) (*dag.Graph, error) {
	g, _, err := dag.Parse(p.Short(path), []byte(text), dag.ParseOptions{})
	if err != nil {
		return nil, project.Tag(fmt.Errorf("these answers make no valid configuration, so nothing was written:\n%w", err), project.ErrUsage)
	}
	if err := signals.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, err
	}
	if err := errors.Join(signals.Init(p.Root), signals.WriteFile(p.Schema(), dag.Schema(), 0o644)); err != nil {
		p.Tell(fmt.Sprintf("the schema for editors was not written: %v", err))
	}
	return g, nil
}

// Schema is the path of the JSON Schema of the configuration.
func (p *Files) Schema() string { return filepath.Join(p.Root, dag.SchemaPath) }
