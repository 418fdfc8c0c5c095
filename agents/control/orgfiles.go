package control

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cmux/agents/control/finding"
	"cmux/agents/control/letters"
	"cmux/agents/control/tasks"
	"cmux/agents/org/task"
	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// examineFiles looks at what the organization writes down.
func (p *Project) examineFiles(running bool) []finding.Finding {
	all := []finding.Finding{p.examineMailbox(), p.examineTasks(), p.Records().ExamineIncidents()}
	all = append(all, p.examineDerived()...)
	if w := p.Records().MemoryWarning(); w != "" {
		all = append(all, finding.Finding{What: "memory", Detail: w, Try: "shorten MEMORY.md: every agent reads all of it"})
	}
	if c, err := p.OrgConfig(); err == nil && len(c.Changes) > 0 {
		all = append(all, finding.Finding{What: "organization", OK: true, Detail: fmt.Sprintf("%s is not in force as it stands: %s (cmux config)", c.File, say.Count(len(c.Changes), "change"))})
	}
	if f := p.examineModes(); f != nil {
		all = append(all, *f)
	}
	if !running {
		return all
	}
	s := p.Serving().Server()
	f := finding.Finding{What: "server", OK: s.Up, Detail: s.URL}
	if !s.Up {
		f.Detail, f.Try = "it is down", "cmux restart"
		if s.Since != nil {
			f.Detail += " since " + s.Since.Local().Format(time.DateTime)
		}
		if s.Why != "" {
			f.Detail += ": " + say.Line(s.Why)
		}
	}
	return append(all, f)
}

func (p *Project) examineMailbox() finding.Finding {
	f := finding.Finding{What: "mailbox"}
	messages, waiting, failed := 0, 0, 0
	again := *p
	again.Memory = nil // what was wrong with it may have been corrected
	bad, err := again.Letters().Each(letters.MailQuery{}, func(m letters.Mail) bool {
		messages++
		for _, d := range m.Deliveries {
			switch {
			case d.State == mailbox.Failed:
				failed++
			case !d.State.Final():
				waiting++
			}
		}
		return true
	})
	if err != nil {
		return finding.Wrong(f.What, err)
	}
	f.Detail = fmt.Sprintf("%s, %d waiting", say.Count(messages, "message"), waiting)
	switch {
	case len(bad) > 0:
		f.Detail += fmt.Sprintf("; %s skipped, the first: %s", say.Count(len(bad), "line"), say.Line(bad[0].String()))
		f.Try = "nothing is lost: the lines stay where they are; correct or remove them in .cmux/" + mailbox.Name
	case failed > 0:
		f.Detail += fmt.Sprintf("; %d could not be delivered", failed)
		f.OK, f.Try = true, "cmux mailbox list, then cmux mailbox retry ID"
	default:
		f.OK = true
	}
	return f
}

func (p *Project) examineTasks() finding.Finding {
	f := finding.Finding{What: "tasks"}
	all, err := p.Tasks().List(tasks.TaskQuery{All: true})
	if err != nil {
		return finding.Wrong(f.What, err)
	}
	f.Detail = say.Count(len(all.Tasks), "task")
	switch {
	case len(all.Skipped) > 0:
		f.Detail += fmt.Sprintf("; %s skipped, the first: %s", say.Count(len(all.Skipped), "line"), say.Line(all.Skipped[0].String()))
		f.Try = "nothing is lost: the lines stay where they are; correct or remove them in .cmux/tasks.jsonl"
	case len(all.Gaps) > 0:
		f.Detail += fmt.Sprintf("; a change is missing of %s", say.List(all.Gaps, 5))
		f.Try = "look at each with cmux tasks log ID, and move it where it belongs"
	default:
		f.OK = true
	}
	return f
}

// derived are the databases that the server makes from files of truth.
func derived() map[string]string {
	return map[string]string{"tasks.db": task.Name, "conversations.db": "what agents said and did"}
}

// sqliteHeader is how a database begins that SQLite can read.
const sqliteHeader = "SQLite format 3\x00"

// examineDerived looks at the databases that are derived. Nothing is lost with one.
func (p *Project) examineDerived() (all []finding.Finding) {
	from := derived()
	for _, name := range slices.Sorted(maps.Keys(from)) {
		path := filepath.Join(run.Folder(p.Root), name)
		err := derivedFault(path)
		if err != nil {
			all = append(all, finding.Finding{What: "database", Detail: fmt.Sprintf("%s: %v; it is derived from %s", p.Short(path), err, from[name]),
				Try: fmt.Sprintf("mv %s %s.old, then cmux restart, which creates a new one", p.Short(path), p.Short(path))})
		}
	}
	return all
}

// derivedFault says why a database cannot be read; nil: it can, or is not there.
func derivedFault(path string) error {
	f, err := signals.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(sqliteHeader))
	n, err := io.ReadFull(f, head)
	switch {
	case n == 0 && errors.Is(err, io.EOF): // it is being made
		return nil
	case string(head[:n]) != sqliteHeader:
		return errors.New("it is no database")
	}
	return nil
}

// examineModes looks at who may read what is a person's alone; nil: nobody else.
func (p *Project) examineModes() *finding.Finding {
	folder := run.Folder(p.Root)
	for _, name := range []string{endpoint.TokenFile, endpoint.LoginsFile, endpoint.File, filepath.Join("agents", "env")} {
		path := filepath.Join(folder, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			f := finding.Wrong("secrets", err)
			return &f
		}
		if info.Mode().Perm()&0o077 != 0 || !info.Mode().IsRegular() {
			return &finding.Finding{What: "secrets", Detail: fmt.Sprintf("%s can be read by others (%v)", p.Short(path), info.Mode()), Try: "chmod 600 " + p.Short(path)}
		}
	}
	return nil
}
