package claude

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cmux/agents/attempt"
	"cmux/agents/guard"
	"cmux/agents/proc"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/dag"
)

// Name of the kind, as in `agent:`.
const Name = "claude"

// Kind is Claude Code.
func Kind() attempt.Kind {
	return attempt.Kind{Name: Name, Judge: true, New: func(s *attempt.Stage) (attempt.Agent, error) { return newAgent(s) }}
}

// maxArgument is how long a prompt may be to go by argument; Linux allows
// 128 KB for one.
const maxArgument = 100 << 10

// agent is one Claude Code. The attempt calls it from its own goroutine, but
// Deliver from another; the transcript is followed on a third.
type agent struct {
	stage  *attempt.Stage
	start  start
	prompt string // of the attempt, whole
	path   string // of the program

	ctx    context.Context // over with Interrupt
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	program *attempt.Program
	input   *os.File // headless: its standard input
	follow  *follower

	mu       sync.Mutex
	listener listener
	texts    []string      // handed over as prompts
	expected string        // what Deliver waits to see arrive
	arrived  chan struct{} // closed when it has
	greeted  chan struct{} // closed by the first hook
}

func newAgent(s *attempt.Stage) (*agent, error) {
	path, err := attempt.LookPath("claude", s.Env)
	if err != nil {
		return nil, fmt.Errorf("%w; install Claude Code (npm install -g @anthropic-ai/claude-code) and see cmux doctor", err)
	}
	earlier, err := earlierAttempts(s)
	if err != nil {
		return nil, err
	}
	a := &agent{
		stage: s, path: path, greeted: make(chan struct{}),
		prompt: prompt.Compose(prompt.Input{Node: s.Node, Spec: s.Spec, Base: s.Run.Plan.Base, Earlier: earlier}),
	}
	a.start = start{
		Session: s.Spec.Conversation, Model: s.Node.Model, Bypass: s.Node.AutoAccept,
		Headless: s.Terminal == nil, Review: s.Node.Role == dag.RoleReview,
	}
	// One that never came to its first prompt left nothing to resume.
	if a.start.Resume = a.start.Session != "" && Transcript(s.Env, a.start.Session) != ""; !a.start.Resume {
		a.start.Session = newUUID()
	}
	a.listener = listener{
		policy: policy(s), own: a.isOwn, now: time.Now, subagents: map[string]bool{},
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// earlierAttempts are the attempts of the node before this one.
func earlierAttempts(s *attempt.Stage) ([]run.Attempt, error) {
	if s.Spec.Attempt <= 1 {
		return nil, nil
	}
	r := *s.Run
	if r.Plan.Graph == nil {
		if err := r.LoadGraph(); err != nil {
			return nil, err
		}
	}
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		return nil, err
	}
	i := r.Plan.Graph.Index(s.Spec.Node)
	if i < 0 {
		return nil, nil
	}
	var earlier []run.Attempt
	for _, a := range h.Nodes[i].Attempts {
		if a.N < s.Spec.Attempt {
			earlier = append(earlier, a)
		}
	}
	return earlier, nil
}

// policy is what the node may do.
func policy(s *attempt.Stage) guard.Policy {
	p := guard.Policy{
		Role: s.Node.Role, Root: s.Run.Plan.Root, Tree: s.Spec.Place.Tree,
		Scope: s.Node.Scope, Context: s.Node.Context, Branch: s.Spec.Place.Branch,
		Headless: s.Terminal == nil, Resolve: guard.Follow,
	}
	if g := s.Run.Plan.Graph; g != nil {
		for i := range g.Nodes {
			if n := &g.Nodes[i]; n.HasTree() && n.Name != s.Node.Name {
				base := g.WorktreeBase
				if !filepath.IsAbs(base) {
					base = filepath.Join(p.Root, base)
				}
				p.Peers = append(p.Peers, filepath.Join(base, g.Session+"-"+n.Name))
			}
		}
	}
	return p
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// file is a file of this attempt in the node's folder.
func (a *agent) file(name, ext string) string {
	return filepath.Join(a.stage.Run.NodeDir(a.stage.Node.Name), fmt.Sprintf("%s-%d%s", name, a.stage.Spec.Attempt, ext))
}

func (a *agent) Start(context.Context) error {
	s := a.stage
	promptFile := a.file("prompt", ".md")
	if err := os.WriteFile(promptFile, []byte(a.prompt), 0o600); err != nil {
		return err
	}
	said := a.prompt
	if a.start.Resume {
		said = prompt.Resumed
	}
	a.listener.reminder = prompt.Reminded(a.prompt, promptFile)
	if !a.start.Headless && len(said) > maxArgument {
		said = prompt.ByFile(promptFile)
	}
	a.texts = append(a.texts, said)
	settings, err := composeSettings(s.Run.Binary(), s.Node, promptFile)
	if err != nil {
		return err
	}
	a.start.Settings, a.start.Prompt = a.file("settings", ".json"), said
	if err := os.WriteFile(a.start.Settings, settings, 0o600); err != nil {
		return err
	}
	a.follow = newFollower(a)
	if a.start.Resume {
		a.follow.path, a.follow.spent = Transcript(s.Env, a.start.Session), s.Spec.Counted
		if info, err := os.Stat(a.follow.path); err == nil {
			a.follow.from = info.Size()
		}
	}
	cmd := &exec.Cmd{Path: a.path, Args: append([]string{"claude"}, a.start.args()...), Env: environ(s.Env)}
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
		a.tasks.Go(func() { a.watchFirstRun(a.ctx) })
	}
	return nil
}

// Hook implements attempt.Listener.
func (a *agent) Hook(event string, raw json.RawMessage) ([]attempt.Event, attempt.Reply, error) {
	var p struct {
		Transcript string `json:"transcript_path"`
	}
	if json.Unmarshal(raw, &p) == nil {
		a.follow.at(p.Transcript)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.greeted:
	default:
		close(a.greeted)
	}
	return a.listener.hear(event, raw)
}

// HandBack implements attempt.Listener.
func (a *agent) HandBack(text string) attempt.Reply {
	// The transcript keeps the answers of hooks to itself.
	io.WriteString(a.stage.Out, indent("> ", "  ", printable(text)))
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listener.handBack(text)
}

// Busy implements attempt.Listener.
func (a *agent) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listener.busy
}

// isOwn reports whether a prompt is one that was handed over. It is called with
// the lock held.
func (a *agent) isOwn(prompt string) bool {
	if a.arrived != nil && sameText(prompt, a.expected) {
		close(a.arrived)
		a.arrived = nil
		return true
	}
	for _, t := range a.texts {
		if sameText(prompt, t) {
			return true
		}
	}
	return false
}

// expect returns a channel that is closed when text has arrived as a prompt.
func (a *agent) expect(text string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.texts = append(a.texts, text)
	a.expected, a.arrived = text, make(chan struct{})
	return a.arrived
}

var errEnded = errors.New("Claude Code has ended")

// Deliver hands a message over as a prompt.
func (a *agent) Deliver(ctx context.Context, text string) error {
	text = harmless(text)
	if a.start.Headless {
		return a.write(ctx, text)
	}
	return a.paste(ctx, text)
}

// harmless keeps a message from being taken for anything else: its characters
// for keys, as those that end a paste, its beginning and its end for a command,
// a shell line or a line that goes on.
func harmless(text string) string {
	text = strings.TrimRight(printable(text), " \n\t")
	if strings.HasSuffix(text, `\`) {
		text += " ."
	}
	if text != "" && strings.ContainsRune("!/#", rune(text[0])) {
		text = "Answer: " + text
	}
	return text
}

func (a *agent) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
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

// Used implements attempt.Meter.
func (a *agent) Used() dag.Usage { return a.follow.used }

func (a *agent) Ended() <-chan struct{} { return a.program.Exited() }
func (a *agent) Exit() proc.Exit        { return a.program.Exit() }
