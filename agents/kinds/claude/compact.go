package claude

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"cmux/agents/platform/proc"
	"cmux/signals"
)

// CanCompact implements agent.Compacter: its command is typed.
func (a *instance) CanCompact() bool { return !a.start.Headless }

const (
	compaction  = "/compact"
	compactLook = time.Second // between looks at a program that compacts
	maxIdle     = 10          // looks at an empty prompt without a confirmation before it has come to nothing
)

// Compact implements agent.Compacter. The command goes the way of a message, but no
// hook tells of it as of a prompt: that it begins is what PreCompact tells.
func (a *instance) Compact(ctx context.Context, done <-chan struct{}) error {
	p, err := a.pane()
	if err != nil {
		return err
	}
	file := a.stage.Files.File("compact", ".txt")
	if err := signals.PutFile(file, []byte(compaction), 0o600); err != nil {
		return err
	}
	defer signals.RemoveFile(file)
	before := a.follow.summaries()
	if err := a.typeCommand(ctx, p, file, compaction, a.expectCompact()); err != nil {
		return err
	}
	// A person's Escape breaks it off, and there may be too little to compact: no hook
	// tells of either. The transcript tells of one that was compacted.
	for idle := 0; ; {
		if err := a.wait(ctx, compactLook, done); err != nil || isClosed(done) {
			return err
		}
		s, reachable, err := p.look(ctx)
		switch {
		case err != nil:
			return err
		case !reachable || !s.Prompt || s.Busy:
			idle = 0
		default:
			if idle++; idle == maxIdle {
				if a.follow.summaries() > before {
					return nil // its hook is slow, or lost
				}
				return errors.New("its program stands at its prompt again, and has not confirmed it")
			}
		}
	}
}

// typeCommand types a command, which the program is given once: it is typed again
// only where it was cleared before Enter was pressed.
func (a *instance) typeCommand(ctx context.Context, p *pane, file, command string, begins <-chan struct{}) error {
	own := func(string) bool { return false }
	for range maxPastes {
		if taken, err := a.pasteOnce(ctx, p, file, command, begins, own, true); taken || err != nil {
			return err
		}
		own = func(draft string) bool { return ours(draft, command) }
	}
	return errors.New("its prompt was cleared each time")
}

// expectCompact returns a channel that is closed when a compaction begins.
func (a *instance) expectCompact() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.compacting = make(chan struct{})
	return a.compacting
}

// compactBegins takes in that one does. It is called with the lock held.
func (a *instance) compactBegins() {
	if a.compacting != nil {
		close(a.compacting)
		a.compacting = nil
	}
}

// Windows of models, as the program has them in its own table (2.1.329).
const (
	smallWindow = 200_000
	largeWindow = 1_000_000
)

// small are the families of models whose window is the small one, unless their name
// asks for the large one. Of a name that begins otherwise than "claude-" nothing is
// known.
var small = []string{"claude-3", "claude-haiku-3", "claude-haiku-4", "claude-sonnet-3", "claude-sonnet-4", "claude-opus-3", "claude-opus-4"}

// large are those of them whose window is the large one.
var large = []string{"claude-opus-4-7", "claude-opus-4-8"}

// window is how large the context window is of the model that answered, which was
// asked for by another name perhaps; 0: that is not known. A tag of the name that
// was asked for has the large one, and a variable bounds what the program fills of it.
func window(answered, asked string, env []string) int64 {
	if asked == "" {
		asked = proc.Getenv(env, "ANTHROPIC_MODEL")
	}
	begins := func(with []string) bool {
		for _, w := range with {
			if strings.HasPrefix(answered, w) {
				return true
			}
		}
		return false
	}
	size := int64(0)
	switch {
	case strings.HasSuffix(strings.ToLower(asked), "[1m]"), begins(large):
		size = largeWindow
	case begins(small):
		size = smallWindow
	case strings.HasPrefix(answered, "claude-"):
		size = largeWindow
	default:
		size = number(env, "CLAUDE_CODE_MAX_CONTEXT_TOKENS")
	}
	if bound := number(env, "CLAUDE_CODE_AUTO_COMPACT_WINDOW"); bound > 0 && (size == 0 || bound < size) {
		size = bound
	}
	return size
}

func number(env []string, name string) int64 {
	n, err := strconv.ParseInt(proc.Getenv(env, name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
