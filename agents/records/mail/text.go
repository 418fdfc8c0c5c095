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

// Text returns several messages as an agent sees them, each in an envelope. The first line
// of an envelope has the id and the sender. The lines of a body are quoted, so that none of
// them can imitate an envelope. root is the project's root, for long bodies in files.
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

// attribute adds an attribute to the first line of an envelope, which stays one line.
func attribute(b *strings.Builder, name, value string) {
	fmt.Fprintf(b, ` %s="%s"`, name, escape().Replace(harmless.Line(value)))
}

var escape = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
})

// enclosure matches a line with the path of an attached file, relative to the project's
// root: agents work elsewhere.
var enclosure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + enclosed + `(\.cmux/journal/[0-9]{4}-[0-9]{2}-[0-9]{2}/attachments/[A-Za-z0-9._-]+)$`)
})

// header matches the first line of a message in a Text: of an envelope, or in the form of
// an earlier cmux, which conversations may still hold.
var header = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:<message id="([a-zA-Z0-9-]{1,64})"|<turn id="([a-zA-Z0-9_-]{1,64}/t[0-9]{1,9}-[0-9a-z]{1,16})"|\[[^\]\n]+\] .*\(message ([a-zA-Z0-9-]{1,64})\)\r?$)`)
})

// Seen returns the ids of the messages in a prompt or in another text of a conversation.
func Seen(text string) (ids []string) {
	for _, m := range header().FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1]+m[2]+m[3])
	}
	return ids
}
