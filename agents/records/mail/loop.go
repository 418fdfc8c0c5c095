package mail

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"cmux/signals/mailbox"
)

// Limits of what one agent sends.
const (
	PerMinute = 60        // messages
	Same      = 10        // equal messages to one recipient; this many are refused
	sameFor   = time.Hour // older messages do not count

	HourBytes = 48 << 20  // of texts and files in an hour
	DayBytes  = 192 << 20 // and in a day
)

// LoopError means that an agent sends too much; most likely two agents answer each other
// without end.
type LoopError struct {
	From, To string
	Why      string

	// First means that the sender's previous message was not refused for the same reason:
	// the caller must inform the supervisor.
	First bool
}

func (e *LoopError) Error() string {
	return fmt.Sprintf("%s to %s was not sent: %s. Stop sending; continue your work, or end your turn", "a message of "+e.From, e.To, e.Why)
}

// Loops remembers recent messages. The zero value is empty. It is not safe for concurrent
// use.
type Loops struct {
	senders map[string]*sender
	same    map[content][]time.Time
	swept   time.Time
}

type sender struct {
	sent []time.Time // of the last minute
	told string      // why the previous message was refused; empty: it was not

	stored []stored // in the last day
}

// stored is the disk space of a message.
type stored struct {
	at    time.Time
	bytes int64
}

// content identifies a message's text and recipient.
type content struct {
	from, to string
	sum      [sha256.Size]byte
}

// Admit records a message sent at a time, with so many bytes of files, or refuses it with a
// *LoopError. The person and cmux have no limits.
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
		why = fmt.Sprintf("the agent sends more than %d messages a minute", PerMinute)
	case m.Type != mailbox.StatusUpdate && len(l.same[key]) >= Same-1: // a status update disturbs nobody
		why = fmt.Sprintf("the agent has sent the same text %d times within an hour", Same-1)
	case hour+bytes > HourBytes:
		why = fmt.Sprintf("the agent would send more than %d MB of texts and files within an hour: send the paths of files instead", HourBytes>>20)
	case day+bytes > DayBytes:
		why = fmt.Sprintf("the agent would send more than %d MB of texts and files within a day: send the paths of files instead", DayBytes>>20)
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

// keeps returns what the sender has stored in the last hour and the last day, and forgets
// older messages. Messages with a future time, after the clock was set back, count: they
// are on the disk.
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

// since returns the times that are not older than d. It leaves out future times, which
// remain after the clock was set back.
func since(all []time.Time, now time.Time, within time.Duration) []time.Time {
	kept := all[:0]
	for _, t := range all {
		if age := now.Sub(t); age >= 0 && age < within {
			kept = append(kept, t)
		}
	}
	return kept
}

// sweep forgets, from time to time, what no longer counts.
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

// Told returns cmux's message about a loop to the supervisor; if the supervisor is the
// sender, to the person.
func (e *LoopError) Told() mailbox.Message {
	to := mailbox.Supervisor
	if e.From == to {
		to = "user"
	}
	return mailbox.Message{From: "monitor", To: to, Subject: mailbox.Error.Subject(e.From + " sends in a loop to " + e.To),
		Body: fmt.Sprintf("Messages of %s to %s are refused: %s. Look at what both of them do.", e.From, e.To, e.Why)}
}
