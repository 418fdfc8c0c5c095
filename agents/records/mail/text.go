package mail

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"cmux/agents/platform/harmless"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// Text is what an agent is shown of messages that are handed to it together. Each
// stands in an envelope, whose first line has its id and says who wrote it. The lines
// of a body are quoted, so that none of them can pass for an envelope. root is the
// project's, for long bodies, which are in files.
func Text(root string, all ...*mailbox.Line) string {
	var b strings.Builder
	for i, m := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("<message")
		if m.ID != "" { // else it is not in the mailbox
			attribute(&b, "id", m.ID)
		}
		attribute(&b, "from", cmp.Or(m.From, "nobody"))
		attribute(&b, "subject", m.Subject)
		if m.Re != "" {
			attribute(&b, "re", m.Re)
		}
		if !m.Verified {
			attribute(&b, "unverified", "true")
		}
		rel, long := m.Attached()
		if long {
			attribute(&b, "file", filepath.Join(root, signals.Folder, filepath.FromSlash(rel)))
		}
		b.WriteString(">\n")
		if body := strings.TrimSpace(harmless.Text(m.Body)); body != "" && !long {
			body = enclosure().ReplaceAllString(body, enclosed+strings.ReplaceAll(root, "$", "$$")+"/$1")
			b.WriteString("> " + strings.ReplaceAll(body, "\n", "\n> ") + "\n")
		}
		b.WriteString("</message>")
	}
	return b.String()
}

// attribute adds one to the first line of an envelope, which stays one line.
func attribute(b *strings.Builder, name, value string) {
	fmt.Fprintf(b, ` %s="%s"`, name, escape().Replace(harmless.Line(value)))
}

var escape = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
})

// enclosure is a line that says where a file is that came along, from the
// project's root: agents work elsewhere.
var enclosure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + enclosed + `(\.cmux/journal/[0-9]{4}-[0-9]{2}-[0-9]{2}/attachments/[A-Za-z0-9._-]+)$`)
})

// header is the first line of a message in a Text: of an envelope, or as an earlier
// cmux wrote it, which conversations still hold.
var header = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:<message id="([a-zA-Z0-9-]{1,64})"|\[[^\]\n]+\] .*\(message ([a-zA-Z0-9-]{1,64})\)\r?$)`)
})

// Seen are the ids of the messages that a prompt, or a text of a conversation,
// shows.
func Seen(text string) (ids []string) {
	for _, m := range header().FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1]+m[2])
	}
	return ids
}
