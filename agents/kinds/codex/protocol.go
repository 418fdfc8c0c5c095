package codex

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/agents/kinds/transcript"
	"cmux/agents/records/event"
	"cmux/dag"
)

// notice is what a notification or a request of the program's says, as far as
// an attempt is concerned. Fields that a method does not have are empty.
type notice struct {
	Thread   string            `json:"threadId"`
	TurnID   string            `json:"turnId"`
	Turn     turn              `json:"turn"`
	Item     item              `json:"item"`
	Usage    tokenUsage        `json:"tokenUsage"`
	Error    turnError         `json:"error"`
	Retries  bool              `json:"willRetry"`
	Limits   rateLimits        `json:"rateLimits"`
	Message  string            `json:"message"`
	Summary  string            `json:"summary"`
	Request  json.RawMessage   `json:"requestId"`
	ItemID   string            `json:"itemId"`
	Delta    string            `json:"delta"`
	Command  string            `json:"command"`
	Dir      string            `json:"cwd"`
	Reason   string            `json:"reason"`
	Root     string            `json:"grantRoot"`
	Server   string            `json:"serverName"`
	Ask      []requestedAnswer `json:"questions"`
	Schema   json.RawMessage   `json:"requestedSchema"`
	Elicited string            `json:"mode"`
}

type turn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"` // inProgress, completed, interrupted, failed
	Error  *turnError `json:"error"`
}

type turnError struct {
	Message string          `json:"message"`
	Details string          `json:"additionalDetails"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a word, or an object by a word
}

// text is the error in words.
func (e *turnError) text() string {
	if e.Details != "" && !strings.Contains(e.Message, e.Details) {
		return strings.TrimSpace(e.Message + ": " + e.Details)
	}
	return e.Message
}

// kind is the word for the error; empty: none was given.
func (e *turnError) kind() string {
	var word string
	if json.Unmarshal(e.Info, &word) == nil {
		return word
	}
	var by map[string]json.RawMessage
	if json.Unmarshal(e.Info, &by) == nil && len(by) == 1 {
		for word := range by {
			return word
		}
	}
	return ""
}

type tokenUsage struct {
	Total breakdown `json:"total"`
	Last  breakdown `json:"last"`
	// Window is what the model takes in, where the program knows it.
	Window int64 `json:"modelContextWindow"`
}

// breakdown counts tokens; cached ones are part of the input.
type breakdown struct {
	Input  int64 `json:"inputTokens"`
	Output int64 `json:"outputTokens"` // reasoning included
	Cached int64 `json:"cachedInputTokens"`
}

func (b breakdown) usage() dag.Usage {
	cached := min(max(b.Cached, 0), max(b.Input, 0))
	return dag.Usage{Input: max(b.Input, 0) - cached, Output: max(b.Output, 0), CacheRead: cached}
}

type rateLimits struct {
	Primary   *window `json:"primary"`
	Secondary *window `json:"secondary"`
}

type window struct {
	Used     float64 `json:"usedPercent"`
	ResetsAt int64   `json:"resetsAt"` // seconds of the epoch
}

// lifted is when the windows that are used up are open again; zero: none is
// used up, or it is not known.
func (l rateLimits) lifted() time.Time {
	var at int64
	for _, w := range []*window{l.Primary, l.Secondary} {
		if w != nil && w.Used >= 100 {
			at = max(at, w.ResetsAt)
		}
	}
	if at <= 0 {
		return time.Time{}
	}
	return time.Unix(at, 0)
}

type requestedAnswer struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
}

type item struct {
	ID      string            `json:"id"`
	Type    string            `json:"type"`
	Text    string            `json:"text"`
	Content []json.RawMessage `json:"content"` // userMessage: parts; reasoning: texts
	Summary []string          `json:"summary"`
	Command string            `json:"command"`
	Output  string            `json:"aggregatedOutput"`
	Exit    *int              `json:"exitCode"`
	Status  string            `json:"status"`
	Changes []change          `json:"changes"`
	Server  string            `json:"server"`
	Tool    string            `json:"tool"`
	Args    json.RawMessage   `json:"arguments"`
	Query   string            `json:"query"`
	Path    string            `json:"path"`
	Prompt  string            `json:"prompt"`
}

type change struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"`
		Move string `json:"move_path"`
	} `json:"kind"`
}

// parse reads the parameters of a notification or a request. Programs add
// fields and change their types: a field that is not understood is left empty.
func parse(m stdio.Message) notice {
	var n notice
	stdio.Lenient(m.Params, &n)
	return n
}

// words are what a person said or was said to them.
func (i *item) words() string {
	var all []string
	for _, raw := range i.Content {
		var part struct {
			Text string `json:"text"`
		}
		var text string
		if json.Unmarshal(raw, &part) == nil {
			text = part.Text
		} else if json.Unmarshal(raw, &text) != nil {
			continue
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// call returns the item as a tool call; an empty name: it is another item.
func (i *item) call() (name string, input any) {
	switch i.Type {
	case "commandExecution":
		return "shell", map[string]string{"command": stdio.Inner(i.Command)}
	case "fileChange":
		return "apply_patch", map[string]any{"changes": i.Changes}
	case "mcpToolCall":
		return "mcp__" + i.Server + "__" + i.Tool, i.Args
	case "dynamicToolCall":
		return i.Tool, i.Args
	case "collabAgentToolCall":
		return "agent", map[string]string{"prompt": strings.TrimSpace(i.Tool + " " + i.Prompt)}
	case "webSearch":
		return "web_search", map[string]string{"query": i.Query}
	case "imageView":
		return "view_image", map[string]string{"path": i.Path}
	}
	return "", nil
}

// events are what an item shows, when it has started or when it is complete.
func (i *item) events(complete bool) []event.Event {
	one := func(kind event.Kind, text string) []event.Event {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return []event.Event{{Kind: kind, Message: i.ID, Text: text}}
	}
	if name, input := i.call(); name != "" {
		b, err := json.Marshal(input)
		if err != nil {
			b = nil // a damaged value inside; the call itself is known
		}
		e := event.Event{Kind: event.ToolUse, Tool: name, ToolID: i.ID, Input: b}
		if complete {
			e.Kind, e.Text = event.ToolResult, i.Output
			e.Failed = i.Status == "failed" || i.Status == "declined" || i.Exit != nil && *i.Exit != 0
			switch {
			case i.Status == "declined":
				e.Text = "refused"
			case i.Exit != nil && *i.Exit != 0:
				e.Text = strings.TrimRight(e.Text, "\n") + fmt.Sprintf("\nexit %d", *i.Exit)
			}
		}
		return []event.Event{e}
	}
	if !complete {
		return nil
	}
	switch i.Type {
	case "userMessage":
		return one(event.Prompt, i.words())
	case "agentMessage", "plan":
		return one(event.Text, i.Text)
	case "reasoning":
		text := strings.Join(i.Summary, "\n")
		if text == "" {
			text = i.words()
		}
		return one(event.Thought, text)
	case "contextCompaction":
		return []event.Event{{Kind: event.Compacted, Message: i.ID}}
	}
	return nil
}

// failure is what a failed turn means. lifted is when a limit of the account
// ends, where that was said beside the error.
func failure(e *turnError, lifted, now time.Time) news.Event {
	if e == nil {
		e = &turnError{Message: "the turn failed and does not say why"}
	}
	text := e.text()
	f := transcript.Classify(text, now)
	switch e.kind() {
	case "usageLimitExceeded", "rateLimitExceeded":
		if f.Cause != transcript.Limit {
			f = transcript.Classify("usage limit: "+text, now)
		}
		f.Cause = transcript.Limit
	case "unauthorized":
		f.Cause = transcript.Auth
	}
	if f.Cause == transcript.Limit && f.Until.IsZero() && lifted.After(now) {
		f.Until = lifted
	}
	return stdio.Failed(text, f, "log in with: codex login; then answer go on")
}
