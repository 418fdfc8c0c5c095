package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/files"
	"cmux/agents/control/overview"
	"cmux/agents/control/project"
	"cmux/agents/control/tasks"
	"cmux/agents/kinds"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/limits"
	"cmux/agents/records/journal"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree"
)

// AccountLimit is what is known of an account, by all projects of the person.
type AccountLimit struct {
	Account string     `json:"account"`
	Limited bool       `json:"limited"` // it works on nothing until then
	Until   *time.Time `json:"until"`   // null: nobody knows
	At      time.Time  `json:"at"`      // when that was found out
	Project string     `json:"project"` // where
	Run     string     `json:"run"`
	Node    string     `json:"node"`
	Said    string     `json:"said"` // by the program that met the limit
}

// Limits are the accounts that have met a limit, by name.
func (p *Project) Limits() ([]AccountLimit, error) {
	dir, err := limits.Folder()
	if err != nil {
		return nil, err
	}
	known, err := limits.All(dir, p.Now())
	if err != nil {
		return nil, err
	}
	all := []AccountLimit{}
	for _, s := range known {
		all = append(all, AccountLimit{Account: s.Account, Limited: !s.Free && (s.Until.IsZero() || s.Until.After(p.Now())), Until: project.Moment(s.Until), At: s.At,
			Project: s.By.Project, Run: s.By.Run, Node: s.By.Node, Said: harmless.Text(s.Said)})
	}
	slices.SortFunc(all, func(a, b AccountLimit) int { return strings.Compare(a.Account, b.Account) })
	return all, nil
}

// ArchiveFile is a file of what is kept of an agent that was removed.
type ArchiveFile struct {
	Path string    `json:"path"` // from the archive
	Size int64     `json:"size"`
	At   time.Time `json:"modified_at"`
}

// secretFiles of an archive are not shown: what its programs were given.
var secretFiles = []string{"env", "settings.json", "token", "socket", "lock"}

// secret reports whether a file of an archive is not shown. On some file systems ENV is
// env.
func secret(file string) bool {
	base := path.Base(filepath.ToSlash(file))
	return slices.ContainsFunc(secretFiles, func(s string) bool { return strings.EqualFold(s, base) })
}

// archive opens the archive of a name, which stands in the list of the removed.
func (p *Project) archive(name string) (*os.Root, error) {
	all, err := p.Crew().Removals()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if ArchiveID(p.Root, r.Archive) == name {
			return os.OpenRoot(r.Archive)
		}
	}
	return nil, project.Tag(fmt.Errorf("there is no archive %q", name), project.ErrMissing)
}

// ArchiveID names an archive: its path below the project's archives.
func ArchiveID(root, archive string) string {
	rel, err := filepath.Rel(filepath.Join(run.Folder(root), "archives"), archive)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return strings.ReplaceAll(filepath.ToSlash(rel), "/", ":")
}

// ArchiveFiles are the files of an archive, by path. What cannot be read, such as a
// folder whose agent kept it to itself, holds up nothing else.
func (p *Project) ArchiveFiles(name string) ([]ArchiveFile, error) {
	root, err := p.archive(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	all := []ArchiveFile{}
	err = fs.WalkDir(root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && at == ".":
			return err
		case err != nil || !d.Type().IsRegular() || secret(at):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // it went this moment
		}
		all = append(all, ArchiveFile{Path: at, Size: info.Size(), At: info.ModTime().UTC()})
		return nil
	})
	return all, err
}

// ArchiveFile is the beginning of a file of an archive, as text.
func (p *Project) ArchiveFile(name, file string) (*files.FileSide, error) {
	root, err := p.archive(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if !filepath.IsLocal(file) || secret(file) {
		return nil, project.Tag(fmt.Errorf("the archive has no file %q, or it is not shown", file), project.ErrMissing)
	}
	side, err := files.StandingFile(root.Name(), file)
	if err != nil {
		return nil, err
	}
	if side == nil || side.Kind != "file" && side.Kind != "executable" {
		return nil, project.Tag(fmt.Errorf("the archive has no file %q", file), project.ErrMissing)
	}
	side.Text = harmless.Text(side.Text)
	return side, nil
}

// JournalTree is the journal as it lies in its folders.
type JournalTree struct {
	Day   string            `json:"day"`
	Files []files.FileEntry `json:"files"` // by path; their folders are left out
}

// JournalTree are the days of the journal with their files, newest first; most: at
// most so many.
func (p *Project) JournalTree(most int) ([]JournalTree, error) {
	days, err := p.Records().JournalDays()
	if err != nil {
		return nil, err
	}
	slices.Reverse(days)
	all := []JournalTree{}
	for _, day := range days[:min(len(days), most)] {
		t := JournalTree{Day: day, Files: []files.FileEntry{}}
		for dirs := []string{path.Join(signals.Folder, "journal", day)}; len(dirs) > 0; dirs = dirs[1:] {
			entries, err := p.Files().List(dirs[0])
			if errors.Is(err, project.ErrMissing) {
				continue // a day that has a page of another name alone
			} else if err != nil {
				return nil, err
			}
			for _, e := range entries {
				switch e.Kind {
				case "folder":
					dirs = append(dirs, e.Path)
				case "file":
					t.Files = append(t.Files, e)
				}
			}
		}
		slices.SortFunc(t.Files, func(a, b files.FileEntry) int { return strings.Compare(a.Path, b.Path) })
		all = append(all, t)
	}
	return all, nil
}

// MemoryText is MEMORY.md, which every agent reads.
type MemoryText struct {
	There   bool   `json:"there"`
	Text    string `json:"text"`
	Lines   int    `json:"lines"`
	Most    int    `json:"most"`    // how many lines it should have
	Warning string `json:"warning"` // empty: it is short enough
}

// MemoryText reads MEMORY.md.
func (p *Project) MemoryText() (*MemoryText, error) {
	f, err := p.Files().ShowFile("MEMORY.md")
	if errors.Is(err, project.ErrMissing) {
		return &MemoryText{Most: journal.MemoryLines}, nil
	} else if err != nil {
		return nil, err
	}
	lines := strings.Count(f.Text, "\n")
	if f.Text != "" && !strings.HasSuffix(f.Text, "\n") {
		lines++
	}
	return &MemoryText{There: true, Text: f.Text, Lines: lines, Most: journal.MemoryLines, Warning: p.Records().MemoryWarning()}, nil
}

// Onboarding is what a project needs before agents work on it.
type Onboarding struct {
	Done  bool             `json:"done"` // all that must be there is
	Steps []OnboardingStep `json:"steps"`
}

// OnboardingStep is one thing of that.
type OnboardingStep struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Done     bool   `json:"done"`
	Optional bool   `json:"optional"`
	Detail   string `json:"detail"`
	Try      string `json:"try"` // empty: there is nothing to do
}

// Steps of an Onboarding.
const (
	StepTools        = "tools"
	StepCommit       = "commit"
	StepAgent        = "agent"
	StepGraph        = "graph"
	StepRun          = "run"
	StepOrganization = "organization"
	StepConfig       = "config"
	StepTask         = "task"
)

// Onboarding says what is there and what is missing, in the order of a beginner.
func (p *Project) Onboarding(ctx context.Context) (*Onboarding, error) {
	o := &Onboarding{Done: true, Steps: []OnboardingStep{}}
	step := func(id, title string, done, optional bool, detail, try string) {
		if done {
			try = ""
		}
		o.Done = o.Done && (done || optional)
		o.Steps = append(o.Steps, OnboardingStep{id, title, done, optional, detail, try})
	}
	var wrong []string
	try := "cmux doctor"
	_, noCommit := worktree.Open(ctx, p.Root)
	begun := !errors.Is(noCommit, worktree.ErrNoCommits)
	for _, f := range Examine(ctx, p.Caller) {
		if !f.OK && (begun || f.What != "git") { // a step of its own says that
			wrong = append(wrong, f.What+": "+f.Detail)
			if len(wrong) == 1 && f.Try != "" {
				try = f.Try
			}
		}
	}
	health := "The doctor finds nothing wrong"
	if len(wrong) > 0 {
		health = "The doctor finds something wrong"
	}
	step(StepTools, health, len(wrong) == 0, false, strings.Join(wrong, "; "), try)
	first := ""
	if !begun {
		var err error
		if first, err = p.firstFiles(ctx); err != nil {
			return nil, err
		}
	}
	step(StepCommit, "The repository has a commit", begun, false, first, "git add -A && git commit --allow-empty -m 'first commit'")
	found := kinds.Installed(p.Env)
	step(StepAgent, "An agent program is installed", len(found) > 0, false, strings.Join(found, ", "), "npm install -g @anthropic-ai/claude-code")
	graph, err := p.Graphs().GraphText()
	if err != nil {
		return nil, err
	}
	step(StepGraph, "A configuration of agents is written", graph.There, true, graph.File, "cmux agents init")
	ids, err := p.Runs().RunIDs()
	if err != nil {
		return nil, err
	}
	step(StepRun, "A run was started", len(ids) > 0, true, "", "cmux agents start")
	org, err := p.Overview().Organization(ctx)
	if err != nil {
		return nil, err
	}
	step(StepOrganization, "The organization is at work", org.State == overview.OrgRunning, true, org.State, "cmux start")
	if org.State != overview.OrgNone {
		c, err := p.OrgConfig()
		if err != nil {
			return nil, err
		}
		step(StepConfig, "What config.yml says is in force", len(c.Changes) == 0, true, c.File, "cmux config apply")
	}
	tasks, err := p.Tasks().List(tasks.TaskQuery{All: true})
	if err != nil {
		return nil, err
	}
	step(StepTask, "A task was given", len(tasks.Tasks) > 0, true, "", `cmux tasks add "what to do"`)
	return o, ctx.Err()
}
