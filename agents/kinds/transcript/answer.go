package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
)

// HoldsAnswer reports whether the Claude Code transcript at path holds an answer
// of the model. Answers of sub-agents and failed calls of the model do not count.
func HoldsAnswer(path string) bool {
	return anyLine(path, []byte(`"assistant"`), func(b []byte) bool {
		var l line
		return json.Unmarshal(b, &l) == nil && l.Type == "assistant" && !l.Sidechain && !l.failed()
	})
}

// HoldsCodexAnswer reports whether the Codex rollout at path holds an answer of the
// model: a message, a call of a tool or its reasoning.
func HoldsCodexAnswer(path string) bool {
	return anyLine(path, []byte(`"response_item"`), func(b []byte) bool {
		var l struct {
			Type    string `json:"type"`
			Payload struct {
				Type string `json:"type"`
				Role string `json:"role"`
			} `json:"payload"`
		}
		if json.Unmarshal(b, &l) != nil || l.Type != "response_item" {
			return false
		}
		if l.Payload.Type == "message" {
			return l.Payload.Role == "assistant"
		}
		return codexAnswers[l.Payload.Type]
	})
}

// codexAnswers are the items beside messages that only the model makes.
var codexAnswers = map[string]bool{"reasoning": true, "function_call": true, "custom_tool_call": true, "local_shell_call": true, "web_search_call": true}

// anyLine reports whether is holds for a line of the file that contains mark. A
// file that cannot be read has no lines, and a line that was cut counts as it is.
func anyLine(path string, mark []byte, is func([]byte) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if bytes.Contains(line, mark) && is(line) {
			return true
		}
		if err != nil {
			return false
		}
	}
}
