package watchdog

import (
	"cmp"
	"fmt"
	"strings"

	"cmux/server/watch"
	"cmux/signals/mailbox"
)

func nudgeSubject(a *watch.Action) string {
	if len(a.Items) == 1 {
		return mailbox.Heartbeat.Subject("1 item waits for you")
	}
	return mailbox.Heartbeat.Subject(fmt.Sprintf("%d items wait for you", len(a.Items)))
}

// evidence is what the watch saw, a line each.
func evidence(a *watch.Action) string {
	var b strings.Builder
	b.WriteString("Evidence:\n")
	for _, l := range a.Evidence {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	return b.String()
}

// shownItems is how many items a nudge names.
const shownItems = 10

func nudgeText(a *watch.Action) string {
	var b strings.Builder
	b.WriteString("You are idle. Most urgent first:\n")
	for n, i := range a.Items[:min(len(a.Items), shownItems)] {
		fmt.Fprintf(&b, "%d. %s", n+1, i.Text)
		if i.Try != "" {
			b.WriteString(" -> " + i.Try)
		}
		b.WriteByte('\n')
	}
	which := ""
	if a.Of > 0 { // else an earlier cmux decided it
		which = fmt.Sprintf("Reminder %d of %d. ", a.Nth, a.Of)
	}
	fmt.Fprintf(&b, "Act on the first one that you can move, then end your turn. If none can move, end your turn. (%s`cmux autonomy` shows all.)", which)
	return b.String()
}

func injectSubject(a *watch.Action) string {
	i := a.Items[0]
	if i.ID == "" { // as an earlier cmux decided it
		return i.Text
	}
	return i.ID + ": " + i.Title
}

func injectText(a *watch.Action) string {
	id := cmp.Or(a.Items[0].ID, "ID")
	return fmt.Sprintf("Nothing in your list has moved. Take this task from the backlog (`cmux backlog take %s`) and assign it to a free worker or a new one (`cmux tasks assign %[1]s NAME`). If it should not be done, cancel it: `cmux tasks cancel %[1]s`.", id)
}

func tellText(a *watch.Action) string {
	if a.To == "user" {
		return evidence(a) + fmt.Sprintf("\nLook at it: cmux attach %s. Restart its program: cmux workers wake %[1]s. Start a new conversation: cmux workers reset %[1]s", a.Agent)
	}
	return evidence(a) + fmt.Sprintf("\nLook at it: `cmux workers status %s`, `cmux workers logs %[1]s`.", a.Agent)
}

func relaunchText(a *watch.Action, leads bool) string {
	return "You made no progress, so cmux restarted your program in the same conversation. " + evidence(a) +
		"\nThe call that was running was ended. Do not repeat it unchanged. " + look(leads)
}

func resetText(a *watch.Action, leads bool) string {
	return "You made no progress, and restarting your program did not help. You are in a new conversation. " + evidence(a) + "\n" + look(leads)
}

// look says where an agent finds out how its work is.
func look(leads bool) string {
	if leads {
		return "Look at `cmux autonomy`, `cmux tasks list` and `cmux journal show`, then continue."
	}
	return "Look at `git status` and `cmux tasks list`, then continue."
}

func sentryText(a *watch.Action) string {
	return fmt.Sprintf("%s has stopped, and restarting its program did not help. %s\nYour role says what to do, step by step. NAME in it is %[1]s.", a.Agent, evidence(a))
}

func sentryGoneText(a *watch.Action) string {
	return "You made no progress, and a sentry looked after you. It is gone: " + a.Reason + ". `cmux journal show` and `cmux incidents list` say what it did."
}
