package standing

import (
	"context"
	"slices"
	"time"

	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// nodeLook is how often the keeper looks whether nodes that mail waits for are
// there still. Their runners hand it over; nobody else would notice that there
// will be none.
const nodeLook = 30 * time.Second

// goneNodes is what is known of the nodes that mail waits for.
type goneNodes struct {
	there   map[string]bool   // when looked
	gone    map[string]string // and why; for one round of the mail: it may come again
	looked  time.Time
	looking bool
	seen    chan map[string]string // what a look found: why each is gone; empty: it is there
}

// take takes in what a look found.
func (n *goneNodes) take(seen map[string]string) {
	n.looking = false
	for name, why := range seen {
		if why == "" {
			n.there[name] = true
		} else {
			n.gone[name] = why
		}
	}
}

// nodesGone looks after the nodes that mail waits for. A look reads runs, which may be
// large, and does not hold the keeper up: what it finds comes with a later round.
func (k *Keeper) nodesGone(ctx context.Context) {
	n, now := &k.nodes, k.Now()
	if age := now.Sub(n.looked); age < 0 || age >= nodeLook {
		n.there, n.looked = make(map[string]bool), now
	}
	var names []string
	for _, w := range k.office.Waiting() {
		if name := w.For.Name; w.For.Kind == mailbox.Node {
			k.at(n.looked.Add(nodeLook))
			if !n.there[name] && n.gone[name] == "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 || n.looking {
		return
	}
	n.looking = true
	root := k.org.Root()
	k.tasks.Go(func() {
		seen := make(map[string]string, len(names))
		for _, name := range names {
			why, err := run.NodeGone(root, name, now)
			if err != nil { // its run cannot be read: a person may mend it
				k.Log.Debug("nobody knows whether a node is there that mail waits for", "node", name, "err", err)
			}
			seen[name] = why
		}
		select {
		case n.seen <- seen:
		case <-ctx.Done():
		}
	})
}
