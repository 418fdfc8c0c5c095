package mailbox

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Urgency is when a message reaches an agent that is in a turn.
type Urgency string

const (
	Patient   Urgency = ""          // at the end of the turn
	Urgent    Urgency = "urgent"    // with the next tool call
	Interrupt Urgency = "interrupt" // cmux interrupts the turn
)

// Submitted is the status of every message when it is written. Deliveries record its later
// states.
const Submitted = "submitted"

// StatusUpdate is the type of a line with an agent's progress. It is delivered to nobody.
const StatusUpdate = "status_update"

// Message is a line of the mailbox.
type Message struct {
	ID      string    `json:"id"`
	TS      time.Time `json:"ts"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Body    string    `json:"body,omitempty"` // a short text, or the path of a long one: see Attached
	Status  string    `json:"status"`
	Type    string    `json:"type,omitempty"` // empty: a message
	Urgency Urgency   `json:"urgency,omitempty"`
	Re      string    `json:"re,omitempty"`   // id of the message that it answers
	Task    string    `json:"task,omitempty"` // id of the task that it is about
}

// Bounds of a message. A longer body goes by file.
const (
	MaxSubject = 500       // bytes
	MaxBody    = 2 << 10   // bytes, of a body in its line
	maxLine    = 256 << 10 // bytes, of a line that is read as a message
)

// IDs splits a list of ids, as a prompt of several messages has it.
func IDs(text string) []string { return strings.Split(text, ",") }

// NewID returns a new unique id.
func NewID() string { return strings.ToLower(rand.Text()[:13]) }

var idShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]{0,63}$`) })

// Recipient returns the recipient of the message.
func (m *Message) Recipient() (Address, error) { return ParseAddress(m.To) }

// check returns what is wrong with a message, whoever wrote it.
func (m *Message) check() error {
	if !idShape().MatchString(m.ID) {
		return fmt.Errorf("%.80q is not an id", m.ID)
	}
	if m.Type == StatusUpdate {
		return nil
	}
	if m.Type != "" {
		return fmt.Errorf("unknown type %.80q", m.Type)
	}
	if _, err := m.Recipient(); err != nil {
		return err
	}
	switch m.Urgency {
	case Patient, Urgent, Interrupt:
	default:
		return fmt.Errorf("unknown urgency %.80q", m.Urgency)
	}
	return nil
}

// Check returns why the message cannot be sent, or nil.
func (m *Message) Check() error {
	_, err := ParseAddress(m.From)
	switch {
	case err != nil:
		return fmt.Errorf("from: %w", err)
	case strings.TrimSpace(m.Subject) == "":
		return errors.New("the subject is empty")
	case len(m.Subject) > MaxSubject:
		return fmt.Errorf("the subject has %d bytes; at most %d are allowed: put the rest into the body", len(m.Subject), MaxSubject)
	case strings.ContainsAny(m.Subject, "\n\r"):
		return errors.New("the subject has more than one line: put the rest into the body")
	case len(m.Body) > MaxBody:
		return fmt.Errorf("the body has %d bytes; at most %d are allowed in a line", len(m.Body), MaxBody)
	case !utf8.ValidString(m.Subject) || !utf8.ValidString(m.Body):
		return errors.New("the message is not text (UTF-8)")
	}
	return m.check()
}

// Parse parses a line of the mailbox.
func Parse(line []byte) (*Message, error) {
	if len(line) > maxLine {
		return nil, fmt.Errorf("the line has %d bytes; a message has at most %d", len(line), maxLine)
	}
	if !json.Valid(line) {
		return nil, errors.New("not JSON")
	}
	m := new(Message)
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("not a message: %w", err)
	}
	return m, m.check()
}

// encode returns v as a line of JSON that cat can show.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// attachment matches the paths of long bodies in the journal, by day and message.
var attachment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^journal/[0-9]{4}-[0-9]{2}-[0-9]{2}/attachments/msg-([a-zA-Z0-9-]+)\.md$`)
})

// Attached returns the path of the message's body, relative to .cmux; ok is false if the
// body is in the message.
func (m *Message) Attached() (rel string, ok bool) {
	rel, ok = strings.CutPrefix(m.Body, ".cmux/")
	parts := attachment().FindStringSubmatch(rel)
	if !ok || parts == nil || parts[1] != m.ID || path.Clean(rel) != rel {
		return "", false
	}
	return rel, true
}

// AttachmentName returns the name of the file with a message's long body.
func AttachmentName(id string) string { return "msg-" + id + ".md" }
