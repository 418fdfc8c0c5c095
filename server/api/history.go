package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"cmux/agents/event"
	"cmux/dag"
	"cmux/server/store"
)

// history is what was used over time.
type history struct {
	Since  time.Time `json:"since"`
	Step   int       `json:"step" doc:"Length of a bucket, in seconds"`
	Series []series  `json:"series" doc:"By source"`
	Cut    bool      `json:"cut" doc:"There was more than was looked at: the oldest part is missing"`
}

// series is what one agent, or one node of a run, used.
type series struct {
	Source  string   `json:"source" doc:"agent:NAME or run:ID/NODE"`
	Agent   string   `json:"agent" doc:"Kind of its program; empty: nobody knows any more"`
	Model   string   `json:"model" doc:"Empty: its program's own"`
	Buckets []bucket `json:"buckets" doc:"Those in which it used something, oldest first"`
}

// bucket is what was used from a time on, for the length of a step.
type bucket struct {
	At      time.Time `json:"at"`
	Used    dag.Usage `json:"used"`
	Counted int64     `json:"counted" doc:"Tokens that budgets count: all but those from caches"`
}

// maxUsages bounds how many events a history is made of.
const maxUsages = 50_000

// history sums up what the events say that was used. An event says what its attempt
// has used so far.
func (r *routes) history(ctx context.Context, since time.Time, step time.Duration) (*history, error) {
	h := &history{Since: since, Step: int(step.Seconds())}
	var all []store.Event
	for _, kind := range []event.Kind{event.Usage, event.End} {
		f := store.Filter{Kind: string(kind), Limit: 1000}
		for len(all) < maxUsages {
			l, err := r.Store.List(ctx, f)
			if err != nil {
				return nil, busy(err)
			}
			all = append(all, l.Events...)
			if f.Before = l.Next; l.Next == 0 || len(l.Events) > 0 && l.Events[len(l.Events)-1].At.Before(since.Add(-24*time.Hour)) {
				break
			}
		}
		h.Cut = h.Cut || len(all) >= maxUsages
	}
	slices.SortFunc(all, func(a, b store.Event) int { return int(a.Seq - b.Seq) })
	h.Series = used(all, since, step)
	for i := range h.Series {
		s := &h.Series[i]
		if name, ok := strings.CutPrefix(s.Source, "agent:"); ok {
			if a, err := r.Project.Agent(ctx, name); err == nil {
				s.Agent, s.Model = a.Kind, a.Model
			}
			continue
		}
		id, node, _ := strings.Cut(strings.TrimPrefix(s.Source, "run:"), "/")
		if found, err := r.Project.Named(ctx, id); err == nil {
			if k := found.Plan.Graph.Index(node); k >= 0 {
				s.Agent, s.Model = found.Plan.Graph.Nodes[k].Agent, found.Plan.Graph.Nodes[k].Model
			}
		}
	}
	return h, nil
}

// used sums up what events say, the oldest first, in buckets.
func used(all []store.Event, since time.Time, step time.Duration) []series {
	type attempt struct {
		source string
		n      int
	}
	before := make(map[attempt]dag.Usage)
	sums := make(map[string]map[time.Time]dag.Usage)
	for _, e := range all {
		var u struct {
			Attempt int       `json:"attempt"`
			Used    dag.Usage `json:"used"`
		}
		if json.Unmarshal(e.Body, &u) != nil || u.Used == (dag.Usage{}) {
			continue
		}
		key := attempt{e.Source, u.Attempt}
		more := less(u.Used, before[key])
		before[key] = u.Used
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

// less is what was used beyond what was used before.
func less(now, before dag.Usage) dag.Usage {
	return dag.Usage{
		Input: max(0, now.Input-before.Input), Output: max(0, now.Output-before.Output),
		CacheRead: max(0, now.CacheRead-before.CacheRead), CacheCreate: max(0, now.CacheCreate-before.CacheCreate),
	}
}
