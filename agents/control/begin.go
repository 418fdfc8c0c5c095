package control

import (
	"context"
	"path/filepath"

	"cmux/agents/control/checks"
	"cmux/agents/control/draft"
	"cmux/agents/control/graphs"
	"cmux/agents/kinds"
	"cmux/agents/platform/say"
	"cmux/worktree"
)

// GraphStart is what a first configuration of agents can be written with.
type GraphStart struct {
	File    string   `json:"file"` // from the project's root
	There   bool     `json:"there"`
	Session string   `json:"session"` // a name, made of the project's folder
	Kinds   []string `json:"kinds"`   // those whose program is installed
	Checks  []string `json:"checks"`  // commands that check the project, the best first
}

// GraphStart looks at the project for what a configuration can be written with.
func (p *Project) GraphStart(ctx context.Context) (*GraphStart, error) {
	file, err := p.Graphs().GraphText()
	if err != nil {
		return nil, err
	}
	s := &GraphStart{File: file.File, There: file.There, Session: draft.SessionName(p.Root, p.Configurations().Taken(ctx)), Kinds: []string{}, Checks: []string{}}
	s.Kinds = append(s.Kinds, kinds.Installed(p.Env)...)
	s.Checks = append(s.Checks, checks.All(p.Root)...)
	return s, nil
}

// DraftGraph writes the text of a configuration from answers, as cmux agents init does, and
// says what it would be. No file is written.
func (p *Project) DraftGraph(ctx context.Context, d draft.Draft) (string, *graphs.GraphCheck, error) {
	files := p.Configurations()
	rel, err := filepath.Rel(filepath.Dir(files.Config("")), files.Schema())
	if err != nil {
		return "", nil, err
	}
	d.WorktreeBase, d.MainPane = "..", true
	d.Found, d.Ports = kinds.Installed(p.Env), checks.Ports(p.Root)
	text := d.Compose(filepath.ToSlash(rel))
	check, err := p.Graphs().CheckGraph(ctx, text)
	return text, check, err
}

// OpenIssues lists the open issues of the project's repository, each with the node that
// would solve it.
func (p *Project) OpenIssues(ctx context.Context) ([]OpenIssue, error) {
	issues, err := draft.GitHub{Root: p.Root, Env: p.CleanEnv()}.Open(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]OpenIssue, len(issues))
	for i := range issues {
		n := issues[i].Node()
		all[i] = OpenIssue{Number: issues[i].Number, Title: issues[i].Title, Name: n.Name, Task: n.Task}
	}
	return all, nil
}

// OpenIssue is an open issue and the node for it.
type OpenIssue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Name   string `json:"name"` // of the node
	Task   string `json:"task"`
}

// FirstCommit is the commit that a repository begins with.
type FirstCommit struct {
	Commit string `json:"commit"`
	Files  int    `json:"files"` // in it
}

// FirstCommit makes the first commit of the project's repository, of all files that git
// does not ignore: a worktree starts at a commit.
func (p *Project) FirstCommit(ctx context.Context) (*FirstCommit, error) {
	files, err := worktree.FirstFiles(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	commit, err := worktree.FirstCommit(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	return &FirstCommit{Commit: commit, Files: len(files)}, nil
}

// shownFiles is how many files of the first commit are named.
const shownFiles = 5

// firstFiles says in words what the first commit would have.
func (p *Project) firstFiles(ctx context.Context) (string, error) {
	files, err := worktree.FirstFiles(ctx, p.Root)
	if err != nil || len(files) == 0 {
		return "the repository has no file yet", err
	}
	return say.Count(len(files), "file") + ": " + say.List(files, shownFiles), nil
}
