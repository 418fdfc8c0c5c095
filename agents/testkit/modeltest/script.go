package modeltest

import (
	"fmt"
	"os"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Script is what the model says in every conversation whose newest marked user
// text contains Match. Turn i answers a request that holds i assistant turns
// since that text.
type Script struct {
	Name  string
	Match string // default "#script:NAME"
	Turns []Turn

	// Compact answers a request to summarise the conversation. By default the
	// summary makes the script go on at the turn it had come to.
	Compact Turn

	// Judges has the server judge each tool call harmless when Claude Code, in its
	// auto mode, asks it to. Without it the program cannot decide by itself.
	Judges bool
}

// Turn is one answer of the model, streamed step by step. One that uses a tool
// ends with the stop reason for that, another with the one for an end.
type Turn []Step

// Step is a part of an answer: Text, Halved, Thinking, ToolUse, Shell, Usage, Hold,
// Fault, StopReason or Func.
type Step interface{ step() }

type (
	// Text is said to the user.
	Text string
	// Thinking precedes the answer (Codex: a reasoning summary).
	Thinking string
	// Shell runs a command line with the program's own shell tool: Bash of
	// Claude Code, exec_command of Codex.
	Shell string
	// Hold keeps the stream open at this point until Server.Release of the gate
	// of that name, or the program's going. As the first step it holds back the
	// response headers too.
	Hold string
	// StopReason replaces the stop reason, as in "max_tokens".
	StopReason string
	// Func makes the steps that stand in its place.
	Func func(Request) Turn
)

// Halved is one text that keeps its stream open at a gate, as Hold does, when half of it
// was sent.
type Halved struct {
	Text string `yaml:"text"`
	Hold string `yaml:"hold"`
}

// ToolUse calls a tool; Input is marshalled as JSON.
type ToolUse struct {
	Name  string `yaml:"name"`
	Input any    `yaml:"input"`
}

// Usage is what the answer says it used, in tokens. Input counts neither of the
// cached. Without this step an answer used 100 in and 20 out.
type Usage struct {
	Input         int `yaml:"input"`
	Output        int `yaml:"output"`
	CacheRead     int `yaml:"cache_read"`
	CacheCreation int `yaml:"cache_creation"`
}

// Fault ends the answer. Before anything was sent it is an HTTP answer with the
// status; after that, an error within the stream. The zero Status cuts the
// connection.
type Fault struct {
	Status  int               `yaml:"status"`
	Type    string            `yaml:"type"`    // default: the status's own
	Message string            `yaml:"message"` // default: the status's own
	Header  map[string]string `yaml:"header"`

	// RetryAfter is sent as the header of that name, in whole seconds rounded up.
	RetryAfter time.Duration `yaml:"retry_after"`
	// Limit makes a 429 a usage limit of that name ("five_hour", "seven_day"),
	// in the protocol's own words, which is lifted after Reset when that is set.
	Limit string        `yaml:"limit"`
	Reset time.Duration `yaml:"reset"`

	// Times bounds how often a conversation meets the fault at this turn; after
	// that the step is passed over. 0: always.
	Times int `yaml:"times"`
}

func (Text) step()       {}
func (Halved) step()     {}
func (Thinking) step()   {}
func (Shell) step()      {}
func (Hold) step()       {}
func (StopReason) step() {}
func (Func) step()       {}
func (ToolUse) step()    {}
func (Usage) step()      {}
func (Fault) step()      {}

// Report runs cmux done with the summary.
func Report(summary string) Shell { return Shell("cmux done -- " + quote(summary)) }

// Blocked runs cmux blocked with the reason.
func Blocked(reason string) Shell { return Shell("cmux blocked -- " + quote(reason)) }

// quote makes one word of the shell's of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// The faults that are met most.
var (
	// Cut closes the connection, in the middle of the stream when something
	// was sent.
	Cut = Fault{}
	// RateLimited states no time.
	RateLimited  = Fault{Status: 429}
	ServerError  = Fault{Status: 500}
	Overloaded   = Fault{Status: 529}
	Unauthorized = Fault{Status: 401}
	// PromptTooLong is what a full context window brings.
	PromptTooLong = Fault{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}
)

// UsageLimit is a limit that is lifted after d; 0 does not say when.
func UsageLimit(d time.Duration) Fault { return Fault{Status: 429, Limit: "five_hour", Reset: d} }

// Load reads scripts from a YAML or JSON file:
//
//	scripts:
//	  - name: auth
//	    match: JWT                # default "#script:auth"
//	    judges: true              # Claude Code's auto mode needs it
//	    turns:
//	      - - thinking: a file is missing
//	        - tool: {name: Write, input: {file_path: a.txt, content: hello}}
//	      - - shell: git add -A && git commit -m auth
//	      - - fault: {status: 529, times: 2}
//	        - usage: {input: 1000, output: 50, cache_read: 900}
//	        - hold: gate
//	        - halved: {text: first and then the rest, hold: gate}
//	        - report: added a.txt
//	      - - text: finished
//	        - stop: end_turn
//
// A step has exactly one key: text, halved, thinking, shell, report, blocked, hold,
// stop, tool, usage or fault. Durations are written as in Go ("90s").
func Load(name string) ([]Script, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, src)
}

// Parse is Load for contents; name stands in errors.
func Parse(name string, src []byte) ([]Script, error) {
	var file struct {
		Scripts []struct {
			Name    string       `yaml:"name"`
			Match   string       `yaml:"match"`
			Turns   [][]stepNode `yaml:"turns"`
			Compact []stepNode   `yaml:"compact"`
			Judges  bool         `yaml:"judges"`
		} `yaml:"scripts"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(src)))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var scripts []Script
	for i, f := range file.Scripts {
		if f.Name == "" {
			return nil, fmt.Errorf("%s: script %d has no name", name, i+1)
		}
		s := Script{Name: f.Name, Match: f.Match, Compact: steps(f.Compact), Judges: f.Judges}
		for _, turn := range f.Turns {
			s.Turns = append(s.Turns, steps(turn))
		}
		scripts = append(scripts, s)
	}
	if len(scripts) == 0 {
		return nil, fmt.Errorf("%s: no scripts", name)
	}
	return scripts, nil
}

type stepNode struct{ step Step }

func steps(nodes []stepNode) Turn {
	var t Turn
	for _, n := range nodes {
		t = append(t, n.step)
	}
	return t
}

func (s *stepNode) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		return fmt.Errorf("line %d: a step has one key, as in text: hello", n.Line)
	}
	key, value := n.Content[0].Value, n.Content[1]
	if value.Kind == yaml.ScalarNode {
		v := value.Value
		switch key {
		case "text":
			s.step = Text(v)
		case "thinking":
			s.step = Thinking(v)
		case "shell":
			s.step = Shell(v)
		case "report":
			s.step = Report(v)
		case "blocked":
			s.step = Blocked(v)
		case "hold":
			s.step = Hold(v)
		case "stop":
			s.step = StopReason(v)
		}
	} else {
		var err error
		switch key {
		case "halved":
			s.step, err = into[Halved](value)
		case "tool":
			s.step, err = into[ToolUse](value)
		case "usage":
			s.step, err = into[Usage](value)
		case "fault":
			s.step, err = into[Fault](value)
		}
		if err != nil {
			return err
		}
	}
	if s.step == nil {
		return fmt.Errorf("line %d: no step is written %q with such a value", n.Line, key)
	}
	return nil
}

// into decodes strictly: Node.Decode would pass over unknown keys.
func into[T any](n *yaml.Node) (T, error) {
	var v T
	b, err := yaml.Marshal(n)
	if err != nil {
		return v, err
	}
	d := yaml.NewDecoder(strings.NewReader(string(b)))
	d.KnownFields(true)
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("line %d: %w", n.Line, err)
	}
	return v, nil
}
