package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
	"cmux/agents/records/unfinished"
	"cmux/dag"
)

// Stage is everything an agent's program starts with, and where its output
// goes. Whoever starts agents fills it in; a kind changes nothing in it.
type Stage struct {
	Name string   // of the agent, as a person calls it: in a run the node's
	Kind string   // as in `agent:`
	Dir  string   // where it works
	Root string   // of the worktree or project that Dir lies in; Dir itself, if a node names no folder
	Tree string   // its own worktree; empty: none
	Env  []string // of the program, complete

	Task       string   // as it was written down
	Prompt     string   // made of it; empty for kinds that read none
	PromptFile string   // that holds Prompt
	Readable   []string // files outside Dir that it may read: what Prompt names, and PromptFile; a name that ends in / is a folder
	Resumption string   // what it is told when it goes on in Conversation
	Stays      bool     // it is a standing agent: Prompt says who it is, and Resumption may be empty
	Again      bool     // it goes on after an end, as Resumption says, which it is told as well where Conversation is gone

	Conversation string    // to go on in; empty: a new one
	Counted      dag.Usage // of Conversation, by whoever was there before

	Command    []string // of the program, for a kind that leaves it to its nodes
	Model      string   // empty: the program's own choice
	AutoAccept bool
	Automatic  bool          // its program decides what is safe, in its own way
	Review     bool          // it may read alone
	Verdict    time.Duration // how long the checks of a turn may take at most
	Policy     places.Policy

	Binary   string // cmux itself, for hooks and tools
	Files    Files
	Terminal *Terminal // nil: headless
	Out      io.Writer // the log and whoever watches

	// Tell passes events that the agent learned other than by a hook to its attempt.
	// Without events it is a sign of life. It returns when they have been processed, or
	// when ctx ends. Any goroutine may call it except that of Hook.
	Tell func(ctx context.Context, events ...news.Event) error
	// MayType reports the screen, and asks whether a key may be pressed there for the
	// current delivery. A kind calls it within Deliver before each key, then looks at the
	// screen once more and calls it again after a change. Only Deliver may call it.
	MayType func(context.Context, news.Screen) (bool, error)

	Events *event.Log // nil: what happens is not kept
	// Unfinished is told the pieces of a text, where the program tells them, until the event
	// with the whole text is kept; nil: nobody sees them.
	Unfinished *unfinished.Text
	Lines      *event.Printer
	Spawner    *proc.Spawner
	Confine    func(*exec.Cmd) error // puts up the fence around what is started; nil: there is none
	Steps      func(*exec.Cmd) error // the same for checks and on_complete, which may write outside of the scope
	Ours       func(*exec.Cmd) error // the same for programs that cmux chooses: they find what is hidden, such as a keyring
	Mark       proc.Mark             // of its processes
	Drain      time.Duration         // wait for output held open by an unproven process
}

// Files is where an agent's program keeps files of its own. Every start has
// its own names there.
type Files struct {
	Dir string
	N   int // counts the starts, from 1
}

// File is a file of this start.
func (f Files) File(name, ext string) string { return f.At(f.N, name, ext) }

// At is the file of the n-th start.
func (f Files) At(n int, name, ext string) string {
	return filepath.Join(f.Dir, fmt.Sprintf("%s-%d%s", name, n, ext))
}

// Admit asks MayType for a program that is told things by other ways than keys:
// what its screen shows is in nobody's way.
func (s *Stage) Admit(ctx context.Context) error {
	may, err := s.MayType(ctx, news.EmptyPrompt{})
	if err == nil && !may {
		err = errors.New("a person is at work in it, or it has ended")
	}
	return err
}

// Show tells of something that happened: in the agent's events, and as lines in
// the log and the pane. It may be called from any goroutine.
func (s *Stage) Show(e event.Event) {
	s.Keep(e)
	if lines := s.Lines.Lines(e); lines != "" {
		io.WriteString(s.Out, lines)
	}
}

// Keep appends e to the agent's events, but not to the log and the pane. It is for events
// that those two show in another way.
func (s *Stage) Keep(e event.Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	s.Events.Append(e)
	if e.Kind == event.Text {
		s.Unfinished.Finished(e.Text, e.At)
	}
}
