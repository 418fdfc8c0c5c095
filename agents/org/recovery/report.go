package recovery

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cmux/agents/records/incident"
)

// report writes down what an action came to, in the incident of its cause.
func (d *Driver) report(ctx context.Context, was, now *State, a Action, f Fact) error {
	if a.Do == DoCheck && was.Run.Over() {
		if f.Err != nil {
			d.note("the check could not be made: %v", f.Err)
		}
		if err := d.looked(ctx, now, f); err != nil {
			return err
		}
	} else {
		if now.Run.Incident == "" { // a person's order, while nothing was reported
			if err := d.open(ctx, now, f); err != nil {
				return err
			}
		}
		at := f.At
		if !was.Run.Over() {
			at = was.Run.At
		}
		what, result := d.deed(a, f, was, now)
		if err := d.did(ctx, now.Run.Incident, at, what, result); err != nil {
			return err
		}
	}
	return d.ended(ctx, was.Run, now)
}

// looked reports a check that no recovery asked for.
func (d *Driver) looked(ctx context.Context, s *State, f Fact) error {
	switch {
	case s.Flaps():
		_, _, err := d.Incidents.Open(ctx, by, incident.Report{Kind: "health", About: "health", Key: flapKey, Title: "the project is healthy and not healthy by turns", Note: incident.Note{
			Evidence: incident.Saw("the last checks, oldest first: " + s.Marks),
			Advice:   &incident.Advice{Text: "Look at what the check depends on: time, load, the network. No recovery begins before it has failed three times in a row.", Command: "cmux recover --dry-run"},
		}})
		if err != nil {
			return err
		}
	case !strings.Contains(s.Marks, "x"):
		if _, err := d.Incidents.CloseKey(ctx, flapKey, by, "it was healthy for "+fmt.Sprint(len(s.Marks))+" checks", incident.Note{}); err != nil {
			return err
		}
	}
	if f.Err == nil && !f.OK && s.Fails >= Misses {
		return d.open(ctx, s, f)
	}
	if f.OK && (s.Run == nil || s.Run.End != RolledBack && !(s.Run.left() && f.Head == s.Run.Here)) {
		_, err := d.Incidents.CloseKey(ctx, Key, by, "the check passes", incident.Note{})
		return err
	}
	return nil
}

// open opens the incident, or adds to it what was seen.
func (d *Driver) open(ctx context.Context, s *State, f Fact) error {
	r := incident.Report{Kind: "health", About: "health", Key: Key, Title: "the project is not healthy: " + d.Commands.Check, Note: incident.Note{
		Evidence: incident.Saw(fmt.Sprintf("%s failed %d times in a row on %s:\n%s", d.Commands.Check, s.Fails, Short(orElse(f.Head, s.Head)), strings.TrimSpace(incident.Cut(orElse(f.Detail, s.Output), 2000)))),
	}}
	if s.Fails > Misses { // a number that grows says nothing new
		r.Evidence = incident.Saw(fmt.Sprintf("it fails still on %s", Short(orElse(f.Head, s.Head))))
	}
	if !d.Config.Restart && !d.Config.Rollback {
		r.Advice = &incident.Advice{Text: "Nothing says what cmux may do about it: health.restart and health.rollback in .cmux/config.yml do.", Command: "cmux help organization-config"}
	}
	i, _, err := d.Incidents.Open(ctx, by, r)
	if err == nil && s.Run != nil && (s.Run.Step != StepNone || s.Run.Incident == "") {
		s.Run.Incident = i.ID
	}
	return err
}

// did records in the incident what cmux did and the result, unless that is recorded
// already. Without the incident it does nothing.
func (d *Driver) did(ctx context.Context, id string, at time.Time, what, result string) error {
	l, err := d.Incidents.List()
	if err != nil {
		return err
	}
	i := l.Get(id)
	if i == nil {
		return nil // the file was moved away: what is done goes on
	}
	for _, have := range i.Deeds {
		if have.At.Equal(at) && have.What == what {
			return nil
		}
	}
	_, err = d.Incidents.Append(ctx, id, by, incident.Note{Deeds: []incident.Deed{{At: at, What: what, Result: result}}})
	return err
}

// deed describes an action and its result.
func (d *Driver) deed(a Action, f Fact, was, now *State) (what, result string) {
	end := func(ok bool, good, bad string) string {
		if !ok {
			good = bad
		}
		return strings.TrimSuffix(good+": "+strings.TrimSpace(incident.Cut(f.Detail, 1000)), ": ")
	}
	switch a.Do {
	case DoRestart:
		what, result = "restarted: "+d.Commands.Restart, end(f.OK, "it ended with 0", "it failed")
	case DoCheck:
		what, result = "checked after the restart", end(f.OK, "healthy", "not healthy")
	case DoSurvey:
		what = "looked at what can be checked out in " + d.Tree
		switch {
		case f.Refused != "":
			result = "refused: " + f.Refused
		case now.Run.Step == StepNone:
			result = now.Run.Line()
		default:
			result = fmt.Sprintf("the last healthy commit is %s; commits since: %d", Short(now.Healthy), len(f.Range))
		}
	case DoJournal:
		what, result = "wrote it into the journal", f.Detail
	case DoTry:
		what, result = fmt.Sprintf("checked out %s (%s), rebuilt and checked", Short(a.Commit), orElse(a.Branch, "detached")), end(f.OK, "healthy", "not healthy")
	case DoSwitch:
		what, result = "went back to "+name(a), f.Detail
	case DoTell:
		what, result = "told the supervisor", orElse(Short(now.Run.Blamed), "no commit")+" is named"
	}
	if f.Refused != "" && (a.Do == DoTry || a.Do == DoSwitch) {
		what, result = "looked whether somebody is at work in "+d.Tree, "refused: "+f.Refused
	}
	if f.Err != nil {
		result = "could not be done: " + f.Err.Error()
	}
	return what, result
}

// ended reports how a recovery ended.
func (d *Driver) ended(ctx context.Context, was *Run, s *State) error {
	r := s.Run
	if r == nil || !r.Over() || was != nil && was.Over() && was.End == r.End {
		return nil
	}
	n := incident.Note{}
	if was == nil || was.End == "" {
		n.Cost.Seconds = r.Ended.Sub(r.Began).Seconds()
	}
	d.note("%s", r.Line())
	how := r.End
	const left = ", on the way"
	if r.left() {
		how += left
	}
	switch how {
	case Restarted, Recovered, PassedOff:
		_, err := d.Incidents.CloseKey(ctx, Key, by, strings.TrimSuffix(r.End+": "+r.Detail, ": "), n)
		return err
	case RolledBack:
		if was != nil && was.End == RolledBack {
			return nil
		}
		text := fmt.Sprintf("%s runs %s on the branch %s. %s was not changed. The incident is closed when other commits are healthy there.", d.Tree, Short(r.Best), r.On, orElse(r.Branch, d.Target))
		if r.Blamed != "" {
			text += fmt.Sprintf(" Have %s mended or reverted.", Short(r.Blamed))
		}
		n.Advice = &incident.Advice{Text: text + " This goes back to where it was:", Command: "cmux recover undo"}
	case Failed:
		n.Advice = &incident.Advice{Text: "cmux cannot do more: " + r.Detail + ". Mend it, and cmux notices by itself. This shows what was done:", Command: "cmux recover log"}
	case Failed + left, Refused + left:
		n.Advice = &incident.Advice{Text: fmt.Sprintf("The recovery was broken off: %s. %s is on %s, at %s; nothing there was reset. Commit or put aside what is yours, and this goes back to where it began:", r.Detail, d.Tree, r.On, Short(r.Here)), Command: "cmux recover undo"}
	case Refused:
		n.Advice = &incident.Advice{Text: "Nothing was touched: " + r.Detail + ". It is looked at again in 10 minutes, or with:", Command: "cmux recover now"}
	case Undone:
		n.Advice = &incident.Advice{Text: "It is as it was before the rollback. cmux does not roll the same commit back again.", Command: "cmux recover --dry-run"}
	}
	if s.Run.Incident == "" {
		return nil
	}
	_, err := d.Incidents.Append(ctx, r.Incident, by, n)
	return err
}
