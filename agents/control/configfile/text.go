package configfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/hint"
)

// ConfigText is a configuration as its file has it, for a person who edits it.
type ConfigText struct {
	File  string `json:"file"` // from the project's root
	There bool   `json:"there"`
	Text  string `json:"text"`
	Sum   string `json:"sum"` // names this text
}

// ConfigFault is a place of a configuration and what is wrong there.
type ConfigFault struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Faults returns the faults that err consists of. Any other error is returned as it is.
func Faults(err error) ([]ConfigFault, error) {
	all := []ConfigFault{}
	var faults dag.Faults
	if !errors.As(err, &faults) {
		return all, err
	}
	for _, f := range faults {
		all = append(all, ConfigFault(f))
	}
	return all, nil
}

// A Source is a configuration that a person may edit.
type Source struct {
	Path string
	Read func(path string) ([]byte, error) // says whether it follows a link
}

// Text reads a configuration, which need not be there.
func (p *Files) Text(s Source) (*ConfigText, error) {
	src, err := s.Read(s.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &ConfigText{File: p.Short(s.Path), There: err == nil, Text: string(src), Sum: run.Sum(src)}, nil
}

// WriteText writes text as a configuration, in place of the text that sum names. Of two
// callers at once, the second gets an error. A link to a file in the project stays a link.
func (p *Files) WriteText(ctx context.Context, s Source, text, sum string) (*ConfigText, error) {
	if err := signals.Init(p.Root); err != nil {
		return nil, err
	}
	release, err := signals.Hold(ctx, run.Folder(p.Root))
	if err != nil {
		return nil, err
	}
	defer release()
	was, err := p.Text(s)
	if err != nil {
		return nil, err
	}
	if was.Sum != sum {
		return nil, hint.New(fmt.Errorf("%s has changed since it was read: nothing was written", was.File), "read it again, and make the change in what it says now")
	}
	path, err := p.target(s.Path)
	if err != nil {
		return nil, err
	}
	if err := signals.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return p.Text(s)
}

// target returns the file that the configuration at path is written to: the target of a link.
func (p *Files) target(path string) (string, error) {
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
