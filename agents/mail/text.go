package mail

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"cmux/agents/harmless"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// Text is what an agent is shown of messages that are handed to it together. The
// first line of each says who wrote it and has its id; the lines of a body are
// quoted, so that none of them can pass for such a line. root is the project's,
// for long bodies, which stand in files.
func Text(root string, all ...*mailbox.Line) string {
	var b strings.Builder
	for i, m := range all {
		if i > 0 {
			b.WriteString("\n\n")
		}
		from := cmp.Or(harmless.Line(m.From), "nobody")
		if !m.Verified {
			from += ", unverified"
		}
		fmt.Fprintf(&b, "[%s] %s (message %s)", strings.NewReplacer("[", "(", "]", ")").Replace(from), harmless.Line(m.Subject), m.ID)
		if m.Re != "" {
			fmt.Fprintf(&b, "\nIt answers message %s.", harmless.Line(m.Re))
		}
		if rel, ok := m.Attached(); ok {
			fmt.Fprintf(&b, "\nIts text is long and stands in the file %s: read it.", filepath.Join(root, signals.Folder, filepath.FromSlash(rel)))
		} else if body := strings.TrimSpace(harmless.Text(m.Body)); body != "" {
			body = enclosure().ReplaceAllString(body, enclosed+strings.ReplaceAll(root, "$", "$$")+"/$1")
			b.WriteString("\n> " + strings.ReplaceAll(body, "\n", "\n> "))
		}
	}
	return b.String()
}

// enclosure is a line that says where a file is that came along, from the
// project's root: agents work elsewhere.
var enclosure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + enclosed + `(\.cmux/journal/[0-9]{4}-[0-9]{2}-[0-9]{2}/attachments/[A-Za-z0-9._-]+)$`)
})

// header is the first line of a message in a Text.
var header = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\[[^\]\n]+\] .*\(message ([a-zA-Z0-9-]{1,64})\)\r?$`)
})

// Seen are the ids of the messages that a prompt, or a text of a conversation,
// shows.
func Seen(text string) (ids []string) {
	for _, m := range header().FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}
