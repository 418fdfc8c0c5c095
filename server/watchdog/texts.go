package watchdog

import (
	"fmt"
	"strings"

	"cmux/agents/journal"
	"cmux/server/watch"
	"cmux/signals/mailbox"
)

func nudgeSubject(a *watch.Action) string {
	if len(a.Items) == 1 {
		return mailbox.Heartbeat.Subject("one thing waits for you")
	}
	return mailbox.Heartbeat.Subject(fmt.Sprintf("%d things wait for you", len(a.Items)))
}

func listed(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	return b.String()
}

// shownItems is how many things a nudge names.
const shownItems = 10

func (w *Project) nudgeText(a *watch.Action) string {
	var lines []string
	for _, i := range a.Items[:min(len(a.Items), shownItems)] {
		lines = append(lines, i.Text)
	}
	j := &journal.Journal{Root: w.Root, Now: w.Now}
	return "You are idle, and this waits for you. `cmux autonomy` shows all of it:\n" + listed(lines) +
		"\nAct on the first that you can: decide it, or give it to a worker. What to think about today stands in " + w.Short(j.ReflectionFile(j.Today())) +
		"; leave notes there with `cmux journal note`. When nothing of this is to be done now, end your turn."
}

func injectText(a *watch.Action) string {
	return "You acted on nothing that you were told of. Take this task out of the backlog now with `cmux backlog take`: give it to a worker that is free, or make one with `cmux workers spawn`. When it is not to be done, cancel it with `cmux tasks cancel`."
}

func tellText(a *watch.Action) string {
	text := "What was seen:\n" + listed(a.Evidence)
	if a.To == "user" {
		return text + fmt.Sprintf("\nLook at it: cmux attach %s. Start it again: cmux workers wake %s, or, in a new conversation: cmux workers reset %s", a.Agent, a.Agent, a.Agent)
	}
	return text + fmt.Sprintf("\nLook at it: cmux workers status %s, cmux workers logs %s.", a.Agent, a.Agent)
}

func relaunchText(a *watch.Action) string {
	return "You stood still, and your program was started again, in your conversation. What was seen:\n" + listed(a.Evidence) +
		"\nA call that was under way was broken off: do not begin it again as it was. Look at how your work stands, and go on."
}

func resetText(a *watch.Action) string {
	return "You stood still, and starting your program again did not help. You are in a new conversation. What was seen:\n" + listed(a.Evidence) +
		"\nLook at how things stand (cmux autonomy, cmux workers list, cmux tasks list, the journal), and go on."
}

func sentryText(a *watch.Action) string {
	return fmt.Sprintf("%s stands still, and starting it again did not help. What was seen:\n%s\nYour role says what to do, in this order. It is about the agent %s.", a.Agent, listed(a.Evidence), a.Agent)
}

func sentryGoneText(a *watch.Action) string {
	return "You stood still, and a sentry looked after you. It is gone: " + a.Reason + ". What it did stands in the journal (cmux journal show) and in cmux incidents list."
}
