package modeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Protocols, as in Request.Protocol.
const (
	Messages  = "messages"  // Anthropic Messages, spoken by Claude Code
	Responses = "responses" // OpenAI Responses, spoken by Codex
	Chat      = "chat"      // OpenAI chat completions, spoken by Qwen Code and OpenCode
	Gemini    = "gemini"    // Google's Gemini API, spoken by Gemini CLI
)

// Request is one call of the model, as recorded before it is answered.
type Request struct {
	Seq      int // from 1, over all of the server
	At       time.Time
	Protocol string
	Session  string // the program's conversation id; "" when it names none
	Model    string
	System   string // system prompt; texts joined by newlines
	Messages []Message
	Tools    []string // names offered
	Stream   bool
	Aside    bool // it is about a conversation and no part of it, as for a title
	Header   http.Header
	Body     []byte // as it came

	Script string // name of the script that answers; "" for none
	Turn   int    // which of its turns
}

// Message is one entry of a conversation.
type Message struct {
	Role   string // user, assistant, system or developer
	Blocks []Block
}

// Block is a part of a message.
type Block struct {
	Type    string // text, thinking, tool_use or tool_result
	Text    string // of text, thinking and tool_result
	ID      string // of the tool use
	Name    string // of the tool used
	Input   string // its arguments as JSON
	IsError bool   // tool_result; never set by Codex
}

// UserTexts are the texts of users from the newest to the oldest, without the
// reminders that the programs put in.
func (r Request) UserTexts() []string {
	var texts []string
	r.userTexts(func(_ int, text string) bool {
		texts = append(texts, text)
		return true
	})
	return texts
}

// ToolResults are what tools answered, oldest first.
func (r Request) ToolResults() []Block {
	var results []Block
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Type == "tool_result" {
				results = append(results, b)
			}
		}
	}
	return results
}

// Compaction reports whether the program asks for a summary of the conversation.
func (r Request) Compaction() bool {
	texts := r.UserTexts()
	return len(texts) > 0 &&
		(strings.Contains(texts[0], "create a detailed summary") || strings.Contains(texts[0], "CONTEXT CHECKPOINT COMPACTION"))
}

var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)

// mentioned is a file that a prompt of Claude Code attaches.
var mentioned = regexp.MustCompile(`@"([^"]+)"`)

// attached is what Claude Code attached of the files that a user's text names:
// what their reading would have given, in reminders, its lines numbered.
func (r Request) attached(text string) string {
	var content strings.Builder
	for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
		name, _ := json.Marshal(m[1])
		called := false
	find:
		for _, message := range r.Messages {
			for _, b := range message.Blocks {
				switch {
				case b.Type != "text":
				case strings.Contains(b.Text, "Called the Read tool") && strings.Contains(b.Text, string(name)):
					called = true
				case called && strings.Contains(b.Text, "Result of calling the Read tool:"):
					_, lines, _ := strings.Cut(b.Text, "Read tool:\n")
					lines = strings.TrimSuffix(strings.TrimSpace(lines), "</system-reminder>")
					content.WriteString("\n" + lineNumber.ReplaceAllString(lines, ""))
					break find
				}
			}
		}
	}
	return content.String()
}

var lineNumber = regexp.MustCompile(`(?m)^ *\d+\t`)

func (r Request) userTexts(yield func(message int, text string) bool) {
	for i, m := range slices.Backward(r.Messages) {
		if m.Role != "user" {
			continue
		}
		for _, b := range slices.Backward(m.Blocks) {
			if b.Type != "text" {
				continue
			}
			text := strings.TrimSpace(reminder.ReplaceAllString(b.Text, ""))
			if text != "" && !yield(i, text+r.attached(text)) {
				return
			}
		}
	}
}

// choose finds the script that answers and the turn it has come to. The newest
// user text with a marker decides, and in it the script listed first.
func choose(scripts []Script, r Request) (script *Script, turn int) {
	r.userTexts(func(at int, text string) bool {
		for i := range scripts {
			s := &scripts[i]
			if p, marked := marker(text, s); marked {
				script, turn = s, p.turns+assistantTurns(r.Messages[at+1:], p.last)
				return false
			}
		}
		return true
	})
	return script, turn
}

// past is what happened before a compaction. Its marker is
// "#script:NAME@TURNS:LAST".
type past struct {
	turns int    // assistant turns that were summarised
	last  string // digest of the last of them, as the program may keep the newest beside the summary
}

// marker says whether the text marks the script.
func marker(text string, s *Script) (p past, ok bool) {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "#script:"+s.Name)
		if !found {
			return past{}, s.Match != "" && strings.Contains(text, s.Match)
		}
		rest = after
		if m := since.FindStringSubmatch(rest); m != nil {
			n, err := strconv.Atoi(m[1])
			return past{n, m[2]}, err == nil
		}
		if !longer.MatchString(rest) {
			return past{}, true
		}
	}
}

var (
	since  = regexp.MustCompile(`^@(\d+):([0-9a-f]*)`)
	longer = regexp.MustCompile(`^[A-Za-z0-9_-]`) // "#script:auth-2" is no marker of auth
)

// assistantTurns counts those after the one with the digest, or all without it.
func assistantTurns(messages []Message, last string) int {
	n := 0
	for _, m := range messages {
		if m.Role != "assistant" {
			continue
		}
		n++
		if last != "" && digest(m) == last {
			n, last = 0, ""
		}
	}
	return n
}

// digest tells assistant messages apart by what the programs send back unchanged.
func digest(m Message) string {
	h := sha256.New()
	for _, b := range m.Blocks {
		switch b.Type {
		case "text":
			fmt.Fprintf(h, "%q", b.Text)
		case "tool_use":
			fmt.Fprintf(h, "%q", b.ID)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// summary answers a compaction so that the script goes on where it stands.
func summary(script *Script, r Request) Turn {
	text := "Nothing is to be continued."
	if script != nil {
		last := ""
		for _, m := range slices.Backward(r.Messages) {
			if m.Role == "assistant" {
				last = digest(m)
				break
			}
		}
		text = fmt.Sprintf("To be continued: #script:%s@%d:%s", script.Name, r.Turn, last)
	}
	return Turn{Text("<summary>" + text + "</summary>")}
}
