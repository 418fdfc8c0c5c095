// Package minutes keeps the decisions of rooms in the project's journal.
package minutes

import (
	"context"
	"fmt"
	"slices"

	"cmux/agents/records/journal"
	"cmux/agents/room"
)

// Tag marks the entries of decisions.
const Tag = "decision"

// Keep writes the record of a decision into the journal, unless it is there. The decision is
// made, and its line is durable; Keep may be called again until it succeeds.
func Keep(ctx context.Context, j *journal.Journal, s *room.State, d *room.Decision) error {
	at, title := d.Decided.At.Local(), s.Title(d)
	so, err := j.Entries(journal.Day(at))
	if err != nil {
		return fmt.Errorf("the record of %s: %w", d.Label, err)
	}
	if slices.ContainsFunc(so, func(e journal.Entry) bool { return e.Title == title }) {
		return nil
	}
	if _, err := j.Add(ctx, journal.Entry{At: at, Title: title, By: d.Decided.By, Tags: []string{Tag, "room-" + s.Name}, Text: s.Record(d)}); err != nil {
		return fmt.Errorf("the record of %s: %w", d.Label, err)
	}
	return nil
}
