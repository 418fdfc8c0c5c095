package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/harmless"
	"cmux/agents/journal"
	"cmux/agents/seal"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// MaxBody bounds a message's body, in bytes.
const MaxBody = 1 << 20

// Post is the mailbox of a project for who sends.
type Post struct {
	Box     *mailbox.Box
	Journal *journal.Journal
	Now     func() time.Time
}

// Box is the mailbox of the project at root for reading: without a key of the
// person every line is unverified.
func Box(root string) (*mailbox.Box, error) {
	key, err := seal.Find()
	if errors.Is(err, fs.ErrNotExist) {
		return box(root, nil), nil
	}
	if err != nil {
		return nil, err
	}
	return box(root, key), nil
}

func box(root string, key *seal.Key) *mailbox.Box {
	b := &mailbox.Box{Dir: filepath.Join(root, signals.Folder), Plain: harmless.JSON}
	if key != nil {
		b.Key = key.Derive("mailbox", root)
	}
	return b
}

// Open is the mailbox of the project at root for sending and recording. It makes
// the project's folder, and the person's key where they have none.
func Open(root string, now func() time.Time) (*Post, error) {
	key, err := seal.Own()
	if err != nil {
		return nil, err
	}
	if err := signals.Init(root); err != nil {
		return nil, err
	}
	return &Post{Box: box(root, key), Journal: &journal.Journal{Root: root, Now: now}, Now: now}, nil
}

// Send writes a message, with an id where it has none and the time, and returns it as it stands.
// vouched says that it is known to be from who it says. A long body goes to the
// journal first.
func (p *Post) Send(ctx context.Context, m mailbox.Message, vouched bool) (mailbox.Message, error) {
	m.ID, m.TS = cmp.Or(m.ID, mailbox.NewID()), p.Now().UTC().Truncate(time.Millisecond)
	m.Subject = strings.TrimSpace(m.Subject)
	body := m.Body
	if len(body) > MaxBody {
		return m, fmt.Errorf("the message has %d bytes, and %d is the most: keep it as a file and say where it stands", len(body), MaxBody)
	}
	m.Body = ""
	if err := m.Check(); err != nil {
		return m, err
	}
	if len(body) > mailbox.MaxBody {
		path, err := p.Journal.Attach(mailbox.AttachmentName(m.ID), []byte(body))
		if err != nil {
			return m, err
		}
		body = path
	}
	m.Body = body
	return m, p.Box.Append(ctx, vouched, m)
}

// Body is the whole body of a message.
func Body(b *mailbox.Box, m *mailbox.Message) (string, error) {
	rel, ok := m.Attached()
	if !ok {
		return m.Body, nil
	}
	text, err := signals.ReadFile(filepath.Join(b.Dir, filepath.FromSlash(rel)), MaxBody)
	if err != nil {
		return "", fmt.Errorf("the text of message %s: %w", m.ID, err)
	}
	return string(text), nil
}

// PrefixError says that a prefix is not for who used it.
type PrefixError struct {
	Prefix mailbox.Prefix
	Try    string // what to do instead
}

func (e *PrefixError) Error() string {
	return fmt.Sprintf("[%s] is written by cmux alone", e.Prefix)
}

// own are the prefixes that cmux alone writes, and what does what they say.
var own = map[mailbox.Prefix]string{
	mailbox.Done:       `cmux done "summary", which has the work checked`,
	mailbox.Blocked:    `cmux blocked "reason"`,
	mailbox.TaskCancel: "cmux tasks cancel ID",
	mailbox.Heartbeat:  "another subject",
	mailbox.Error:      "another subject",
}

// CheckPrefix refuses a subject that says what cmux alone says.
func CheckPrefix(subject string) error {
	if p, _ := mailbox.Cut(strings.TrimSpace(subject)); own[p] != "" {
		return &PrefixError{p, own[p]}
	}
	return nil
}

// Free are the prefixes that anybody may use.
func Free() (all []string) {
	for _, p := range mailbox.Prefixes() {
		if own[p] == "" {
			all = append(all, string(p))
		}
	}
	return slices.Clip(all)
}
