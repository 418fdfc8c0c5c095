package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
)

// Driver is what a kind knows of its program's protocol.
type Driver interface {
	// Enter starts the conversation, or resumes the stage's. resumed: the agent already has
	// its task.
	Enter(ctx context.Context) (conversation string, resumed bool, err error)
	// Steer gives a text to the turn that runs. Not taken: it has ended meanwhile,
	// or takes none.
	Steer(ctx context.Context, text string) (taken bool, err error)
	// Steers reports whether a turn can be given a text.
	Steers() bool
	// Prompt gives a text in a turn of its own, and returns when it was taken up.
	Prompt(ctx context.Context, text string) error
	// Cancel asks the program to break the turn off that runs.
	Cancel(ctx context.Context) error
	// Handle is as in Options.
	Handle(Message)
}

// Agent is a Session whose program works on prompts, in turns. It is an
// agent.Agent in all but what its Driver knows.
type Agent struct {
	*Session
	driver Driver
	prompt string // the first

	opening sync.Mutex // held while the conversation is begun
	entered bool
	resumed bool

	mu       sync.Mutex
	came     bool // the program has the conversation
	begun    bool // the first prompt was taken
	stopping bool
	breaking bool  // the turn that runs is broken off by cmux, so its end means nothing
	turn     *Turn // that runs; nil: none
	asked    *Turn // the newest of RunTurn: its end may not have been told yet; nil: none
}

// Turn is a prompt that is being worked on.
type Turn struct {
	begun chan struct{} // closed when the program has taken it up
	over  chan struct{} // closed when it has ended
	told  chan struct{} // closed when that has been told; of RunTurn alone
	once  sync.Once
	err   error // how the call ended that it was, once over
}

// ToldNothing implements agent.Silent: the conversation begins, and a message is its first
// prompt.
func (a *Agent) ToldNothing() bool {
	return a.Stage.Stays && a.prompt == "" && a.Stage.Resumption == ""
}

// NewAgent prepares an agent that is given prompt first. Of the options Handle,
// Typed and Break are its own.
func NewAgent(s *agent.Stage, d Driver, prompt string, o Options) *Agent {
	a := &Agent{driver: d, prompt: prompt}
	o.Handle, o.Typed, o.Break = d.Handle, a.typed, a.broke
	a.Session = New(s, o)
	return a
}

// Start starts the program. The conversation begins beside it, so that the
// attempt can be stopped meanwhile.
func (a *Agent) Start(context.Context) error {
	if err := a.Session.Start(); err != nil {
		return err
	}
	a.Go(func(ctx context.Context) {
		err := a.open(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrEnded) {
			return
		}
		a.Note("the conversation did not begin: %v", err)
		a.Tell(news.Asked{Question: question.New(fmt.Sprintf("%s did not begin: %v (an answer makes it try again)", a.Stage.Kind, err))})
	})
	return nil
}

// open starts or resumes the conversation and sends its prompt.
func (a *Agent) open(ctx context.Context) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if !a.entered {
		id, resumed, err := a.driver.Enter(ctx)
		if err != nil {
			return err
		}
		a.entered, a.resumed = true, resumed
		a.mu.Lock()
		a.came = true
		a.mu.Unlock()
		a.Tell(news.Converses{ID: id})
	}
	text := a.prompt
	if a.resumed {
		text = a.Stage.Resumption
	}
	switch {
	case text != "":
		if err := a.say(ctx, text); err != nil {
			return err
		}
	case !a.ToldNothing(): // it goes on in its conversation, at rest
		a.Tell(news.TurnEnded{InOrder: true})
	}
	a.mu.Lock()
	a.begun = true
	a.mu.Unlock()
	return nil
}

// say gives the agent a prompt: to the turn that runs, else in a turn of its own.
func (a *Agent) say(ctx context.Context, text string) error {
	a.mu.Lock()
	running := a.turn != nil
	a.mu.Unlock()
	if running {
		if taken, err := a.driver.Steer(ctx, text); taken || err != nil {
			return err
		}
	}
	return a.driver.Prompt(ctx, text)
}

// Deliver hands a message over: as the answer to the question that is open,
// else as a prompt.
func (a *Agent) Deliver(ctx context.Context, text string) error {
	if a.Left(ctx) {
		return ErrEnded
	}
	if err := a.Stage.Admit(ctx); err != nil {
		return err
	}
	if was, err := a.Resolve(ctx, text); was {
		return err
	}
	begun := a.Begun()
	if !begun {
		if err := a.open(ctx); err != nil {
			return err
		}
	}
	if begun || a.ToldNothing() {
		if err := a.say(ctx, text); err != nil {
			return err
		}
	}
	// The end of the previous turn must not end the new one: wait until it has been
	// processed. The message was sent, however the wait ends.
	a.heard(ctx)
	return nil
}

// Refused implements agent.Refuser.
func (a *Agent) Refused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Stage.Conversation != "" && !a.came
}

// Begun reports whether the agent has taken its first prompt.
func (a *Agent) Begun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun
}

// Interrupt implements agent.Agent.
func (a *Agent) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	a.mu.Lock()
	a.stopping = true
	a.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, grace/2)
	a.cancelTurn(short)
	cancel()
	return a.Finish(ctx, grace)
}

// InTurn implements agent.Turner.
func (a *Agent) InTurn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn != nil
}

// Steers implements agent.Turner.
func (a *Agent) Steers() bool { return a.driver.Steers() }

// CanBreakOff implements agent.Breaker.
func (a *Agent) CanBreakOff() bool { return true }

// breaksWithin bounds the wait for a turn to end that was broken off.
const breaksWithin = 10 * time.Second

// BreakOff implements agent.Breaker.
func (a *Agent) BreakOff(ctx context.Context) error {
	if err := a.Stage.Admit(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	a.breaking = a.turn != nil
	a.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, breaksWithin)
	defer cancel()
	a.cancelTurn(short)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.breaking = false
	if a.turn != nil && ctx.Err() == nil {
		return errors.New("its turn could not be broken off")
	}
	return ctx.Err()
}

// cancelTurn breaks the turn off that runs and waits for its end, so that the
// program has written down what it did.
func (a *Agent) cancelTurn(ctx context.Context) {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if t == nil || a.driver.Cancel(ctx) != nil {
		return
	}
	select {
	case <-t.over:
	case <-a.Ended():
	case <-ctx.Done():
	}
}

// typed takes a person's prompt.
func (a *Agent) typed(ctx context.Context, line string) {
	a.Tell(news.TookOver{})
	err := errors.New("the conversation has not begun")
	if a.Begun() {
		err = a.say(ctx, line)
	}
	if err != nil {
		a.Note("the line did not arrive: %v", err)
	}
}

// broke is a person's ^C.
func (a *Agent) broke(ctx context.Context) {
	a.Tell(news.TookOver{})
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	a.cancelTurn(ctx)
}

// TurnBegan says that the program has begun a turn by itself: one that is no
// call of RunTurn.
func (a *Agent) TurnBegan() {
	a.mu.Lock()
	if a.turn == nil {
		a.turn = newTurn()
	}
	a.mu.Unlock()
	a.TurnTaken()
}

// TurnTaken says that the program has taken up the turn that runs.
func (a *Agent) TurnTaken() {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	a.Tell(news.WentOn{}) // before whoever waits for it goes on
	if t != nil {
		t.once.Do(func() { close(t.begun) })
	}
}

// ended reports whether the end of a turn of RunTurn has been told.
func (t *Turn) ended() bool {
	select {
	case <-t.told:
		return true
	default:
		return false
	}
}

func newTurn() *Turn {
	return &Turn{begun: make(chan struct{}), over: make(chan struct{}), told: make(chan struct{})}
}

// TurnOver says that the turn that ran has ended, and that its questions need no
// answer. It reports whether there was one whose end means something: none does
// once the agent is being ended, nor where cmux broke it off to say something else.
func (a *Agent) TurnOver() bool {
	a.mu.Lock()
	t, stopping := a.turn, a.stopping || a.breaking
	a.turn, a.breaking = nil, false
	a.mu.Unlock()
	if t == nil {
		return false
	}
	close(t.over)
	a.Withdraw("")
	return !stopping
}

// TurnFailed tells of a turn that did not end by itself, and reports whether it
// is one: means says what a refusal of the program's means. What else ends a
// turn is the end of the program.
func (a *Agent) TurnFailed(err error, means func(*Error) news.Event) bool {
	if r := Refused(err); r != nil {
		a.TellFailure(means(r))
	}
	return err != nil
}

// TellFailure tells of the failed call of the model that ended a turn.
func (a *Agent) TellFailure(e news.Event) {
	said := ""
	switch e := e.(type) {
	case news.LimitMet:
		said = e.Text
	case news.Faltered:
		said = e.Text
	}
	a.Stage.Show(event.Event{Kind: event.RequestFailed, Text: said})
	a.Tell(e)
}

// Resting reports whether the agent has ended its turn and is not being ended.
func (a *Agent) Resting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun && a.turn == nil && !a.stopping
}

// RunTurn makes a turn of a call that the program answers at the end of the turn. It first
// waits for the running turn and the processing of its end. sent, if not nil, is called
// when the program has got the call. RunTurn returns when TurnTaken was called, or without
// an error if ctx has ended by then: the program has the text in any case. over is called
// with the answer, and calls TurnOver.
func (a *Agent) RunTurn(ctx context.Context, method string, params any, sent func(), over func(result json.RawMessage, err error)) error {
	t := newTurn()
	for {
		a.mu.Lock()
		before := a.asked
		free := before == nil || before.ended()
		if free {
			a.turn, a.asked = t, t
		}
		a.mu.Unlock()
		if free {
			break
		}
		select {
		case <-before.told:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p, err := a.Conn.Ask(ctx, method, params)
	if err != nil {
		a.mu.Lock()
		a.turn = nil
		a.mu.Unlock()
		close(t.over)
		close(t.told)
		return err
	}
	if sent != nil {
		sent()
	}
	a.Go(func(ctx context.Context) {
		var result json.RawMessage
		t.err = p.Wait(ctx, &result)
		over(result, t.err)
		close(t.told)
	})
	select {
	case <-t.begun:
		return nil
	case <-t.over:
		if Refused(t.err) != nil {
			return nil // the attempt is told what that means
		}
		return t.err
	case <-ctx.Done():
		return nil
	}
}
