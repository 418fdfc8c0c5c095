package records

import (
	"context"
	"errors"
	"fmt"

	"cmux/agents/control/project"
	"cmux/agents/records/journal"
)

func (p *Records) journal() *journal.Journal { return &journal.Journal{Root: p.Root, Now: p.Now} }

// AddEntry adds an entry to the journal, as the caller's, and returns its day.
func (p *Records) AddEntry(ctx context.Context, e journal.Entry) (day string, err error) {
	if err := e.Check(); err != nil {
		return "", project.Usage("cmux journal add --help", "%w", err)
	}
	if e.By, err = p.author(); err != nil {
		return "", err
	}
	return p.journal().Add(ctx, e)
}

// author is who writes, as the journal names them.
func (p *Records) author() (string, error) {
	me, _, err := p.Sender()
	return me.String(), err
}

// JournalDay is the journal's page of a day; empty: today.
func (p *Records) JournalDay(day string) (*journal.Page, error) {
	j := p.journal()
	if day == "" {
		day = j.Today()
	}
	page, err := j.Show(day)
	if errors.Is(err, journal.ErrDay) {
		err = project.Usage("cmux journal show YYYY-MM-DD", "%w", err)
	}
	return page, err
}

// JournalDays are the days that the journal has, newest last.
func (p *Records) JournalDays() ([]string, error) { return p.journal().Days() }

// SearchJournal looks through the journal and MEMORY.md.
func (p *Records) SearchJournal(ctx context.Context, q journal.Query) (*journal.Found, error) {
	found, err := p.journal().Search(ctx, q)
	if errors.Is(err, journal.ErrDay) {
		err = project.Usage("cmux journal search --since YYYY-MM-DD", "%w", err)
	}
	return found, err
}

// Reflect leaves a note in a section of today's reflection.md.
func (p *Records) Reflect(ctx context.Context, section, text string) (day string, err error) {
	by, err := p.author()
	if err != nil {
		return "", err
	}
	day, err = p.journal().Reflect(ctx, section, by, text)
	if errors.Is(err, journal.ErrSection) {
		err = project.Usage("cmux journal reflection --help", "%w", err)
	}
	return day, err
}

// Reflection is what is to be thought about and handed on.
type Reflection struct {
	Day  string `json:"day"` // empty: there is none
	Text string `json:"text"`

	HandOffDay string `json:"hand_off_day"` // of the newest hand-off notes; empty: there are none
	HandOff    string `json:"hand_off"`
}

// Reflection is the newest reflection.md and the newest hand-off notes.
func (p *Records) Reflection() (r Reflection, err error) {
	j := p.journal()
	if r.Day, r.Text, err = j.Reflection(); err != nil {
		return r, err
	}
	r.HandOffDay, r.HandOff, err = j.HandOffNotes()
	return r, err
}

// MemoryWarning says that MEMORY.md is too long; empty: it is not.
func (p *Records) MemoryWarning() string {
	m, err := p.journal().Memory()
	if err != nil {
		return fmt.Sprintf("MEMORY.md cannot be read: %v", err)
	}
	return m.Warning()
}
