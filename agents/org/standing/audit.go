package standing

import (
	"cmp"
	"context"

	"cmux/agents/records/audit"
	"cmux/agents/runs/run"
)

// audit writes an order down that was carried out or refused, with who gave it. A
// log that cannot be written holds nothing up.
func (k *Keeper) audit(ctx context.Context, q run.Request, refused string) {
	by := ""
	if ask, err := asked(q); err == nil {
		by = ask.By
	}
	log := &audit.Log{Root: k.org.Root(), Now: k.Now}
	line := audit.Line{Session: k.org.Run.Plan.Session, Order: string(q.Op), About: q.Node, By: cmp.Or(by, "user"), How: "request", Refused: refused}
	if err := log.Append(ctx, line); err != nil {
		k.Log.Warn("an order is missing in the audit log", "op", q.Op, "err", err)
	}
}
