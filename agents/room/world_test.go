package room

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cmux/agents/room/marks"
)

// chance chooses between things that may happen.
type chance interface{ below(n int) int }

// world plays what is around a room: its file, the programs of its members, a person, and
// what carries its effects out, which is killed now and then.
type world struct {
	chance
	now      time.Time
	file     []Line // durable
	s        State
	programs map[string]*program
	clocks   map[Clock]time.Time
	took     map[string]int // times that a program had a turn
	lives    map[string]int // that ended in the turn
	keys     int
	kills    bool
	busy     bool
	queue    []What // heard while a step is carried out
	broken   string
	trace    func(string)
	phase    Phase
	seen     map[[2]Phase]bool // ways that were taken
}

// program is a member's program, with its wrapper, which both live on when the room is
// killed. What its wrapper has recorded is told again until the room has it.
type program struct {
	is      Standing
	crashed bool
	turn    string
	has     map[string]bool // turns that it was handed
	taken   []string        // recorded
	ends    []What          // recorded: Replied and Failed
}

func newWorld(c chance, settings Settings, members ...string) *world {
	w := &world{
		chance: c, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), s: New("r"),
		programs: map[string]*program{}, clocks: map[Clock]time.Time{}, took: map[string]int{}, lives: map[string]int{}, phase: AtRest, seen: map[[2]Phase]bool{},
	}
	w.write(Line{Kind: KindOpened, Settings: &settings})
	for _, name := range members {
		w.join(name, false)
	}
	return w
}

func (w *world) wrong(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (w *world) join(name string, guest bool) {
	w.write(Line{Kind: KindJoined, Name: name, Agent: "r." + name, Guest: guest})
	if !guest {
		w.programs[name] = &program{is: Off, has: map[string]bool{}}
		w.stands(name)
	}
}

// write appends a line of somebody else: a command, in its own process.
func (w *world) write(l Line) {
	l.N, l.At = int64(len(w.file)+1), w.now
	w.file = append(w.file, l)
	w.step(Lines{l})
}

// say is what the command does: it decides on the newest state whom the message wakes.
func (w *world) say(by, to, text string) {
	w.keys++
	s := Fold("r", w.file)
	a := marks.Answer{Pieces: marks.Pieces(text, s.Names())}
	w.write(Line{Kind: KindSaid, By: by, To: to, Text: text, Key: fmt.Sprint("k", w.keys), Wakes: s.Wakes(by, to, a)})
}

func (w *world) order(do Do, count int, names ...string) {
	w.write(Line{Kind: KindOrder, By: User, Do: do, Names: names, Count: count, ID: fmt.Sprint("o", len(w.file))})
}

func (w *world) stands(name string) {
	p := w.programs[name]
	w.step(Stands{name, Stand{Is: p.is, Crashed: p.crashed}})
}

// step lets the room hear something, and carries out what follows.
func (w *world) step(what What) {
	if w.queue = append(w.queue, what); w.busy {
		return
	}
	w.busy = true
	for len(w.queue) > 0 && w.broken == "" {
		what, w.queue = w.queue[0], w.queue[1:]
		w.one(what)
	}
	w.busy = false
}

func (w *world) one(what What) {
	var effects []Effect
	before := w.s
	w.s, effects = Step(w.s, Event{At: w.now, What: what})
	if to := w.s.Phase(); w.phase != to && !appends(effects) {
		w.seen[[2]Phase{w.phase, to}] = true
		w.phase = to
	}
	if before.N != w.s.N {
		if _, lines := what.(Lines); !lines {
			w.wrong("%T changed what only lines change", what)
		}
	}
	if w.trace != nil {
		w.trace(show(effects))
	}
	for _, e := range effects {
		switch e := e.(type) {
		case Append:
			n := len(e.Lines)
			if w.kills && w.below(12) == 0 { // a cut: only some of the lines are there
				w.file = append(w.file, e.Lines[:w.below(n+1)]...)
				w.restart()
				return
			}
			if e.Lines[0].N != int64(len(w.file)+1) {
				w.wrong("a line %d is added to %d", e.Lines[0].N, len(w.file))
				return
			}
			w.file = append(w.file, e.Lines...)
			w.queue = slices.Insert(w.queue, 0, What(Lines(e.Lines)))
		default:
			if w.kills && w.below(40) == 0 {
				w.restart()
				return
			}
			w.carryOut(e)
		}
	}
}

func (w *world) carryOut(e Effect) {
	switch e := e.(type) {
	case Tell:
		t := w.s.Turn(e.Turn)
		p := w.programs[t.Member]
		switch {
		case p.has[e.Turn]: // the same turn again is no second one
		case p.turn != "":
			w.wrong("%s is told %s while it is %v", t.Member, e.Turn, p.is)
		case p.is == Off || p.is == Starting: // lost: its next stand tells
		default:
			p.has[e.Turn], p.turn = true, e.Turn
			if p.is == Idle { // else it waits, in its conversation
				p.is = InTurn
			}
			w.took[e.Turn]++
		}
	case BreakOff:
		t := w.s.Turn(e.Turn)
		p := w.programs[t.Member]
		switch {
		case !p.has[e.Turn] || p.turn != e.Turn: // nothing to break off
			if !slices.ContainsFunc(p.ends, func(what What) bool { return turnOf(what) == e.Turn }) {
				p.ends = append(p.ends, Failed{Turn: e.Turn, How: HowStopped})
				w.step(p.ends[len(p.ends)-1])
			}
		case p.is == InTurn && w.below(2) != 0: // else it hangs
			w.ends(t.Member, Failed{Turn: e.Turn, How: HowStopped, Text: "so far"})
		}
	case Start:
		w.programs[e.Member].is = Starting
		w.programs[e.Member].crashed = false
	case Rest:
		p := w.programs[e.Member]
		if p.turn != "" { // the next life has not had it
			delete(p.has, p.turn)
			w.lives[p.turn]++
		}
		p.is, p.crashed, p.turn = Off, false, ""
		w.stands(e.Member)
	case Arm:
		w.clocks[e.Clock] = e.At
	case Disarm:
		delete(w.clocks, e.Clock)
	}
}

// ends records how a turn ended.
func (w *world) ends(name string, what What) {
	p := w.programs[name]
	p.ends, p.is, p.turn = append(p.ends, what), Idle, ""
	if w.below(6) == 0 {
		p.is = Limited
	}
	w.step(what)
	w.stands(name)
}

// restart is a kill of the room's process and the next one: what members have done since is
// read from their records, before what they do.
func (w *world) restart() {
	w.s, w.clocks, w.queue = Fold("r", w.file), map[Clock]time.Time{}, nil
	w.phase = "" // it is known again when all that members do is
	for _, name := range slices.Sorted(maps.Keys(w.programs)) {
		p := w.programs[name]
		for _, id := range p.taken {
			w.step(Took{id})
		}
		for _, end := range p.ends {
			w.step(end)
		}
		w.stands(name)
	}
}

func turnOf(what What) string {
	switch what := what.(type) {
	case Replied:
		return what.Turn
	case Failed:
		return what.Turn
	}
	return ""
}

// member lets a member's program do something.
func (w *world) member(name string) {
	p := w.programs[name]
	switch p.is {
	case Starting:
		if w.below(5) == 0 {
			p.is, p.crashed = Off, true
		} else {
			p.is = Idle
		}
	case InTurn:
		if p.turn == "" {
			break
		}
		id := p.turn
		switch w.below(8) {
		case 0:
			p.taken = append(p.taken, id)
			w.step(Took{id})
			return
		case 1: // it crashes; what it was handed is handed again, to its next life
			p.is, p.crashed, p.turn = Off, true, ""
			delete(p.has, id)
			w.lives[id]++
		case 2:
			p.is = []Standing{Limited, NeedsInput, TakenOver}[w.below(3)]
		case 3:
			w.ends(name, Failed{Turn: id, How: HowFailed, Why: "the model refuses"})
		default:
			p.taken = append(p.taken, id)
			w.ends(name, Replied{Turn: id, Text: w.text(), Used: int64(w.below(300))})
		}
	case Limited, NeedsInput, TakenOver:
		if p.turn != "" {
			p.is = InTurn
		} else {
			p.is = Idle
		}
	case Idle:
		if w.below(3) == 0 {
			p.is = Limited
		} else if w.below(6) == 0 {
			p.is, p.crashed = Off, true
		}
	}
	w.stands(name)
}

// text is something to say.
func (w *world) text() string {
	a, b := []string{"a", "b", "c", "nobody"}[w.below(4)], []string{"a", "b", "c"}[w.below(3)]
	return []string{
		"[PASS]", "I think so.", "+1 " + b, "@" + b + " why?", "[HANDOFF:" + a + "] look at it.",
		"<Share>for all</Share> for you", "[DECISION] we take it", "thinking\n[PASS]", "@all now", "[TODO] write it. [BLOCKED] no key",
		"AGREE", "DISSENT: no.\nNot examined: load",
	}[w.below(12)]
}

// random lets something happen.
func (w *world) random() {
	names := slices.Sorted(maps.Keys(w.programs))
	if len(names) == 0 {
		return
	}
	name := names[w.below(len(names))]
	switch k := w.below(40); {
	case k < 5:
		w.say(User, "", w.text())
	case k < 6:
		w.say(User, name, "only you")
	case k < 7:
		w.say("g", []string{"", name}[w.below(2)], w.text())
	case k < 8 || k < 20 && k > 17 && w.s.Round.cancelling != "":
		if w.s.Round.cancelling != "" {
			w.say(User, []string{"", name}[w.below(2)], w.text())
			return
		}
		do := []Do{DoPause, DoResume, DoStop, DoCancel, DoContinue, DoSkip, DoClose, DoReopen, DoWake, DoWait}[w.below(10)]
		if w.below(2) == 0 || do == DoSkip {
			w.order(do, w.below(3), name)
		} else {
			w.order(do, w.below(3))
		}
	case k < 9:
		if w.below(2) == 0 {
			w.decision()
			return
		}
		w.order(DoResume, 0)
	case k < 10:
		w.order(DoReopen, 0)
	case k < 11:
		w.order(DoContinue, w.below(3))
	case k < 12 || k < 17 && w.s.bound && w.s.places == 0:
		w.step(Places{w.below(4)})
	case k < 13 && w.kills:
		w.restart()
	case k < 14 && len(names) > 1:
		if !w.s.member(name).Gone {
			w.write(Line{Kind: KindLeft, Name: name, Why: "dismissed"})
		}
	case k < 15:
		for _, back := range []string{"a", "b", "c"} {
			if m := w.s.member(back); m.Gone && m.Turn == "" && w.programs[back].is == Off {
				w.join(back, false)
				break
			}
		}
	case k < 20:
		w.time()
	case k < 22:
		w.card(name)
	default:
		w.member(name)
	}
}

// card has a member asked about a card, or tells where one is now.
func (w *world) card(name string) {
	if w.s.Closed || w.s.member(name).Gone {
		return
	}
	card := fmt.Sprint("t", w.below(3))
	switch w.below(3) {
	case 0:
		w.write(CardMoved(card, card+": planning", []string{name}))
	case 1:
		w.write(AskCard(card, name, fmt.Sprint("card-", card, "-", len(w.file)), "plan it"))
	default:
		w.write(AskBlind(card, name, fmt.Sprint("card-", card, "-", len(w.file)), "who does it?"))
	}
}

// decision puts a proposal to the members, or decides on one.
func (w *world) decision() {
	s := Fold("r", w.file)
	if len(s.Decisions) == 0 {
		return
	}
	d := &s.Decisions[w.below(len(s.Decisions))]
	switch {
	case d.Decided != nil:
	case d.Asked == 0 && s.Asking() == nil && w.below(3) != 0:
		w.write(s.Ask(d, User))
	default:
		w.write(d.Decide(w.now, User, []Verdict{Accepted, Rejected, Changed}[w.below(3)], d.Text))
		s = Fold("r", w.file)
		d = s.Decision(d.ID)
		w.write(s.Outcome(d, d.Decided))
	}
}

// time passes to the next clock, or a little.
func (w *world) time() {
	if len(w.clocks) == 0 || w.below(3) == 0 {
		w.now = w.now.Add(time.Duration(w.below(700)) * time.Millisecond)
	}
	c, at, any := w.next()
	if !any {
		return
	}
	if at.After(w.now) {
		w.now = at
	}
	delete(w.clocks, c)
	w.step(Rang{c})
}

func (w *world) next() (c Clock, at time.Time, any bool) {
	for _, k := range slices.SortedFunc(maps.Keys(w.clocks), func(a, b Clock) int {
		return strings.Compare(string(a.Kind)+a.Turn, string(b.Kind)+b.Turn)
	}) {
		if !any || w.clocks[k].Before(at) {
			c, at, any = k, w.clocks[k], true
		}
	}
	return c, at, any
}

// helpful brings the room to rest: every hindrance is taken away, and every member answers.
func (w *world) helpful() {
	w.kills = false
	w.step(Places{100})
	w.order(DoReopen, 0)
	w.order(DoWake, 0)
	for range 3000 {
		if w.broken != "" {
			return
		}
		moved := false
		for _, name := range slices.Sorted(maps.Keys(w.programs)) {
			p := w.programs[name]
			switch {
			case p.is == InTurn && p.turn != "":
				w.ends(name, Replied{Turn: p.turn, Text: "and so on"})
			case p.is == Limited || p.is == NeedsInput || p.is == TakenOver:
				p.is = Idle
				if p.turn != "" {
					p.is = InTurn
				}
			case p.is == Starting:
				p.is = Idle
			case p.is == Off && p.crashed:
				p.crashed = false
			default:
				for _, end := range p.ends {
					if w.s.Turn(turnOf(end)) != nil {
						moved = true
						w.step(end)
					}
				}
				continue
			}
			moved = true
			w.stands(name)
		}
		if phase := w.s.Phase(); !moved {
			if phase == AtRest || phase == IsCapped {
				return
			}
			if _, _, any := w.next(); !any {
				w.wrong("it is %s, and nothing will happen: %s", phase, w.s.Label())
				return
			}
			w.time()
		}
	}
	w.wrong("it does not come to rest: %s", w.s.Label())
}

// rules are held against what was written.
func (w *world) rules() {
	for _, b := range Check(w.file) {
		w.wrong("%v", b)
	}
	for id, n := range w.took {
		if n > 1+w.lives[id] {
			w.wrong("the turn %s was handed over %d times, in %d lives", id, n, 1+w.lives[id])
		}
	}
}

// appends reports whether lines follow at once: where the room stands before them is of no
// account.
func appends(effects []Effect) bool {
	if len(effects) == 0 {
		return false
	}
	_, is := effects[len(effects)-1].(Append)
	return is
}

// show writes effects, one a line.
func show(effects []Effect) string {
	var b strings.Builder
	for _, e := range effects {
		if a, ok := e.(Append); ok {
			for _, l := range a.Lines {
				fmt.Fprintf(&b, "    + %s\n", showLine(l))
			}
			continue
		}
		switch e := e.(type) {
		case Arm:
			fmt.Fprintf(&b, "    arm %s%s %s\n", e.Clock.Kind, space(e.Clock.Turn), e.At.Format("15:04:05.000"))
		case Disarm:
			fmt.Fprintf(&b, "    disarm %s%s\n", e.Clock.Kind, space(e.Clock.Turn))
		case Record:
			fmt.Fprintf(&b, "    record %s\n", e.Decision)
		case Notify:
			fmt.Fprintf(&b, "    notify %s\n", e.Text)
		default:
			name := strings.TrimPrefix(fmt.Sprintf("%T", e), "room.")
			fmt.Fprintf(&b, "    %s %s\n", strings.ToLower(name), strings.Trim(fmt.Sprint(e), "{}"))
		}
	}
	return b.String()
}

func space(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

func showLine(l Line) string {
	words := []string{fmt.Sprint(l.N), string(l.Kind)}
	add := func(key string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "0" && s != "[]" {
			words = append(words, key+"="+strings.Trim(s, "[]"))
		}
	}
	add("round", l.Round)
	add("state", l.State)
	add("turn", l.Turn)
	add("member", l.Member)
	add("messages", l.Messages)
	add("turns", l.Turns)
	add("by", l.By)
	add("to", l.To)
	add("re", l.Re)
	add("ask", l.Ask)
	add("wakes", l.Wakes)
	add("text", strings.ReplaceAll(fmt.Sprintf("%.60s", l.Text), "\n", `\n`))
	add("aside", l.Aside)
	add("how", l.How)
	add("said", l.Said)
	add("what", l.What)
	add("for", l.For)
	add("dissent", l.Dissent)
	add("message", l.Message)
	add("do", l.Do)
	add("names", l.Names)
	add("name", l.Name)
	add("count", l.Count)
	add("why", l.Why)
	return strings.Join(words, " ")
}
