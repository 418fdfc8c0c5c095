package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
)

// endGrace is how long a program that is no longer wanted may take to end.
const endGrace = time.Second

// mostPrinted bounds what is read of a program's answer, in bytes.
const mostPrinted = 4 << 20

// Ask asks the program a single question: without tools, settings, servers and the person's
// skills, in an empty folder, and without a conversation that stays.
func Ask(ctx context.Context, q agent.Question) (a *agent.Answer, err error) {
	path, err := agent.LookPath(Name, q.Env)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "cmux-ask-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	spawner, err := proc.NewSpawner()
	if err != nil {
		return nil, err
	}
	defer spawner.Close()
	mark := proc.Mark(agent.QuestionVar + "=" + dir)
	args := []string{Name, "-p", "--output-format", "json", "--json-schema", string(q.Schema), "--tools", "", "--setting-sources", "",
		"--strict-mcp-config", "--no-session-persistence", "--disable-slash-commands", "--system-prompt", q.Rules}
	if q.Model != "" {
		args = append(args, "--model", q.Model)
	}
	var out, errs beginning
	cmd := &exec.Cmd{Path: path, Args: args, Dir: dir, Env: append(environ(q.Env), string(mark)), Stdin: strings.NewReader(q.Text), Stdout: &out, Stderr: &errs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, WaitDelay: endGrace} // what it starts may hold the output open
	p, err := spawner.Start(cmd, mark, nil)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", Name, err)
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
	}
	ending := context.WithoutCancel(ctx)
	if _, err := p.End(ending, endGrace); err != nil {
		return nil, err
	}
	<-p.Exited()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s has not answered in time: %w", Name, ctx.Err())
	}
	return answerOf(out.text, p.Exit(), errs.text)
}

// answerOf reads what the program has printed.
func answerOf(out []byte, exit proc.Exit, errs []byte) (*agent.Answer, error) {
	var r struct {
		IsError    bool            `json:"is_error"`
		Result     string          `json:"result"`
		Structured json.RawMessage `json:"structured_output"`
		Usage      struct {
			Input    int64 `json:"input_tokens"`
			Output   int64 `json:"output_tokens"`
			Creation int64 `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	}
	err := json.Unmarshal(bytes.TrimSpace(out), &r)
	switch {
	case err != nil && exit.Code != 0:
		return nil, fmt.Errorf("%s ended with %s: %s", Name, exit, firstLine(strings.TrimSpace(string(errs))))
	case err != nil:
		return nil, fmt.Errorf("%s printed no result: %w", Name, err)
	case r.IsError || exit.Code != 0:
		return nil, fmt.Errorf("%s ended with %s: %s", Name, exit, firstLine(r.Result))
	}
	a := &agent.Answer{Tokens: r.Usage.Input + r.Usage.Output + r.Usage.Creation}
	if len(r.Structured) == 0 || bytes.Equal(r.Structured, []byte("null")) {
		return a, agent.ErrForm
	}
	a.JSON = r.Structured
	return a, nil
}

// beginning keeps the beginning of what is written to it.
type beginning struct{ text []byte }

func (t *beginning) Write(p []byte) (int, error) {
	t.text = append(t.text, p[:min(len(p), mostPrinted-len(t.text))]...)
	return len(p), nil
}
