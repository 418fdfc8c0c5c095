package transcript

import (
	"strings"
	"time"
)

// Sign is something that a program did, as its transcript has it, for those who
// want to know whether its hooks told of it. Those of sub-agents are signs too.
type Sign struct {
	What Signed
	At   time.Time
	Tool string // Called
	ID   string // Called, Ran, NotRun: of the tool use
	Text string // NotRun, PromptRefused: why; Read, Carried, Queued: the text; Ran: the output
	Said string // PromptRefused: the prompt; empty: not known
	Sub  bool   // it is of a sub-agent
}

// Signed is what a Sign is of.
type Signed uint8

const (
	Answered      Signed = iota // the model did
	Called                      // the model wants a tool used
	Ran                         // a tool was used
	NotRun                      // a tool was not, or failed
	PromptRefused               // a hook refused what the agent was told
	TurnOver                    // the program waits for its next prompt
	Queued                      // something was said to the agent while it was at work
	Unqueued                    // and waits no longer: Text, or without one what has waited longest
	Read                        // the agent was given this to read
	Carried                     // likewise, with the answer to a hook
)

// called are the signs of an answer of the model.
func (m *message) called() []Sign {
	signs := []Sign{{What: Answered}}
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			signs = append(signs, Sign{What: Called, Tool: b.Name, ID: b.ID})
		}
	}
	return signs
}

// exitCode begins the result of a command that ran and failed.
const exitCode = "Exit code "

// ran are the signs of results. What failed may never have been begun: it was
// refused, or no valid call.
func (m *message) ran() []Sign {
	var signs []Sign
	for _, b := range m.Content {
		if b.Type != "tool_result" {
			continue
		}
		s := Sign{What: Ran, ID: b.ToolUseID}
		if s.Text = b.Content.text(); b.IsError && !strings.HasPrefix(s.Text, exitCode) {
			s.What = NotRun
		}
		signs = append(signs, s)
	}
	return signs
}

// system returns the signs of a line of the program itself; atPrompt: the line is about the
// fate of a prompt.
func system(subtype, text string, atPrompt bool) []Sign {
	switch {
	case subtype == "turn_duration":
		return []Sign{{What: TurnOver}}
	case subtype != "informational":
	case strings.HasPrefix(text, "UserPromptSubmit operation blocked by hook"):
		why, said, _ := strings.Cut(text, "Original prompt:")
		_, why, _ = strings.Cut(why, "\n")
		return []Sign{{What: PromptRefused, Text: strings.TrimSpace(why), Said: strings.TrimSpace(said)}}
	case atPrompt && strings.HasPrefix(text, "Operation stopped by hook"):
		_, why, _ := strings.Cut(text, ":")
		return []Sign{{What: PromptRefused, Text: strings.TrimSpace(why)}}
	}
	return nil
}
