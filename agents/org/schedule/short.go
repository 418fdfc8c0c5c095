package schedule

import (
	"time"

	"cmux/agents/records/ledger"
)

// base is the first line of a file that was shortened.
type base struct {
	Most    int `json:"most"`    // the highest number of an id that was given
	Entries int `json:"entries"` // lines that follow, of what is kept
}

// kept is an entry in such a file, with its last firing.
type kept struct {
	Entry Entry       `json:"entry"`
	Last  *Fired      `json:"last,omitempty"`
	Count int         `json:"count"`
	Over  bool        `json:"over,omitempty"`
	Dues  []time.Time `json:"dues,omitempty"`
}

// short are the lines that come to the same schedule.
func (l *List) short() (lines [][]byte, err error) {
	all := []line{{Base: &base{l.most, len(l.entries)}}}
	for _, s := range l.All() {
		all = append(all, line{Kept: &kept{s.Entry, s.Last, s.Count, s.Over, s.dues}})
	}
	for i := range all {
		one, err := ledger.Encode(&all[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, one)
	}
	return lines, nil
}

func (l *List) begin(b *base) error {
	if l.most > 0 {
		return ledger.ErrCopy
	}
	l.most, l.left = b.Most, b.Entries
	return nil
}

// keep takes in an entry of a file that was shortened: as many as its first line says,
// and none after those. One that was removed since stays so.
func (l *List) keep(k *kept) error {
	if l.left == 0 || l.entries[k.Entry.ID] != nil {
		return ledger.ErrCopy
	}
	p, err := k.Entry.When.plan()
	if err != nil {
		return err
	}
	if l.entries == nil {
		l.entries = make(map[string]*State)
	}
	l.left--
	l.entries[k.Entry.ID] = &State{Entry: k.Entry, Last: k.Last, Count: k.Count, Over: k.Over, plan: p, dues: k.Dues}
	return nil
}
