package prompt

import (
	"cmp"
	"fmt"
	"strings"

	"cmux/agents/runs/run"
)

// Memory is what an agent must know whose conversation was replaced by a summary, or
// begun again.
type Memory struct {
	Name   string
	Member *run.Member // nil: a node's agent
	Task   string      // id of the task of an agent that stays; "": it has none
	Text   string      // the task at hand, with its rules and how to report; "": there is none
	File   string      // holds Text
	Dir    string      // where it works
	Done   []string    // what is done so far, a line each
	Back   string      // what its last report was answered, if that was handed back
}

// A program shows the model 10,000 characters of what a hook says, and cuts the rest.
const (
	maxReminder = 9 << 10
	maxBack     = 1 << 10
)

// Reminded tells an agent what counts now. It is made at the moment at which the
// conversation is gone, so that it is about the task at hand. A task that is too long
// for it is named by its file.
func Reminded(m Memory) string {
	var b strings.Builder
	b.WriteString("Your conversation was replaced by a summary, or is new. This is what counts now.\n")
	if m.Member != nil {
		b.WriteString("\n" + who(m.Name, m.Member) + "\n")
	}
	if m.Text == "" {
		b.WriteString("\n" + idle(m.Member) + "\n")
		return b.String()
	}
	now, end := "Your task is the one that you were given at the start", "\n\n"
	if m.Task != "" {
		now = "You are at work on task " + m.Task + ". Only this task counts"
	}
	b.WriteString("\n" + now + ". You work in " + m.Dir + ".")
	if len(m.Done) > 0 {
		b.WriteString("\n\nWhat is done so far:\n")
		for _, l := range m.Done {
			b.WriteString("- " + l + "\n")
		}
		end = "\n"
	}
	if m.Back != "" {
		b.WriteString(end + "Your last report was handed back with this. It may be mended by now:\n" + quoted(Cut(m.Back, maxBack)))
		end = "\n"
	}
	look := "The summary says how far you are."
	switch {
	case leads(m.Member):
		look = "`cmux tasks list` and `cmux autonomy` show how far it is."
	case len(m.Done) > 0:
		look = "Look at `git status` and `git log`."
	}
	b.WriteString(end + look + " Continue from there, and do not repeat what is done.")
	if b.Len()+len(m.Text) > maxReminder {
		fmt.Fprintf(&b, "\n\nThe task, your rules and how to report are in the file %s. Read it to its end before you continue. When the task is complete, %s. If you cannot finish it, %s.",
			m.File, report("done", "summary"), report("blocked", "reason"))
		return b.String()
	}
	b.WriteString("\n\nThis is the task, word for word, with your rules and how to report:\n\n" + m.Text)
	return b.String()
}

// who says who an agent is that stays, and where that is written down.
func who(name string, m *run.Member) string {
	s := fmt.Sprintf("You are %s, a %s of this project.", name, strings.ReplaceAll(cmp.Or(m.Role, "worker"), "-", " "))
	switch {
	case m.Context == "":
	case m.Role == "member":
		s += fmt.Sprintf(" %s says which room you are in, who else is there and how you answer.", m.Context)
	default:
		s += fmt.Sprintf(" %s says whom you work for and how you report.", m.Context)
	}
	if m.RoleFile != "" {
		s += fmt.Sprintf(" %s is your role.", m.RoleFile)
	}
	if m.Context != "" || m.RoleFile != "" {
		s += " Read what you do not remember of it."
	}
	return s
}

// idle tells an agent that has no task what to do.
func idle(m *run.Member) string {
	s := "You have no task of your own now. If the summary says that you were in the middle of something, finish that. "
	switch {
	case m != nil && m.Role == "sentry":
		return s + "Then end your turn."
	case m != nil && m.Role == "member":
		return s + "Then end your turn: what is said in the room comes as a message."
	case leads(m):
		return s + "`cmux autonomy` shows what waits for you, and `cmux journal show` what was decided today."
	}
	return s + "Then end your turn: your next task comes as a message."
}

// leads reports whether an agent gives the work to others.
func leads(m *run.Member) bool {
	return m != nil && (m.Role == "supervisor" || m.Role == "project-supervisor")
}

// report is how an agent reports that does not read its prompt at the moment.
func report(word, text string) string {
	return fmt.Sprintf("report with the tool `%s` (fallback: cmux %[1]s '%s')", word, text)
}

func quoted(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString("> " + strings.TrimRight(l, "\r\n") + "\n")
	}
	return b.String()
}
