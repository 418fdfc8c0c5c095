package run

import (
	"slices"
	"strings"
	"time"

	"cmux/agents/platform/limits"
	"cmux/dag"
)

// Limit is a limit that an account met.
type Limit struct {
	Since time.Time // it was first met
	Until time.Time // as far as known; it may be past and nobody have tried since
	Times int       // it was met, each time after the end known before

	By   *limits.Source // who met it, in another run; nil: a node of this one
	Node string         // that met it, in this run
	Said string         // by the program that met it
}

// met takes in that the limit was met at a moment, until another.
func (l Limit) met(at, until time.Time) Limit {
	if l.Times == 0 {
		return Limit{Since: at, Until: until, Times: 1}
	}
	if !l.Until.IsZero() && !at.Before(l.Until) {
		l.Times++
	}
	l.Until = dag.LaterEnd(l.Until, until)
	return l
}

// On reports whether the limit lasts at the moment now.
func (l Limit) On(now time.Time) bool {
	return l.Times > 0 && (l.Until.IsZero() || l.Until.After(now))
}

// applyAccount takes in what became known of an account.
func (h *History) applyAccount(r *Record) {
	c := dag.Change{Kind: dag.AccountFree, Account: r.Account, At: r.At, Source: sourceRecord}
	if r.Type == Limited {
		was := h.Limits[r.Account]
		l := was.met(r.At, r.Until)
		switch {
		case was.Times > 0 && !l.Until.After(was.Until): // what was known says as much
		case r.Shared != nil && r.Shared.By != nil:
			l.By, l.Node, l.Said = r.Shared.By, "", r.Detail
		case r.Node != "":
			l.By, l.Node, l.Said = nil, r.Node, r.Detail
		}
		h.Limits[r.Account] = l
		c.Kind, c.Until = dag.AccountLimited, r.Until
	} else {
		delete(h.Limits, r.Account)
	}
	if r.Shared == nil {
		h.Untold[r.Account] = r
	} else {
		delete(h.Untold, r.Account)
		h.Shared[r.Account] = r.Shared.ID
	}
	h.State.Take(c)
}

// AccountLimit is a limit that lasts, and of which account.
type AccountLimit struct {
	Account string
	Limit
}

// limits are the limits that last, by account.
func (h *History) limits(now time.Time) (all []AccountLimit) {
	for account, l := range h.Limits {
		if l.On(now) && h.hasAccount(account) {
			all = append(all, AccountLimit{account, l})
		}
	}
	slices.SortFunc(all, func(a, b AccountLimit) int { return strings.Compare(a.Account, b.Account) })
	return all
}

func (h *History) hasAccount(account string) bool {
	return slices.ContainsFunc(h.Graph.Nodes, func(n dag.Node) bool { return n.Account == account })
}
