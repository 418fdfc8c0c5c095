package rooms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/org/standing"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/room/marks"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree/hint"
)

// Say is something to say in a room.
type Say struct {
	Text      string `json:"text"`
	To        string `json:"to,omitempty"` // of a direct message
	Re        int64  `json:"re,omitempty"` // the message that it answers
	Key       string `json:"key,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"` // break off the turns of those whom it wakes
	Resume    bool   `json:"resume,omitempty"`    // a paused room
	NoStart   bool   `json:"-"`                   // leave it to who starts the monitor

	Files  []string `json:"files,omitempty"` // that were uploaded: each as Upload calls it
	Attach []string `json:"-"`               // paths of files to attach
}

// Said is the result.
type Said struct {
	Room    string   `json:"room"`
	Message int64    `json:"message"`
	Wakes   []string `json:"wakes"`
	Note    string   `json:"note"` // why nobody answers; empty: somebody does
}

// author is who speaks: the person, or the agent that calls, by its name in the room.
func (p *Rooms) author(name string, lines []room.Line) (string, error) {
	from, err := p.Origin()
	if err != nil {
		return "", err
	}
	if from == nil {
		return room.User, nil
	}
	address, _, err := p.Sender()
	if err != nil {
		return "", err
	}
	s := room.Fold(name, lines)
	for i := range s.Members {
		m := &s.Members[i]
		switch {
		case m.Gone || address.Kind != mailbox.Agent:
		case m.Guest && m.Agent == address.Name:
			return m.Name, nil
		case !m.Guest && standing.MemberName(name, m.Name) == address.Name:
			return "", fmt.Errorf("%s speaks by the answers of its turns: nothing was said", address.Name)
		}
	}
	return "", hint.New(fmt.Errorf("%s is not in the room %s: nothing was said", address.Name, name), "a person: cmux rooms invite "+name+" --guest "+address.Name)
}

// Say says something. It stands in the file when Say returns.
func (p *Rooms) Say(ctx context.Context, name string, say Say) (*Said, error) {
	if strings.TrimSpace(say.Text) == "" {
		return nil, project.Usage("", "the message is empty")
	}
	b, lines, err := p.writing(ctx, name, say.NoStart)
	if err != nil {
		return nil, err
	}
	by, err := p.author(name, lines)
	if err != nil {
		return nil, err
	}
	if by != room.User && (say.Interrupt || say.Resume) {
		return nil, fmt.Errorf("interrupting and resuming are a person's: nothing was said")
	}
	if err := say.mayAttach(by); err != nil {
		return nil, err
	}
	if said := said(name, lines, by, say.Key); said != nil {
		if say.Text != said.text || say.To != said.to || !say.attaches(said.files) {
			said.Note = fmt.Sprintf("the key %q is that of %s#%d, which says something else: nothing was said", say.Key, name, said.Message)
		}
		return &said.Said, nil
	}
	files, err := p.attach(ctx, b, &say)
	if err != nil {
		return nil, usage(err)
	}
	s := room.Fold(name, lines)
	wakes := s.Wakes(by, say.To, marks.Answer{Pieces: marks.Pieces(say.Text, s.Names())})
	if say.Interrupt {
		var busy []string
		for _, t := range s.Open {
			if slices.Contains(wakes, t.Member) {
				busy = append(busy, t.Member)
			}
		}
		if len(busy) > 0 {
			if err := b.Order(ctx, orElse(say.Key, mailbox.NewID())+"-interrupt", room.DoStop, 0, busy...); err != nil {
				return nil, usage(err)
			}
		}
	}
	if say.Resume && s.Paused {
		if err := b.Order(ctx, orElse(say.Key, mailbox.NewID())+"-resume", room.DoResume, 0); err != nil {
			return nil, usage(err)
		}
		s.Paused = false
	}
	n, wakes, err := b.Say(ctx, book.Message{By: by, To: say.To, Text: say.Text, Re: say.Re, Key: say.Key, Files: files})
	if err != nil {
		return nil, usage(err)
	}
	out := &Said{Room: name, Message: n, Wakes: append([]string{}, wakes...)}
	switch {
	case len(wakes) == 0 && s.Settings.Policy == room.Mentioned:
		out.Note = "it wakes nobody: in this room a message wakes whom it mentions with @NAME"
	case len(wakes) == 0:
		out.Note = "it wakes nobody"
	case s.Paused:
		out.Note = "the room is paused: cmux rooms resume " + name
	}
	return out, nil
}

// before is a message that was said.
type before struct {
	Said
	text, to string
	files    []room.File
}

// said is the message of an author with a key; nil: there is none.
func said(name string, lines []room.Line, by, key string) *before {
	for i := range lines {
		if l := &lines[i]; key != "" && l.Kind == room.KindSaid && l.By == by && l.Key == key {
			return &before{Said{Room: name, Message: l.N, Wakes: append([]string{}, l.Wakes...)}, l.Text, l.To, l.Files}
		}
	}
	return nil
}

// usage marks an error of what was given.
func usage(err error) error {
	if errors.Is(err, book.ErrUnknown) || errors.Is(err, book.ErrText) || errors.Is(err, book.ErrFile) {
		return project.Tag(err, project.ErrUsage)
	}
	return err
}

// Order is what a person orders in a room.
type Order struct {
	Do    room.Do  `json:"do"`
	Names []string `json:"names,omitempty"`
	N     int      `json:"n,omitempty"` // turns, of continue
	ID    string   `json:"id,omitempty"`
}

// idle says why an order changes nothing; empty: it does.
func (o *Order) idle(s *room.State) string {
	var m room.Member
	if len(o.Names) > 0 {
		if i := slices.IndexFunc(s.Members, func(m room.Member) bool { return !m.Gone && m.Name == o.Names[0] }); i >= 0 {
			m = s.Members[i]
		}
	}
	wakes := slices.ContainsFunc(s.Members, func(m room.Member) bool { return len(s.Waking(m.Name)) > 0 })
	switch {
	case o.Do == room.DoPause && s.Paused:
		return "it is paused already"
	case o.Do == room.DoResume && !s.Paused:
		return "it is not paused"
	case o.Do == room.DoCancel && !s.Round.On && len(s.Open) == 0 && !wakes:
		return "no round is under way"
	case o.Do == room.DoContinue && s.Round.State != room.Capped:
		return "no round has used up its turns or tokens"
	case o.Do == room.DoReopen && !s.Closed:
		return "it is open"
	case m.Name == "":
		return ""
	case (o.Do == room.DoStop || o.Do == room.DoWait) && m.Turn == "":
		return m.Name + " is in no turn"
	case o.Do == room.DoSkip && m.Turn == "" && len(s.Waking(m.Name)) == 0:
		return "nothing waits for " + m.Name
	case o.Do == room.DoWake && !m.Fallen() && m.Stand.Is != room.Down:
		return m.Name + " is not down"
	}
	return ""
}

// Idle says why an order changes nothing in the room as it is; empty: it does.
func (p *Rooms) Idle(name string, o Order) (string, error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return "", err
	}
	org, err := p.org()
	if err != nil {
		return "", err
	}
	s := p.state(org, name, lines)
	return o.idle(&s), nil
}

// Order gives an order, once for an id. It stands in the file when Order returns.
func (p *Rooms) Order(ctx context.Context, name string, o Order) (*View, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	noStart := o.Do == room.DoPause
	b, _, err := p.writing(ctx, name, noStart)
	if err != nil {
		return nil, err
	}
	if err := b.Order(ctx, orElse(o.ID, mailbox.NewID()), o.Do, o.N, o.Names...); err != nil {
		return nil, usage(err)
	}
	p.audit(ctx, string(o.Do), name)
	return p.Show(name)
}

func (p *Rooms) audit(ctx context.Context, do, name string) {
	p.Records.Audit(ctx, records.Ordered{Order: "rooms " + do, About: name, By: room.User, How: "command"}) // what is missing is nothing that an order should fail by
}

// Answer answers the question that a member asks.
func (p *Rooms) Answer(ctx context.Context, name, member, text string) (commands.Answered, error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return commands.Answered{}, err
	}
	if s := room.Fold(name, lines); !slices.Contains(s.Names(), member) {
		return commands.Answered{}, project.Tag(nobody(&s, member), project.ErrMissing)
	}
	org, err := p.org()
	if err != nil {
		return commands.Answered{}, err
	}
	if org == nil || org.RoomStand(name, member, p.Now()).Is != room.NeedsInput {
		return commands.Answered{}, project.Usage("cmux rooms say "+name+" TEXT --to "+member, "%s asks nothing: nothing was sent", member)
	}
	return p.Crew.Answer(ctx, commands.Answer{Node: standing.MemberName(name, member), Text: text})
}

// Cost estimates what a message would use.
func (p *Rooms) Cost(name, to, text string) (room.Cost, error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return room.Cost{}, err
	}
	s := room.Fold(name, lines)
	if to != "" && !slices.Contains(s.Names(), to) {
		return room.Cost{}, nobody(&s, to)
	}
	return s.Cost(to, text), nil
}

// nobody says that nobody in the room has that name, and who is in it.
func nobody(s *room.State, member string) error {
	return project.Usage("", "nobody in the room %s is called %q: %s", s.Name, member, strings.Join(s.Names(), ", "))
}

// ErrCapped means that a round has not settled.
var ErrCapped = errors.New("the round has not settled")

// Await waits until the room rests: no turn is under way, and the message n was given to all
// whom it wakes; 0: whichever was said last. It returns the lines from n on. A monitor that
// dies meanwhile is started again.
func (p *Rooms) Await(ctx context.Context, name string, n int64) ([]room.Line, error) {
	lines, err := p.until(ctx, name, func(lines []room.Line) (bool, error) { return rests(name, lines, n) })
	return from(lines, n), err
}

// until waits until over says so of the room's lines, and returns them as they are then. A
// monitor that dies meanwhile is started again.
func (p *Rooms) until(ctx context.Context, name string, over func([]room.Line) (bool, error)) ([]room.Line, error) {
	path, err := p.Path(name)
	if err != nil {
		return nil, err
	}
	w := signals.Watch(ctx, path)
	defer w.Close()
	vigil := time.NewTicker(commands.Vigil)
	defer vigil.Stop()
	for {
		_, lines, _, err := p.Open(name)
		if err != nil {
			return nil, err
		}
		if done, err := over(lines); done {
			return lines, err
		}
		select {
		case <-w.C:
		case <-vigil.C:
			org, err := p.org()
			if err != nil {
				return nil, err
			}
			if org == nil || !org.Run.RunnerLives() {
				if err := p.Up(ctx); err != nil {
					return nil, fmt.Errorf("no monitor, so nothing happens in the room: %w", err)
				}
			}
		case <-ctx.Done():
			return lines, ctx.Err()
		}
	}
}

// ErrPaused means that the room begins no turn before a person resumes it.
var ErrPaused = errors.New("the room is paused")

// rests reports whether the room is at rest after message n, and how its round ended.
func rests(name string, lines []room.Line, n int64) (bool, error) {
	s := room.Fold(name, lines)
	if s.Closed {
		return true, fmt.Errorf("%w: the room is closed", ErrCapped)
	}
	if s.Paused && len(s.Open) == 0 && (s.Round.On || slices.ContainsFunc(s.Members, func(m room.Member) bool { return len(s.Waking(m.Name)) > 0 })) {
		return true, fmt.Errorf("%w: cmux rooms resume %s", ErrPaused, name)
	}
	given := map[string]bool{}
	for i := range lines {
		l := &lines[i]
		if l.Kind == room.KindTurn && slices.Contains(l.Messages, n) || l.Kind == room.KindDropped && l.Message == n {
			given[l.Member] = true
		}
	}
	if m := s.Message(n); m != nil {
		for _, who := range m.Wakes {
			if !given[who] && len(s.Waking(who)) > 0 {
				return false, nil
			}
		}
	} else {
		for i := range s.Members {
			if len(s.Waking(s.Members[i].Name)) > 0 && s.Round.State != room.Capped {
				return false, nil
			}
		}
	}
	if len(s.Open) > 0 || s.Round.On {
		return false, nil
	}
	switch s.Round.State {
	case room.Capped, room.Cancelled:
		return true, fmt.Errorf("%w: round %d is %s: %s", ErrCapped, s.Round.N, s.Round.State, s.Round.Why)
	}
	for i := range lines {
		if l := &lines[i]; l.Kind == room.KindOver && l.N > n && n > 0 && (l.How == room.HowFailed || l.How == room.HowTimeout || l.How == room.HowLost) {
			return true, fmt.Errorf("%w: the turn %s of %s failed: %s", ErrCapped, l.Turn, l.Member, l.Why)
		}
	}
	return true, nil
}

func from(lines []room.Line, n int64) []room.Line {
	for i := range lines {
		if lines[i].N >= n {
			return lines[i:]
		}
	}
	return nil
}

// Follow passes the lines behind number after on, those that are there and those that come,
// until each returns an error or ctx ends.
func (p *Rooms) Follow(ctx context.Context, name string, after int64, each func([]room.Line) error) error {
	path, err := p.Path(name)
	if err != nil {
		return err
	}
	w := signals.Watch(ctx, path)
	defer w.Close()
	for {
		_, lines, _, err := p.Open(name)
		if err != nil {
			return err
		}
		if more := from(lines, after+1); len(more) > 0 {
			after = more[len(more)-1].N
			if err := each(more); err != nil {
				return err
			}
		}
		select {
		case _, ok := <-w.C:
			if !ok {
				return ctx.Err()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
