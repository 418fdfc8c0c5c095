package mail

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"cmux/signals/mailbox"
)

// Bounds of what one agent sends.
const (
	PerMinute = 60        // messages
	Same      = 10        // the so-manieth of equal content to one recipient is refused
	sameFor   = time.Hour // what is older is no loop

	HourBytes = 48 << 20  // of texts and files in an hour
	DayBytes  = 192 << 20 // and in a day
)

// LoopError says that an agent sends too much: two that answer each other for
// ever, most likely.
type LoopError struct {
	From, To string
	Why      string

	// First says that the one before it was not refused for the same: the
	// supervisor is to be told.
	First bool
}

func (e *LoopError) Error() string {
	return fmt.Sprintf("%s to %s was not sent: %s. Stop sending; go on with your work, or end your turn", "a message of "+e.From, e.To, e.Why)
}

// Loops remembers what was sent lately. The zero value has seen nothing. It is
// not for concurrent use.
type Loops struct {
	senders map[string]*sender
	same    map[content][]time.Time
	swept   time.Time
}

type sender struct {
	sent []time.Time // of the last minute
	told string      // why the one before was refused

	stored []stored // in the last day
}

// stored is what a message took on the disk.
type stored struct {
	at    time.Time
	bytes int64
}

// content is what a message says to whom.
type content struct {
	from, to string
	sum      [sha256.Size]byte
}

// Admit takes in a message that was sent at a moment, with so many bytes of files,
// or refuses it with a *LoopError. The person and cmux itself may send what they
// like.
func (l *Loops) Admit(m *mailbox.Message, files int64, at time.Time) error {
	if from, err := mailbox.ParseAddress(m.From); err == nil && (from.Kind == mailbox.User || from.Name == "monitor") {
		return nil
	}
	if l.senders == nil {
		l.senders, l.same = make(map[string]*sender), make(map[content][]time.Time)
	}
	l.sweep(at)
	s := l.senders[m.From]
	if s == nil {
		s = new(sender)
		l.senders[m.From] = s
	}
	key := content{m.From, m.To, sha256.Sum256([]byte(m.Subject + "\x00" + m.Body))}
	s.sent, l.same[key] = since(s.sent, at, time.Minute), since(l.same[key], at, sameFor)
	bytes := int64(len(m.Subject)+len(m.Body)) + files
	hour, day := s.keeps(at)
	why := ""
	switch {
	case len(s.sent) >= PerMinute:
		why = fmt.Sprintf("it sends more than %d messages a minute", PerMinute)
	case m.Type != mailbox.StatusUpdate && len(l.same[key]) >= Same-1: // nobody is disturbed by what it says it does
		why = fmt.Sprintf("it has said the same %d times within an hour", Same-1)
	case hour+bytes > HourBytes:
		why = fmt.Sprintf("with it, its texts and files have more than %d MB within an hour: say where a file stands instead", HourBytes>>20)
	case day+bytes > DayBytes:
		why = fmt.Sprintf("with it, its texts and files have more than %d MB within a day: say where a file stands instead", DayBytes>>20)
	}
	first := why != s.told
	s.told = why
	if why != "" {
		return &LoopError{From: m.From, To: m.To, Why: why, First: first}
	}
	s.sent, l.same[key] = append(s.sent, at), append(l.same[key], at)
	s.stored = append(s.stored, stored{at, bytes})
	return nil
}

// keeps is what the sender has stored in the last hour and the last day. What is
// older is forgotten. What a clock that was put back has left in the future
// counts: the disk has it.
func (s *sender) keeps(now time.Time) (hour, day int64) {
	s.stored = slices.DeleteFunc(s.stored, func(x stored) bool { return now.Sub(x.at) >= 24*time.Hour })
	for _, x := range s.stored {
		day += x.bytes
		if now.Sub(x.at) < time.Hour {
			hour += x.bytes
		}
	}
	return hour, day
}

// since leaves out what is older than so long, and what a clock that was put
// back since has left in the future.
func since(all []time.Time, now time.Time, within time.Duration) []time.Time {
	kept := all[:0]
	for _, t := range all {
		if age := now.Sub(t); age >= 0 && age < within {
			kept = append(kept, t)
		}
	}
	return kept
}

// sweep forgets, now and then, what does not count any more.
func (l *Loops) sweep(now time.Time) {
	if age := now.Sub(l.swept); age >= 0 && age < sameFor {
		return
	}
	l.swept = now
	for key, all := range l.same {
		if len(since(all, now, sameFor)) == 0 {
			delete(l.same, key)
		}
	}
	for from, s := range l.senders {
		if len(since(s.sent, now, time.Minute)) == 0 && s.told == "" && !s.kept(now) {
			delete(l.senders, from)
		}
	}
}

// kept reports whether the sender has stored anything in the last day.
func (s *sender) kept(now time.Time) bool {
	_, day := s.keeps(now)
	return day > 0
}

// Told is the message by which the supervisor, or the person where it is the
// supervisor itself, is told of a loop. It comes from cmux.
func (e *LoopError) Told() mailbox.Message {
	to := mailbox.Supervisor
	if e.From == to {
		to = "user"
	}
	return mailbox.Message{From: "monitor", To: to, Subject: mailbox.Error.Subject(e.From + " sends in a loop to " + e.To),
		Body: fmt.Sprintf("Messages of %s to %s are refused: %s. Look at what both of them do.", e.From, e.To, e.Why)}
}
