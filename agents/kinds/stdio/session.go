package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
	"cmux/signals"
)

// Options say what program a Session runs.
type Options struct {
	Path    string   // of the program
	Args    []string // after its name
	Env     []string // beside the stage's
	Version string   // value of "jsonrpc" in messages; empty: it is left out

	// Handle takes the program's requests and notifications, in order and never
	// two at once. It must not wait for an answer of the program's.
	Handle func(Message)
	// Typed takes what a person typed in the pane and no question waited for.
	Typed func(ctx context.Context, line string)
	// Break is a person's ^C in the pane.
	Break func(ctx context.Context)
}

// Session is one running program.
type Session struct {
	*Conn
	Stage   *agent.Stage
	Ctx     context.Context // over with Finish; for what belongs to the program
	options Options
	program *agent.Program
	stderr  *os.File

	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	console func() // stops reading the pane

	tell    sync.Mutex
	told    []news.Event
	hearing []chan struct{} // closed when what was told until then has been taken in
	news    chan struct{}
	sign    time.Time // when the attempt was last told of a sign of life
	ask     sync.Mutex
	asked   []*Question
	shown   *Question // the newest that was put to a person
	leaving sync.Once
	left    chan struct{} // closed by Leave
}

// New prepares a session; nothing runs yet.
func New(s *agent.Stage, o Options) *Session {
	ctx, cancel := context.WithCancel(context.Background())
	return &Session{
		Conn:  &Conn{version: o.Version},
		Stage: s, Ctx: ctx, cancel: cancel, options: o, news: make(chan struct{}, 1), left: make(chan struct{}),
	}
}

// Start starts the program. What it prints on standard error is kept in a file
// of its own, as it would tear the messages apart.
func (s *Session) Start() (err error) {
	in, input, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	s.stderr, err = signals.OpenFile(s.Stage.Files.File("stderr", ".log"), os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return errors.Join(err, input.Close())
	}
	ended := make(chan struct{})
	s.Conn.input, s.Conn.ended = input, ended
	s.Conn.handle = func(m Message) { s.alive(); s.options.Handle(m) }
	s.Conn.stray = func(line string) { fmt.Fprintf(s.Stage.Out, "%s\n", event.Printable(line)) }
	name := filepath.Base(s.options.Path)
	cmd := &exec.Cmd{Path: s.options.Path, Args: append([]string{name}, s.options.Args...), Stdin: in, Stderr: s.stderr,
		Env: append(s.Stage.Env[:len(s.Stage.Env):len(s.Stage.Env)], s.options.Env...)}
	if s.program, err = s.Stage.Piped(cmd, s.Conn); err != nil {
		return errors.Join(err, input.Close(), s.stderr.Close())
	}
	s.tasks.Go(func() { <-s.program.Exited(); close(ended) })
	s.tasks.Go(s.deliverNews)
	if t := s.Stage.Terminal; t != nil {
		s.console = watchConsole(s.Ctx, t.In, s.typed, s.options.Break, s.Leave)
	}
	return nil
}

// Go runs f until the program is finished with; f must heed its context.
func (s *Session) Go(f func(context.Context)) { s.tasks.Go(func() { f(s.Ctx) }) }

// Tell tells the attempt, in order, without waiting for it to listen; without
// events that it lives.
func (s *Session) Tell(events ...news.Event) {
	select {
	case <-s.left:
		return
	default:
	}
	s.tell.Lock()
	s.told = append(s.told, events...)
	s.tell.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *Session) deliverNews() {
	for {
		select {
		case <-s.news:
		case <-s.Ctx.Done():
			return
		}
		s.tell.Lock()
		events, heard := s.told, s.hearing
		s.told, s.hearing = nil, nil
		s.tell.Unlock()
		if s.Stage.Tell(s.Ctx, events...) != nil {
			return
		}
		for _, c := range heard {
			close(c)
		}
	}
}

// heard waits until what was told so far has been taken in, or the context ends.
func (s *Session) heard(ctx context.Context) {
	c := make(chan struct{})
	s.tell.Lock()
	s.hearing = append(s.hearing, c)
	s.tell.Unlock()
	s.Tell()
	select {
	case <-c:
	case <-s.left: // it means nothing any more
	case <-s.Ctx.Done():
	case <-ctx.Done():
	}
}

// alive tells of a message as a sign of life, once a second at most.
func (s *Session) alive() {
	if now := time.Now(); now.Sub(s.sign) >= time.Second {
		s.sign = now
		s.Tell()
	}
}

// Note tells of something in the kind's own words.
func (s *Session) Note(format string, args ...any) {
	s.Stage.Show(event.Event{Kind: event.Note, Text: s.Stage.Kind + ": " + fmt.Sprintf(format, args...)})
}

// Leave closes the program's input, which ends it in order. What it still says
// is shown and means nothing any more.
func (s *Session) Leave() {
	s.leaving.Do(func() {
		close(s.left)
		s.Conn.input.Close()
	})
}

// Left waits for the end of a program whose input is closed, to which nothing
// can be said any more; of any other it returns false at once.
func (s *Session) Left(ctx context.Context) bool {
	select {
	case <-s.left:
	default:
		return false
	}
	select {
	case <-s.Ended():
	case <-ctx.Done():
	}
	return true
}

// Finish ends the program and all that came of it, TERM before KILL after the
// grace, and returns what it ended beside the program.
func (s *Session) Finish(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	byItself := false
	select {
	case <-s.program.Exited():
		byItself = true
	default:
	}
	if s.console != nil {
		s.console()
		s.console = nil
	}
	s.cancel()
	s.Leave()
	ended, err := s.program.Finish(ctx, grace)
	s.tasks.Wait()
	if s.stderr != nil {
		if byItself && s.program.Exit().Code != 0 {
			if said := s.LastWords(s.Ctx); said != "" {
				io.WriteString(s.Stage.Out, event.Indented("! ", "  ", said))
			}
		}
		s.stderr.Close()
		s.stderr = nil
	}
	return ended, err
}

// LastWords implements agent.Speaker: standard error has a file of its own.
func (s *Session) LastWords(context.Context) string {
	const most = 2 << 10
	if s.stderr == nil {
		return ""
	}
	info, err := s.stderr.Stat()
	if err != nil || info.Size() == 0 {
		return ""
	}
	b := make([]byte, min(most, info.Size()))
	if _, err := s.stderr.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return ""
	}
	return strings.TrimSpace(event.Printable(strings.ToValidUTF8(string(b), "")))
}

func (s *Session) Ended() <-chan struct{} { return s.program.Exited() }
func (s *Session) Exit() proc.Exit        { return s.program.Exit() }
