package api

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"cmux/agents/records/event"
	"cmux/dag"
	"cmux/server/store"
)

// history is the token usage over time.
type history struct {
	Since  time.Time `json:"since"`
	Step   int       `json:"step" doc:"Length of a bucket, in seconds"`
	Series []series  `json:"series" doc:"By source"`
	Cut    bool      `json:"cut" doc:"The history is incomplete: the oldest part is missing"`
}

// series is the usage of one agent or one node of a run.
type series struct {
	Source  string   `json:"source" doc:"agent:NAME or run:ID/NODE"`
	Agent   string   `json:"agent" doc:"Kind of its program; empty: unknown"`
	Model   string   `json:"model" doc:"Empty: the program's default"`
	Buckets []bucket `json:"buckets" doc:"Buckets with usage, oldest first"`
}

// bucket is the usage in one time step.
type bucket struct {
	At      time.Time `json:"at"`
	Used    dag.Usage `json:"used"`
	Counted int64     `json:"counted" doc:"Tokens that count against budgets: all except cache reads"`
}

// maxUsages bounds how many events of a kind a history reads.
const maxUsages = 50_000

// attempt identifies an attempt of a node, or a life of an agent.
type attempt struct {
	source string
	n      int
}

// history sums the usage from events. An event has the total usage of its attempt so far.
func (r *routes) history(ctx context.Context, since time.Time, step time.Duration) (*history, error) {
	h := &history{Since: since, Step: int(step.Seconds())}
	var all []store.Event
	var from int64 // events of both kinds are complete from there on
	for _, kind := range []event.Kind{event.Usage, event.End} {
		f := store.Filter{Kind: string(kind), Limit: 1000}
		for read := 0; ; {
			l, err := r.Store.List(ctx, f)
			if err != nil {
				return nil, busy(err)
			}
			all, read = append(all, l.Events...), read+len(l.Events)
			if f.Before = l.Next; l.Next == 0 {
				break
			}
			oldest := l.Events[len(l.Events)-1]
			over := oldest.At.Before(since)
			if over || read >= maxUsages {
				from, h.Cut = max(from, oldest.Seq), h.Cut || !over
				break
			}
		}
	}
	all = slices.DeleteFunc(all, func(e store.Event) bool { return e.Seq < from })
	slices.SortFunc(all, func(a, b store.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	before, err := r.usedBefore(ctx, all, from)
	if err != nil {
		return nil, err
	}
	h.Series = used(all, before, since, step)
	for i := range h.Series {
		s := &h.Series[i]
		if name, ok := strings.CutPrefix(s.Source, "agent:"); ok {
			if a, err := r.Project.Overview().Agent(ctx, name); err == nil {
				s.Agent, s.Model = a.Kind, a.Model
			}
			continue
		}
		id, node, _ := strings.Cut(strings.TrimPrefix(s.Source, "run:"), "/")
		if found, err := r.Project.Runs().Named(ctx, id); err == nil {
			if k := found.Plan.Graph.Index(node); k >= 0 {
				s.Agent, s.Model = found.Plan.Graph.Nodes[k].Agent, found.Plan.Graph.Nodes[k].Model
			}
		}
	}
	return h, nil
}

// usedBefore returns the usage of attempts before the events, which begin at seq from.
// Attempts of one source follow each other, so only its last one before from can continue.
func (r *routes) usedBefore(ctx context.Context, all []store.Event, from int64) (map[attempt]dag.Usage, error) {
	before := make(map[attempt]dag.Usage)
	asked := make(map[string]bool)
	for i := range all {
		source := all[i].Source
		if from == 0 || asked[source] {
			continue
		}
		asked[source] = true
		l, err := r.Store.List(ctx, store.Filter{Source: source, Kind: string(event.Usage), Before: from, Limit: 1})
		if err != nil {
			return nil, busy(err)
		}
		for k := range l.Events {
			a, sum := usage(&l.Events[k])
			before[a] = sum
		}
	}
	return before, nil
}

// usage returns the attempt's total usage in an event; ok is false if it has none.
func usage(e *store.Event) (attempt, dag.Usage) {
	var u struct {
		Attempt int       `json:"attempt"`
		Used    dag.Usage `json:"used"`
	}
	if json.Unmarshal(e.Body, &u) != nil {
		return attempt{source: e.Source}, dag.Usage{}
	}
	return attempt{e.Source, u.Attempt}, u.Used
}

// used sums events, the oldest first, into buckets. before is the usage of attempts up to
// then, and is updated.
func used(all []store.Event, before map[attempt]dag.Usage, since time.Time, step time.Duration) []series {
	sums := make(map[string]map[time.Time]dag.Usage)
	for i := range all {
		e := &all[i]
		key, sum := usage(e)
		if sum == (dag.Usage{}) {
			continue
		}
		more := less(sum, before[key])
		before[key] = sum
		if e.At.Before(since) || more == (dag.Usage{}) {
			continue
		}
		if sums[e.Source] == nil {
			sums[e.Source] = make(map[time.Time]dag.Usage)
		}
		at := since.Add(e.At.Sub(since).Truncate(step))
		sums[e.Source][at] = sums[e.Source][at].Plus(more)
	}
	out := []series{}
	for source, sum := range sums {
		s := series{Source: source}
		for at, u := range sum {
			s.Buckets = append(s.Buckets, bucket{at, u, u.Counted()})
		}
		slices.SortFunc(s.Buckets, func(a, b bucket) int { return a.At.Compare(b.At) })
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b series) int { return strings.Compare(a.Source, b.Source) })
	return out
}

// less returns the usage beyond an earlier total.
func less(now, before dag.Usage) dag.Usage {
	return dag.Usage{
		Input: max(0, now.Input-before.Input), Output: max(0, now.Output-before.Output),
		CacheRead: max(0, now.CacheRead-before.CacheRead), CacheCreate: max(0, now.CacheCreate-before.CacheCreate),
	}
}
