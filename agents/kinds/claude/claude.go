package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/handover"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
	"cmux/dag"
	"cmux/signals"
)

// Name of the kind, as in `agent:`.
const Name = "claude"

// Kind is Claude Code.
func Kind() agent.Kind {
	return agent.Kind{
		Name:      Name,
		Judge:     true,
		Home:      agent.HomeIn("CLAUDE_CONFIG_DIR", ".claude"),
		Tool:      toolPrefix + "done",
		New:       func(s *agent.Stage) (agent.Agent, error) { return newAgent(s) },
		Preflight: Preflight, Reopen: Reopen, LastTurn: lastTurn, Ask: Ask,
		Can: agent.Capability{
			Program:    "claude",
			Panes:      "its own terminal program",
			Headless:   "stream-json",
			Guard:      "every tool call, by its hooks",
			ReadOnly:   "write tools, and shell commands that evidently write, are refused",
			Questions:  "in the pane, or with `answer`",
			TakeOver:   "by what is typed, Escape",
			Urgent:     "beside the result of a tool, by a hook",
			Interrupt:  "by Escape in a pane, else by a request",
			Replies:    "when a turn ends; after a loss from its transcript",
			Reports:    "by tool or command",
			Limits:     "yes",
			Resume:     "yes",
			Usage:      "yes",
			Context:    "by its transcript; the window by the model's name",
			Compacts:   agent.CompactsInPane,
			Model:      "yes",
			AutoAccept: "`--dangerously-skip-permissions`",
			Automatic:  "its auto mode: a model decides what is safe",
			Tested:     "with the real program",
		},
	}
}

// instance is one Claude Code. The attempt calls it from its own goroutine, but
// Deliver from another; the transcript is followed on a third.
type instance struct {
	stage *agent.Stage
	start start
	path  string // of the program

	prompt     string // of the attempt, whole
	promptFile string // that holds it
	said       string // what the agent is told first
	mention    string // in a pane: what names the file that holds it

	ctx    context.Context // over with Interrupt
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	program *agent.Program
	input   *os.File // headless: its standard input
	follow  *follower

	mu         sync.Mutex
	listener   listener
	texts      []string      // handed over as prompts
	brokeOff   bool          // its turn was broken off, and no prompt has come since
	putBack    string        // a text that the program put back into its prompt then, and that is to be handed over again
	expected   string        // what Deliver waits to see arrive
	arrived    chan struct{} // closed when it has
	greeted    chan struct{} // closed by the first hook
	asks       chan struct{} // a hook has told of a dialog, or one may open now
	heard      time.Time     // the last hook; zero: none yet
	patience   time.Duration // from then until the screen is worth a look
	silence    *silence
	stopped    bool          // the attempt was told to stop it
	interrupts atomic.Int64  // that were requested
	breaking   bool          // its turn was broken off by cmux, of which the transcript is to tell
	compacting chan struct{} // closed when a compaction begins that is waited for; nil: none is
	lines      []string      // of a person's, which the agent was not yet given to read
}

func newAgent(s *agent.Stage) (*instance, error) {
	path, err := agent.LookPath("claude", s.Env)
	if err != nil {
		return nil, fmt.Errorf("%w; install Claude Code (npm install -g @anthropic-ai/claude-code) and see cmux doctor", err)
	}
	a := &instance{stage: s, path: path, prompt: s.Prompt, promptFile: s.PromptFile, greeted: make(chan struct{}), asks: make(chan struct{}, 1), silence: newSilence(time.Now())}
	a.start = start{
		Session: s.Conversation, Model: s.Model, Bypass: s.AutoAccept, Automatic: s.Automatic,
		Headless: s.Terminal == nil, Review: s.Review, Partial: s.Unfinished != nil,
	}
	// The program refuses a conversation without an answer.
	if a.start.Resume = Resumable(s.Env, a.start.Session); !a.start.Resume {
		a.start.Session = uuid.NewString()
	}
	a.listener = listener{
		policy: s.Policy, own: a.isOwn, now: time.Now, subagents: map[string]bool{},
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

func (a *instance) Start(context.Context) error {
	s := a.stage
	said := a.prompt
	if a.start.Resume {
		said = s.Resumption
	}
	if lines := a.unreadBefore(); len(lines) > 0 {
		said = strings.TrimSpace(said + "\n\n" + handover.Waiting(lines))
	}
	a.said = said
	readable := slices.Concat(s.Readable, libraries(s.Env))
	if !a.start.Headless && said != "" {
		file := a.promptFile
		if said != a.prompt {
			file = a.freshResumption()
			if err := signals.PutFile(file, []byte(said), 0o600); err != nil {
				return err
			}
			readable = append(readable, file)
		}
		// Every user of the machine may read an argument.
		said = handover.Mention(file)
		a.mention = said
	}
	if said != "" {
		a.texts = append(a.texts, said)
	}
	also := ""
	if s.Root != s.Dir {
		also = s.Root
	}
	settings, err := composeSettings(s.Binary, s.Verdict, also, readable...)
	if err != nil {
		return err
	}
	a.start.Settings, a.start.Prompt = s.Files.File("settings", ".json"), said
	if err := signals.PutFile(a.start.Settings, settings, 0o600); err != nil {
		return err
	}
	servers, err := composeServers(s.Binary)
	if err != nil {
		return err
	}
	a.start.Servers = s.Files.File("mcp", ".json")
	if err := signals.PutFile(a.start.Servers, servers, 0o600); err != nil {
		return err
	}
	a.follow = newFollower(a)
	if a.start.Resume {
		a.follow.path, a.follow.spent = Transcript(s.Env, a.start.Session), s.Counted
		if info, err := os.Stat(a.follow.path); err == nil {
			a.follow.from = info.Size()
		}
	}
	cmd := &exec.Cmd{Path: a.path, Args: append([]string{"claude"}, a.start.args()...), Env: environ(s.Env)}
	if s.Confine != nil && trustsProject(s.Env) {
		// In a fence the worktree has a git directory of its own, and the program does not
		// see that it is one of a repository that the person trusts.
		cmd.Env = append(cmd.Env, "CLAUDE_CODE_SANDBOXED=1")
	}
	if a.start.Headless {
		err = a.startHeadless(cmd, said)
	} else {
		a.program, err = s.Foreground(cmd)
	}
	if err != nil {
		return err
	}
	a.tasks.Go(func() { a.follow.run(a.ctx) })
	if !a.start.Headless {
		a.tasks.Go(func() { a.watchDialogs(a.ctx) })
	}
	return nil
}

// Hook implements agent.Listener.
func (a *instance) Hook(hook string, raw json.RawMessage) ([]news.Event, agent.HookReply, error) {
	var p payload
	if json.Unmarshal(raw, &p) == nil {
		a.follow.at(p.Transcript)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.heard.IsZero() {
		close(a.greeted)
	}
	a.heard = time.Now()
	a.silence.hook(p.event(hook), p.ToolID, a.heard)
	if hook == "UserPromptSubmit" || hook == "Stop" {
		a.breaking = false // the turn that it was for has ended by itself
	}
	if hook == "PreCompact" {
		a.compactBegins()
	}
	events, reply, err := a.listener.hear(hook, raw)
	a.patience = patienceAfter(hook, a.listener.unjudged)
	if a.listener.asking != "" || a.patience < longQuiet {
		select {
		case a.asks <- struct{}{}:
		default:
		}
	}
	for _, e := range events {
		took, is := e.(news.TookOver)
		if !is || took.Text == "" {
			continue
		}
		a.lines = append(a.lines, took.Text)
		if err := a.keepTyped(took.Text); err != nil {
			a.stage.Show(event.Event{Kind: event.Note, Text: "what was typed would be lost with the program: " + err.Error()})
		}
	}
	for _, e := range a.listener.facts {
		a.stage.Show(e)
	}
	a.listener.facts = nil
	return events, reply, err
}

// Asks implements agent.Listener.
func (a *instance) Asks(event string) bool { return event == "PermissionRequest" }

// HandBack implements agent.Listener.
func (a *instance) HandBack(text string) agent.HookReply {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listener.handBack(text)
}

// ToldNothing implements agent.Silent.
func (a *instance) ToldNothing() bool { return a.said == "" }

// Guard implements agent.Guarded.
func (a *instance) Guard(p places.Policy) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listener.policy = p
}

// Concludes implements agent.Concluder: the hook after an accepted report
// ends the turn.
func (a *instance) Concludes() {}

// Busy implements agent.Listener.
func (a *instance) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listener.busy
}

// isOwn reports whether a prompt is one that was handed over. It is called with
// the lock held.
func (a *instance) isOwn(prompt string) bool {
	a.brokeOff = false
	if a.arrived != nil && sameText(prompt, a.expected) {
		close(a.arrived)
		a.arrived = nil
		return true
	}
	return a.told(prompt)
}

// expect returns a channel that is closed when text has arrived as a prompt.
func (a *instance) expect(text string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.texts = append(a.texts, text)
	a.expected, a.arrived = text, make(chan struct{})
	return a.arrived
}

var errEnded = errors.New("Claude Code has ended")

// Deliver hands a message over as a prompt.
func (a *instance) Deliver(ctx context.Context, text string) error {
	text = harmless(text)
	if a.start.Headless {
		if err := a.stage.Admit(ctx); err != nil {
			return err
		}
		return a.write(ctx, text)
	}
	return a.paste(ctx, text)
}

// harmless keeps a message from being taken for anything else: its characters
// for keys, as those that end a paste, its beginning and its end for a command,
// a shell line or a line that goes on.
func harmless(text string) string {
	text = strings.TrimRight(event.Printable(text), " \n\t")
	if strings.HasSuffix(text, `\`) {
		text += " ."
	}
	if text != "" && strings.ContainsRune("!/#", rune(text[0])) {
		text = "Answer: " + text
	}
	return text
}

func (a *instance) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	ended, err := a.program.Finish(ctx, grace)
	a.cancel()
	a.tasks.Wait()
	if a.input != nil {
		a.input.Close()
		a.input = nil
	}
	a.follow.close()
	return ended, err
}

// Used implements agent.Meter.
func (a *instance) Used() dag.Usage {
	a.follow.reading.Lock()
	defer a.follow.reading.Unlock()
	a.follow.late = append(a.follow.late, a.follow.take()...)
	return a.follow.used
}

func (a *instance) Ended() <-chan struct{} { return a.program.Exited() }
func (a *instance) Exit() proc.Exit        { return a.program.Exit() }
