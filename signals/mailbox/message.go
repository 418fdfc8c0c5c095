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

// Urgency says how a message is handed to an agent that is in a turn.
type Urgency string

const (
	Patient   Urgency = ""          // at the end of the turn
	Urgent    Urgency = "urgent"    // with the next tool call
	Interrupt Urgency = "interrupt" // the turn is broken off first
)

// Submitted is the status of every message as it is written. What became of it
// since, the deliveries say.
const Submitted = "submitted"

// StatusUpdate is the type of a line that tells how an agent stands, and is
// delivered to nobody.
const StatusUpdate = "status_update"

// Message is a line of the mailbox.
type Message struct {
	ID      string    `json:"id"`
	TS      time.Time `json:"ts"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Body    string    `json:"body,omitempty"` // a short text, or where a long one stands: see Attached
	Status  string    `json:"status"`
	Type    string    `json:"type,omitempty"` // empty: a message
	Urgency Urgency   `json:"urgency,omitempty"`
	Re      string    `json:"re,omitempty"`   // id of the message that this one answers
	Task    string    `json:"task,omitempty"` // id of the task that it is about
}

// Bounds of a message. A longer body goes by file.
const (
	MaxSubject = 500       // bytes
	MaxBody    = 2 << 10   // bytes, of a body in its line
	maxLine    = 256 << 10 // bytes, of a line that is read as a message
)

// IDs are those in a text that names several messages which went together.
func IDs(text string) []string { return strings.Split(text, ",") }

// NewID is an id that no other message has.
func NewID() string { return strings.ToLower(rand.Text()[:13]) }

var idShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]{0,63}$`) })

// Recipient is who the message is for.
func (m *Message) Recipient() (Address, error) { return ParseAddress(m.To) }

// check says what is wrong with a message, whoever wrote it.
func (m *Message) check() error {
	if !idShape().MatchString(m.ID) {
		return fmt.Errorf("its id %.80q is none", m.ID)
	}
	if m.Type == StatusUpdate {
		return nil
	}
	if m.Type != "" {
		return fmt.Errorf("its type %.80q is not known", m.Type)
	}
	if _, err := m.Recipient(); err != nil {
		return err
	}
	switch m.Urgency {
	case Patient, Urgent, Interrupt:
	default:
		return fmt.Errorf("its urgency %.80q is not known", m.Urgency)
	}
	return nil
}

// Check says why the message cannot be sent as it is.
func (m *Message) Check() error {
	_, err := ParseAddress(m.From)
	switch {
	case err != nil:
		return fmt.Errorf("from: %w", err)
	case strings.TrimSpace(m.Subject) == "":
		return errors.New("it has no subject")
	case len(m.Subject) > MaxSubject:
		return fmt.Errorf("its subject has %d bytes, and %d is the most: say the rest in the body", len(m.Subject), MaxSubject)
	case strings.ContainsAny(m.Subject, "\n\r"):
		return errors.New("its subject has more than one line: say the rest in the body")
	case len(m.Body) > MaxBody:
		return fmt.Errorf("its body has %d bytes, and %d is the most in a line", len(m.Body), MaxBody)
	case !utf8.ValidString(m.Subject) || !utf8.ValidString(m.Body):
		return errors.New("it is not text (UTF-8)")
	}
	return m.check()
}

// Parse reads a line of the mailbox.
func Parse(line []byte) (*Message, error) {
	if len(line) > maxLine {
		return nil, fmt.Errorf("it has %d bytes, and no message has more than %d", len(line), maxLine)
	}
	if !json.Valid(line) {
		return nil, errors.New("it is not JSON")
	}
	m := new(Message)
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("it is no message: %w", err)
	}
	return m, m.check()
}

// encode is v as a line of JSON that cat can show.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// attachment is where the journal keeps a long body, by day and message.
var attachment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^journal/[0-9]{4}-[0-9]{2}-[0-9]{2}/attachments/msg-([a-zA-Z0-9-]+)\.md$`)
})

// Attached is the path of the message's body below the folder .cmux; ok is
// false when the body stands in the message.
func (m *Message) Attached() (rel string, ok bool) {
	rel, ok = strings.CutPrefix(m.Body, ".cmux/")
	parts := attachment().FindStringSubmatch(rel)
	if !ok || parts == nil || parts[1] != m.ID || path.Clean(rel) != rel {
		return "", false
	}
	return rel, true
}

// AttachmentName is the name of the file that a message's long body stands in.
func AttachmentName(id string) string { return "msg-" + id + ".md" }
