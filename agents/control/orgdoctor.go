package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/control/finding"
	"cmux/agents/control/overview"
	"cmux/agents/control/preflight"
	"cmux/agents/org/standing"
	"cmux/agents/platform/notice"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/worktree"
)

// examineOrg looks at the organization of the project.
func (p *Project) examineOrg(ctx context.Context) []finding.Finding {
	const what = "organization"
	wrong := func(err error, try string) finding.Finding {
		f := finding.Wrong(what, err)
		f.Try = cmp.Or(try, f.Try)
		return f
	}
	var all []finding.Finding
	if _, err := p.Configured(); err != nil {
		all = append(all, wrong(err, "correct "+p.Short(p.ConfigPath())))
	}
	report, err := p.Overview().Organization(ctx)
	if err != nil {
		return append(all, wrong(err, ""))
	}
	switch report.State {
	case overview.OrgNone:
		return append(all, finding.Finding{What: what, OK: true, Detail: "none yet (cmux start)"})
	case overview.OrgNoMonitor:
		all = append(all, wrong(errors.New("it has no monitor: an agent that ends is not started again"), "cmux start"))
	default:
		all = append(all, finding.Finding{What: what, OK: true, Detail: report.State + ", session " + report.Session + ", " + say.Count(len(report.Agents), "agent")})
	}
	all = append(all, p.examineFiles(report.State == overview.OrgRunning)...)
	if org, err := p.Org(); err == nil {
		if _, err := preflight.Standing(org.Fence()); err != nil {
			all = append(all, wrong(err, ""))
		}
		for _, f := range notice.Failures(org.Run.Dir) {
			all = append(all, wrong(errors.New(say.Line(f.String())), "correct notify."+f.Way+" in .cmux/config.yml, then cmux config apply"))
		}
		for _, name := range slices.Sorted(maps.Keys(org.Broken)) {
			all = append(all, wrong(fmt.Errorf("the records of %s cannot be read: %w", name, org.Broken[name]), "look at "+p.Short(org.Run.NodeDir(name))))
		}
	}
	all = append(all, p.Tasks().ExamineMerge()...)
	for i := range report.Agents {
		if a := &report.Agents[i]; a.NeedsPerson() {
			all = append(all, finding.Finding{What: what, Detail: a.Name + ": " + a.Explained(), Try: a.Way()})
		}
	}
	return all
}

// isAgents reports whether a worktree is that of a standing agent.
func (p *Project) isAgents(t *worktree.Tree) bool {
	if !strings.Contains(t.Owner, "/"+run.OrganizationID+"/") {
		return false
	}
	org, err := standing.Open(p.Root)
	return err == nil && org.Agents[filepath.Base(t.Owner)] != nil
}
