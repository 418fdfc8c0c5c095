// Package scripted is an agent for tests: a shell script that behaves like an AI agent, so
// that tests can produce everything an agent can do without a real one. No released binary
// has it.
//
// The script is the node's task. It is run by sh in the node's directory. What
// is delivered to the agent arrives on its standard input, one line per message
// as a JSON string, or, with Plain, as it is with newlines turned into spaces.
// It speaks as every agent does, through the commands of the binary that is
// first in its PATH:
//
//	cmux done SUMMARY, cmux blocked REASON
//	cmux hook turn-ended | prompt | question | limited | resumed | usage | activity |
//	          shell-began | shell-ended
//
// with the payload of agent.ParseEvent on standard input.
package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
)

// Name of the kind, as in `agent:`.
const Name = "scripted"

// Kind is the scripted agent. Plain delivers lines rather than JSON strings,
// for scripts that use the shell's read alone.
func Kind(plain bool) agent.Kind {
	return agent.Kind{
		Name: Name, Judge: true,
		New:      func(s *agent.Stage) (agent.Agent, error) { return &instance{stage: s, plain: plain}, nil },
		LastTurn: lastTurn,
		Can: agent.Capability{
			Panes:     "what it prints",
			Headless:  "yes",
			Questions: "with `answer`",
			Replies:   "by hook",
			Reports:   "by command",
			Limits:    "by hook",
			Usage:     "by hook",
			Context:   "by hook",
			Compacts:  "by a line `/compact`, confirmed by hook",
		},
	}
}

// ConversationVar names, in the environment of an attempt, the file that the script
// keeps as its conversation: for each thing it was given a line, with the time in
// nanoseconds before it, and for each turn that is over a line "said TEXT". Without it
// what it has read is not known. $CMUX_NODE in it is the agent's name.
const ConversationVar = "SCRIPTED_CONVERSATION"

type instance struct {
	stage   *agent.Stage
	plain   bool
	program *agent.Program
	stdin   *os.File
	wrote   atomic.Bool // what was handed over last; who ends a turn then has it

	stop     context.CancelFunc // reading the conversation
	tasks    sync.WaitGroup
	mu       sync.Mutex
	recalled int // up to there Recall has read the conversation
}

// CanRecall implements agent.Recaller.
func (a *instance) CanRecall() bool { return a.Written() != "" }

// Written implements agent.Recaller.
func (a *instance) Written() string { return conversationOf(a.stage.Env) }

func conversationOf(env []string) string {
	return strings.ReplaceAll(proc.Getenv(env, ConversationVar), "$CMUX_NODE", proc.Getenv(env, "CMUX_NODE"))
}

// Recall implements agent.Recaller. It returns also what follow is about to tell: who asks
// cannot hear that meanwhile.
func (a *instance) Recall() []news.Read {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.given(&a.recalled)
}

// given returns what the script was given since offset, and sets offset after that.
func (a *instance) given(offset *int) (all []news.Read) {
	b, err := os.ReadFile(a.Written())
	if err != nil || len(b) < *offset {
		return nil
	}
	for line := range bytes.Lines(b[*offset:]) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		*offset += len(line)
		at, text, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		n, err := strconv.ParseInt(at, 10, 64)
		if err == nil {
			all = append(all, news.Read{Text: text, At: time.Unix(0, n)})
		}
	}
	return all
}

// lastTurn is Kind.LastTurn.
func lastTurn(env []string, _ string) (given []string, said string, over bool) {
	b, _ := os.ReadFile(conversationOf(env)) // without a file there is no turn
	over = true
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if text, is := strings.CutPrefix(line, "said "); is {
			said, over = text, true
			continue
		}
		if over {
			given = nil
		}
		_, text, _ := strings.Cut(line, " ")
		given, said, over = append(given, text), "", false
	}
	return given, said, over
}

// follow tells what the script has read.
func (a *instance) follow(ctx context.Context) {
	tick, offset := time.NewTicker(10*time.Millisecond), 0
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, r := range a.given(&offset) {
			if a.stage.Tell(ctx, r) != nil {
				return
			}
		}
	}
}

func (a *instance) Start(ctx context.Context) error {
	s := a.stage
	cmd, err := agent.Shell(s.Task, s.Files.File("scripted", ".sh"))
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Stdin = r
	if a.program, err = s.Piped(cmd, s.Out); err != nil {
		w.Close()
		return err
	}
	a.stdin = w
	follow, stop := context.WithCancel(context.Background())
	if a.stop = stop; a.CanRecall() {
		a.tasks.Go(func() { a.follow(follow) })
	}
	switch {
	case s.Again:
		return a.write(ctx, s.Resumption)
	case s.Stays && s.Prompt != "":
		return a.write(ctx, s.Prompt)
	}
	return nil
}

// ToldNothing implements agent.Silent.
func (a *instance) ToldNothing() bool { return a.stage.Stays && a.stage.Prompt == "" }

func (a *instance) Deliver(ctx context.Context, text string) error {
	a.wrote.Store(false)
	if err := a.stage.Admit(ctx); err != nil {
		return err
	}
	if err := a.write(ctx, text); err != nil {
		return err
	}
	a.wrote.Store(true)
	return nil
}

// write fails when the script has ended or, within the context, does not read.
func (a *instance) write(ctx context.Context, text string) error {
	line := strings.ReplaceAll(text, "\n", " ")
	if !a.plain {
		b, err := json.Marshal(text)
		if err != nil {
			return err
		}
		line = string(b)
	}
	defer context.AfterFunc(ctx, func() { a.stdin.SetWriteDeadline(time.Unix(1, 0)) })()
	_, err := fmt.Fprintln(a.stdin, line)
	return err
}

func (a *instance) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	ended, err := a.program.Finish(ctx, grace)
	a.stop()
	a.tasks.Wait()
	a.stdin.Close()
	return ended, err
}

func (a *instance) Ended() <-chan struct{} { return a.program.Exited() }
func (a *instance) Exit() proc.Exit        { return a.program.Exit() }

// Hook implements agent.Hooked: a script that was compacted is told what counts now,
// by what its hook prints.
func (a *instance) Hook(event string, payload json.RawMessage) ([]news.Event, agent.HookReply, error) {
	events, err := agent.ParseEvent(event, payload)
	switch {
	case err != nil:
	case event == "compacted":
		events = append(events, news.Forgot{})
	case event == "turn-ended" && a.wrote.Load():
		for i, e := range events {
			if e, is := e.(news.TurnEnded); is {
				e.InOrder = true
				events[i] = e
			}
		}
	}
	return events, agent.HookReply{}, err
}

// Carry implements agent.Carrier.
func (a *instance) Carry(_, text string) agent.HookReply { return agent.HookReply{Stdout: text} }

// CanCompact implements agent.Compacter.
func (a *instance) CanCompact() bool { return true }

// Compact implements agent.Compacter.
func (a *instance) Compact(ctx context.Context, done <-chan struct{}) error {
	if err := a.Deliver(ctx, "/compact"); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-a.Ended():
		return errors.New("its program has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}
