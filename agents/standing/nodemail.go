package standing

import (
	"context"
	"time"

	"cmux/agents/run"
	"cmux/signals/mailbox"
)

// nodeLook is how often the keeper looks whether nodes that mail waits for are
// there still. Their runners hand it over; nobody else would notice that there
// will be none.
const nodeLook = 30 * time.Second

// goneNodes remembers which nodes that mail waits for are gone, and why.
type goneNodes struct {
	why    map[string]string // by name; empty: it is there
	looked time.Time
}

// nodesGone looks after the nodes that mail waits for.
func (k *Keeper) nodesGone(ctx context.Context) error {
	n, now := &k.nodes, k.Now()
	if age := now.Sub(n.looked); age < 0 || age >= nodeLook {
		n.why, n.looked = make(map[string]string), now
	}
	for _, w := range k.office.Waiting() {
		if w.For.Kind != mailbox.Node {
			continue
		}
		k.at(n.looked.Add(nodeLook))
		if why, known := n.why[w.For.Name]; known && why == "" {
			continue // what was gone may be there again
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		why, err := run.NodeGone(k.org.Root(), w.For.Name, now)
		if err != nil { // its run cannot be read: a person may mend it
			k.Log.Debug("nobody knows whether a node is there that mail waits for", "node", w.For.Name, "err", err)
		}
		n.why[w.For.Name] = why
	}
	return nil
}
