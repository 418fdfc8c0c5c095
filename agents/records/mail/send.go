package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/platform/harmless"
	"cmux/agents/platform/seal"
	"cmux/agents/records/journal"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// Limits of messages, in bytes.
const (
	MaxBody  = 1 << 20
	MaxFile  = 8 << 20  // of an attached file
	MaxFiles = 10       // number of attached files
	MaxTotal = 16 << 20 // of all attached files
)

// Enclosure is an attached file.
type Enclosure struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// plainName replaces everything in a file's name that is not safe in a path.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// CheckFiles refuses attached files that are too many or too large.
func CheckFiles(files []Enclosure) error {
	if len(files) > MaxFiles {
		return fmt.Errorf("a message has at most %[2]d files, not %[1]d", len(files), MaxFiles)
	}
	for _, f := range files {
		if len(f.Data) > MaxFile {
			return fmt.Errorf("%s has %d bytes; an attached file has at most %d: send its path instead", f.Name, len(f.Data), MaxFile)
		}
	}
	if n := Size(files); n > MaxTotal {
		return fmt.Errorf("the files have %d bytes; all attached files have at most %d: send their paths instead", n, MaxTotal)
	}
	return nil
}

// Size returns the total size of the files, in bytes.
func Size(files []Enclosure) (n int64) {
	for _, f := range files {
		n += int64(len(f.Data))
	}
	return n
}

// Stored returns the size of a message's attached files in the project at root, and of its
// text if that is in a file.
func Stored(root string, m *mailbox.Message) (n int64) {
	var paths []string
	for _, found := range enclosure().FindAllStringSubmatch(m.Body, -1) {
		paths = append(paths, found[1])
	}
	if rel, ok := m.Attached(); ok {
		paths = append(paths, filepath.Join(signals.Folder, filepath.FromSlash(rel)))
	}
	for _, path := range paths {
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil {
			n += info.Size()
		}
	}
	return n
}

// enclose stores the files among the journal's attachments and returns the lines that name
// them in the message's body.
func (p *Post) enclose(id string, files []Enclosure) (lines string, err error) {
	if err := CheckFiles(files); err != nil {
		return "", err
	}
	for i, f := range files {
		name := plainName().ReplaceAllString(filepath.Base(f.Name), "-")
		path, err := p.Journal.Attach(fmt.Sprintf("%s-%d-%s", id, i+1, name[max(0, len(name)-100):]), f.Data)
		if err != nil {
			return "", err
		}
		lines += "\n" + enclosed + path
	}
	return lines, nil
}

// enclosed begins a line of a body with the path of an attached file.
const enclosed = "Attached: "

// Post is the mailbox of a project for a sender.
type Post struct {
	Box     *mailbox.Box
	Journal *journal.Journal
	Now     func() time.Time
}

// Box returns the mailbox of the project at root for reading: without the person's key,
// every line is unverified.
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

// Open opens the mailbox of the project at root for sending and recording. It creates the
// project's folder and the person's key if they are missing.
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

// Send writes a message and returns it as written. It sets the time, and an id if there is
// none. vouched: the sender is verified. It first stores a long body and attached files in
// the journal; the message's body then names their paths.
func (p *Post) Send(ctx context.Context, m mailbox.Message, vouched bool, files ...Enclosure) (mailbox.Message, error) {
	m.ID, m.TS = cmp.Or(m.ID, mailbox.NewID()), p.Now().UTC().Truncate(time.Millisecond)
	m.Subject = strings.TrimSpace(m.Subject)
	body := m.Body
	if len(body) > MaxBody {
		return m, fmt.Errorf("the message has %d bytes; at most %d are allowed: write a file and send its path", len(body), MaxBody)
	}
	m.Body = ""
	if err := m.Check(); err != nil {
		return m, err
	}
	lines, err := p.enclose(m.ID, files)
	if err != nil {
		return m, err
	}
	if lines != "" {
		body = strings.TrimPrefix(strings.TrimRight(body, "\n")+"\n"+lines, "\n\n")
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

// Body returns the whole body of a message.
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

// PrefixError means that the sender may not use a prefix.
type PrefixError struct {
	Prefix mailbox.Prefix
	Try    string // what to do instead
}

func (e *PrefixError) Error() string {
	return fmt.Sprintf("[%s] is reserved for cmux", e.Prefix)
}

// own are the prefixes that only cmux writes, with the command that sends them.
var own = map[mailbox.Prefix]string{
	mailbox.Done:       `cmux done "summary", which has the work checked`,
	mailbox.Blocked:    `cmux blocked "reason"`,
	mailbox.TaskCancel: "cmux tasks cancel ID",
	mailbox.Heartbeat:  "another subject",
	mailbox.Error:      "another subject",
}

// CheckPrefix refuses a subject with a prefix that is reserved for cmux.
func CheckPrefix(subject string) error {
	if p, _ := mailbox.Cut(strings.TrimSpace(subject)); own[p] != "" {
		return &PrefixError{p, own[p]}
	}
	return nil
}

// Free returns the prefixes that anybody may use.
func Free() (all []string) {
	for _, p := range mailbox.Prefixes() {
		if own[p] == "" {
			all = append(all, string(p))
		}
	}
	return slices.Clip(all)
}
