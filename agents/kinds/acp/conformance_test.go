package acp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"cmux/agents/kinds/acp"
	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, attempt.Limits{Grace: 5 * time.Second}, acp.Kind(), acp.Qwen(), acp.OpenCode(), acp.Gemini())
}

// subject is a program before a scripted model. What needs leave is a command
// that is granted nowhere. lasting says that it tells of a wrong request as one.
func subject(k agent.Kind, lasting bool, limit mt.Fault) agenttest.Subject {
	return agenttest.Subject{
		Kind: k, Lasting: lasting, Slow: true,
		Play: func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
			return agenttest.NewModel(t, base, play, agenttest.Words{Ask: mt.Shell("touch " + base + "/outside"), Limit: limit, Fail: refused})
		},
		Question: agenttest.Question{Shown: "may it run: touch", Answer: "no, to the left", Told: "no, to the left"},
	}
}

// refused is what a model says to a request that is wrong. What it says when it
// is overloaded, programs try again for minutes.
var refused = mt.Fault{Status: 400, Message: "no such thing"}

func TestQwenCode(t *testing.T) {
	testall.Only(t)
	// It tries seven times to get past a limit, and waits for minutes unless told
	// otherwise.
	agenttest.Run(t, subject(acp.Qwen(), true, mt.Fault{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}}))
}

func TestOpenCode(t *testing.T) {
	testall.Only(t)
	s := subject(acp.OpenCode(), false, mt.RateLimited)
	s.Twin = true // of Qwen Code
	agenttest.Run(t, s)
}

func TestStandingQwenCode(t *testing.T) {
	testall.Only(t)
	agenttest.RunStanding(t, subject(acp.Qwen(), true, mt.Fault{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}}))
}

func TestStandingOpenCode(t *testing.T) {
	testall.Only(t)
	agenttest.RunStanding(t, subject(acp.OpenCode(), false, mt.RateLimited))
}

func TestStandingGeminiCLI(t *testing.T) {
	testall.Only(t)
	agenttest.RunStanding(t, gemini())
}

func TestGeminiCLI(t *testing.T) {
	testall.Only(t)
	agenttest.Run(t, gemini())
}

func gemini() agenttest.Subject {
	s := subject(acp.Gemini(), true, mt.UsageLimit(0))
	s.Later = func(t testing.TB, home string) {
		moved := 0
		err := filepath.WalkDir(filepath.Join(home, ".gemini"), func(path string, _ fs.DirEntry, err error) error {
			if m := sessionFile.FindStringSubmatch(filepath.Base(path)); m != nil {
				moved++
				return os.Rename(path, filepath.Join(filepath.Dir(path), "session-2001-01-01T01-01-"+m[1]))
			}
			return err
		})
		if err != nil || moved == 0 {
			t.Fatalf("%d conversations: %v", moved, err)
		}
	}
	return s
}

// sessionFile is the file of a conversation of Gemini CLI, named by the minute in
// which it began. One that is loaded in that minute is written over.
var sessionFile = regexp.MustCompile(`^session-.*-([0-9a-f]{8}\.jsonl)$`)
