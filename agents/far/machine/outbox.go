package machine

import (
	"time"

	"cmux/agents/far"
)

// outbox is the journal of this machine's entries, with what follows from it: how much of
// the attempt is in it.
type outbox struct {
	*journal

	isClaimed, isEnded bool
	at                 time.Time       // of the last entry
	log, events        int64           // bytes
	records            int             // of the shadow run
	replied, posted    map[string]bool // ids
	code               int64           // bytes
}

func openOutbox(path string) (*outbox, error) {
	o := &outbox{replied: make(map[string]bool), posted: make(map[string]bool)}
	var err error
	o.journal, err = openJournal(path, o.follow)
	return o, err
}

// follow takes in an entry. The journal's lock is held.
func (o *outbox) follow(e *far.Entry) {
	o.at = e.At
	switch e.Kind {
	case far.Claimed:
		o.isClaimed = true
	case far.End:
		o.isEnded = true
	case far.Log:
		o.log = e.Offset + int64(len(e.Data))
	case far.Events:
		o.events = e.Offset + int64(len(e.Data))
	case far.Record:
		o.records++
	case far.Reply:
		o.replied[e.ID] = true
	case far.Post:
		if e.Message != nil && e.Message.Mail != nil {
			o.posted[e.Message.Mail.ID] = true
		}
	case far.Code:
		o.code += int64(len(e.Data))
	}
}

func (o *outbox) claimed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isClaimed
}

func (o *outbox) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isEnded
}

// quiet returns how long ago the last entry was written.
func (o *outbox) quiet(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return now.Sub(o.at)
}

// sent returns how much of the attempt is in the journal.
func (o *outbox) sent() (log, events int64, records int, code int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log, o.events, o.records, o.code
}

func (o *outbox) hasReply(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.replied[id]
}

func (o *outbox) hasPost(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.posted[id]
}
