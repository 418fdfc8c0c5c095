// Package handover holds the words with which a program is handed what it is told, where
// its kind adds or recognizes them. The words themselves are composed in package prompt.
package handover

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Accepted answers a report by tool that was judged and found in order.
const Accepted = "Accepted: your report, your work and its checks are in order. The task is over: end your turn now, without another word."

// Mention is the prompt of an agent whose real prompt stands in the file path
// and comes with this one, as Claude Code attaches a file that is named so. What
// is too long for that, or may not be attached, is left for the agent to read.
func Mention(path string) string {
	return fmt.Sprintf("What you are to do is in @\"%s\". If you do not see the whole file here, read it first. Then do it.", path)
}

// ByFile is the prompt of an agent whose real prompt is too long to be handed
// over and stands in the file path.
func ByFile(path string) string {
	return fmt.Sprintf("Read the file %s to its end, in parts if it is long, before you do anything else. It holds your task, your rules and how to report. Then do the task.", path)
}

// Waiting hands on what a person said to an agent that was ended before it read
// it.
func Waiting(lines []string) string {
	return "This was said to you before, and you have not read it yet. It comes first:\n" + strings.Join(lines, "\n")
}

// NewTask returns the message that gives a standing agent a task; text is the whole task.
func NewTask(id, text string) string {
	return "New task " + id + ". Only this task counts from now on.\n\n" + text
}

// toldTask begins what NewTask says, and what it said in an earlier cmux, which
// conversations still hold.
var toldTask = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:New task|A new task for you,) (\S+)\. Only this task counts`)
})

// TaskTold is the id of the task that a text of a conversation hands to a standing
// agent, as NewTask does; empty: it hands none.
func TaskTold(text string) string {
	if m := toldTask().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
