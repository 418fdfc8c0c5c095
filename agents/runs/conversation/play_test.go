package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// chance chooses between things that may happen.
type chance interface{ below(n int) int }

type byRapid struct{ t *rapid.T }

func (r byRapid) below(n int) int { return rapid.IntRange(0, n-1).Draw(r.t, "choice") }

// player plays whatever is around a conversation: an agent, a person, a runner,
// and what carries its effects out. It holds every step against the rules.
type player struct {
	chance
	s     State
	at    time.Time
	busy  bool
	turn  bool // Event.InTurn
	refs  Ref
	under Effect // what takes long and is under way; nil: nothing

	opening string // with which the program was started

	screen int  // of screens: what the agent's is
	typed  bool // a key was pressed for the delivery under way
	let    int  // how often one was let be

	waits    map[Ref]bool   // hooks and calls without an answer
	said     []string       // by a person, accepted
	given    map[string]int // words of a person's that were handed over, and how often
	told     strings.Builder
	reports  int // accepted
	judged   int
	blocked  int
	seen     map[[2]Phase]bool
	log      []Event
	broken   string // the first rule that did not hold
	denied   bool
	finished *Close
	queue    []What // what effects of the step came to, which is fed after all of them

	// Of one that stays.
	ids       int
	asked     int            // questions that went as messages
	messages  []string       // told and accepted
	confirmed map[string]int // how often
	slipped   []string       // went with a hook
	answered  map[string]int // in how many replies
	compacted map[string]int // begun, by order
	works     int            // given and accepted
	over      int
}

func newPlayer(c chance, config Config) *player {
	return &player{
		chance: c, s: New(config), at: time.Unix(1e9, 0).UTC(),
		waits: map[Ref]bool{}, given: map[string]int{}, confirmed: map[string]int{}, answered: map[string]int{}, compacted: map[string]int{}, seen: map[[2]Phase]bool{},
	}
}

func (p *player) wrong(format string, args ...any) {
	if p.broken == "" {
		p.broken = fmt.Sprintf(format, args...)
	}
}

// feed takes one step and plays those effects that are done at once.
func (p *player) feed(what What) {
	e := Event{At: p.at, Busy: p.busy, InTurn: p.turn, What: what}
	p.log = append(p.log, e)
	before := p.s
	var effects []Effect
	p.s, effects = Step(p.s, e)
	if before.Phase != p.s.Phase {
		p.seen[[2]Phase{before.Phase, p.s.Phase}] = true
	}
	p.denied = slices.ContainsFunc(effects, func(e Effect) bool { _, ok := e.(Deny); return ok })
	if q := before.Posed; q != nil && q != p.s.Posed && q.To == "user" && !gone(what) && !slices.Contains(effects, Effect(Settle{q.Message})) {
		p.wrong("nobody answered %s, and %T ends it", q.Message, what)
	}
	p.takeIn(what)
	for i, effect := range effects {
		if long(effect) {
			if p.under, p.typed = effect, false; i != len(effects)-1 {
				p.wrong("%T comes before other effects", effect)
			}
		}
		p.carry(effect)
	}
	for len(p.queue) > 0 {
		next := p.queue[0]
		p.queue = p.queue[1:]
		p.feed(next)
	}
}

// gone reports whether an event may end a question to a person, who did not answer: another takes
// its place, or other work.
func gone(what What) bool {
	switch e := what.(type) {
	case Wrote:
		return e.Posed != nil
	case Passed, Give:
		return true
	}
	return false
}

// did feeds what no hook told of.
func (p *player) did(e news.Event) { p.feed(Did{Event: e}) }

func long(e Effect) bool {
	switch e.(type) {
	case Launch, Deliver, Accept, Judge, Examine, Halt, Close, WorkOver:
		return true
	}
	return false
}

// takeIn notes what an event that was accepted brought.
func (p *player) takeIn(what What) {
	switch e := what.(type) {
	case Answer:
		if !p.denied {
			p.said = append(p.said, e.Text)
		}
	case Reported:
		switch {
		case p.denied:
			p.settle(e.Call)
		case e.Blocked:
			p.blocked++
		default:
			p.reports++
		}
	case Inquired:
		if p.denied {
			p.settle(e.Call)
		}
	case Tell:
		if !p.denied {
			p.messages = append(p.messages, e.ID)
		}
	case Give:
		if !p.denied {
			p.works++
		}
	}
}

// settle is the one answer to a hook or a call.
func (p *player) settle(ref Ref) {
	if ref == 0 {
		return
	}
	if !p.waits[ref] {
		p.wrong("%d is answered twice, or was never there", ref)
	}
	delete(p.waits, ref)
}

func (p *player) carry(effect Effect) {
	switch e := effect.(type) {
	case LetGo:
		p.settle(e.Ref)
	case HangUp:
		p.settle(e.Ref)
	case Reply:
		p.settle(e.Ref)
	case Confirm:
		for _, id := range strings.Split(e.ID, ",") {
			if p.confirmed[id]++; p.confirmed[id] > 1 {
				p.wrong("%s is confirmed twice", id)
			}
		}
	case TurnSaid:
		for _, id := range strings.Split(e.To, ",") {
			if p.answered[id]++; p.answered[id] > 1 && id != "" || !p.s.Replies {
				p.wrong("%s is answered twice, or nobody wanted that", id)
			}
		}
	case WorkOver:
		if p.over++; p.over > p.works {
			p.wrong("%d pieces of work are over, of %d", p.over, p.works)
		}
	case PassOn:
		p.asked++
		said := Passed{PassOn: e, To: []string{"supervisor", "user"}[p.ids%2], ID: fmt.Sprint("q", p.asked), Text: "it was sent"}
		if p.below(3) == 0 {
			said.Failure = "the disk is full"
		}
		p.queue = append(p.queue, said)
	case Tellback:
		p.settle(e.Ref)
	case Slip:
		if p.s.Taken || p.under != nil {
			p.wrong("%s goes with a hook while %+v", e.ID, p.s)
		}
		p.give(e.Text)
		if e.ID != "" && !strings.Contains(e.ID, ",") {
			p.slipped = append(p.slipped, e.ID)
		}
	case Accept:
		p.settle(e.Call)
	case Note:
		p.told.WriteString(e.Text + "\n")
	case Abandon:
		p.told.WriteString(e.Detail + "\n")
	case Deliver:
		if strings.Contains(e.ID, "alone") && strings.Contains(e.ID, ",") {
			p.wrong("%s goes together", e.ID)
		}
		if p.s.Final != nil {
			p.wrong("it is told more before its reply is recorded: %+v", p.s)
		}
		if e.Hook == 0 && e.Call == 0 && !p.s.Safe() {
			p.wrong("it types while it is not safe: %+v", p.s)
		}
		if e.Why == Compaction {
			if p.compacted[e.ID]++; p.compacted[e.ID] > 1 || e.Hook != 0 || e.Call != 0 || p.s.Work != "" || p.s.Taken || p.busy || p.turn {
				p.wrong("it compacts at the wrong time, or twice for one order: %+v", p.s)
			}
		}
		p.settle(e.Hook)
		p.settle(e.Call)
	case GoAhead:
		p.let++
		p.press()
	case Judge:
		if p.judged++; p.judged > p.reports {
			p.wrong("%d judgments of %d reports", p.judged, p.reports)
		}
	case LookBack:
		var had []string
		for _, m := range p.s.Unseen {
			if p.below(2) == 0 {
				had = append(had, m.ID)
			}
		}
		p.queue = append(p.queue, Looked{had})
	case FindLimit:
		p.queue = append(p.queue, LimitKnown{p.at.Add(time.Minute)})
	case Hear:
		if !p.waits[e.Ref] {
			p.wrong("%d is heard and waits no longer", e.Ref)
		} else if p.below(4) == 0 {
			p.settle(e.Ref) // it was nothing for a person
		} else if p.below(2) == 0 {
			p.feed(Did{news.Asked{Question: question.New("may I?"), Hold: true, Own: p.below(2) == 0}, e.Ref})
		} else {
			p.feed(Inquired{Question: question.New("which?", "l", "r"), Call: e.Ref})
		}
	case Close:
		p.finished = &e
		p.told.WriteString(e.Detail + "\n")
		if e.End == Finished && !p.s.Overridden && strings.Contains(p.told.String(), "may not have read: ") {
			p.wrong("the report overtook what a person had said")
		}
		mail := func(m Message) bool { return m.Why == FromMail && m.tries < maxTries-1 }
		if e.End == Finished && p.s.Reports && !p.s.Stays && !p.s.Overridden && !p.s.Ended && slices.ContainsFunc(append(p.s.Pending, p.s.Unseen...), mail) {
			p.wrong("the report overtook a message: %+v", p.s)
		}
	}
}

// screens are what the agent's terminal may show, and whether a key may be
// pressed there.
var screens = []struct {
	shows news.Screen
	safe  bool
}{
	{news.EmptyPrompt{}, true}, {news.OwnDraft{}, true}, {news.Draft{}, false}, {news.Dialog{Name: "permission"}, false},
	{news.CopyMode{}, false}, {news.UnknownScreen{}, false},
}

// look plays the kind that looks at the screen because it is to type.
func (p *player) look() {
	p.screen = p.below(len(screens))
	p.did(screens[p.screen].shows)
}

// press plays the kind that is let press a key: it looks once more, and tells
// what it sees where that has changed.
func (p *player) press() {
	if d, is := p.under.(Deliver); !is || d.Hook != 0 || d.Call != 0 {
		p.wrong("it is let type, and %T is under way", p.under)
		return
	}
	if p.below(4) == 0 {
		p.look()
		return
	}
	p.typed = true
	if !screens[p.screen].safe || p.s.Taken || p.s.GivenUp || p.s.Ended || p.s.Question != nil && !p.s.Question.InPane || p.s.questionOpen() {
		p.wrong("it types into %T: %+v", screens[p.screen].shows, p.s)
	}
}

// give notes that the agent was given a person's words.
func (p *player) give(text string) {
	for _, said := range p.said {
		if strings.Contains("\n"+text+"\n", "\n"+said+"\n") {
			if p.given[said]++; p.given[said] > 1 {
				p.wrong("%q was handed over twice", said)
			}
		}
	}
}

// answer plays the end of what is under way; well: it succeeds.
func (p *player) answer(well bool) {
	under := p.under
	p.under = nil
	switch e := under.(type) {
	case Launch:
		switch {
		case p.s.Stays && !well && p.below(3) == 0:
			p.feed(LeftBehind{Detail: "it did not start"})
		case well || p.below(2) == 0:
			p.give(e.Said)
			p.opening = e.Said
			p.feed(Started{Concludes: p.below(2) == 0, Quiet: e.Idle && p.below(2) == 0, Breaks: p.below(2) == 0, Steers: p.below(2) == 0, Compacts: p.below(2) == 0, Recalls: p.below(2) == 0})
		default:
			p.feed(LimitKnown{p.at.Add(time.Minute)})
		}
	case Deliver:
		if e.Hook != 0 || e.Call != 0 {
			if well {
				p.give(e.Text)
			}
			p.feed(Answered{OK: well})
			return
		}
		switch {
		case p.typed && (well || !p.s.GivenUp && !p.s.Ended):
			p.give(e.Text)
			p.feed(Delivered{})
		case p.s.GivenUp || p.s.Ended:
			p.feed(Delivered{Failure: "given up"})
		case !well && p.below(20) == 0:
			p.feed(Delivered{Failure: "its pane is gone"})
		default:
			p.under = under
			p.look()
		}
	case Accept:
		p.feed(Answered{OK: well})
	case WorkOver:
		p.feed(Tallied{})
	case Judge:
		if well {
			p.feed(Judged{})
		} else {
			p.feed(Judged{&Fault{Reason: dag.ReasonChecks, Detail: "red", Tell: "mend it", Final: p.below(8) == 0}})
		}
	case Examine:
		if p.s.Reports && !p.s.Came && p.opening == "" && p.below(2) == 0 {
			p.feed(Refused{})
		} else if p.s.Reports {
			p.feed(LeftBehind{Detail: "it ended"})
		} else {
			p.feed(Judged{})
		}
	case Halt:
		p.feed(LeftBehind{Exit: 143, Detail: e.Why})
	}
}

func (p *player) ref() Ref {
	p.refs++
	p.waits[p.refs] = true
	return p.refs
}

// maybe is a ref, or none.
func (p *player) maybe() Ref {
	if p.below(2) == 0 {
		return 0
	}
	return p.ref()
}

// random plays something that may happen now.
func (p *player) random() {
	p.at = p.at.Add(time.Duration(p.below(100)) * time.Second)
	p.busy = p.below(3) == 0
	p.turn = !p.busy && p.below(3) == 0
	if p.under != nil && p.below(2) == 0 {
		p.answer(p.below(3) != 0)
		return
	}
	alive := p.s.running() && !p.s.Ended && p.s.Phase != Halting
	if p.below(4) == 0 {
		p.ordered()
		return
	}
	switch n := p.below(30); {
	case n < 18 && alive:
		p.fromAgent(n)
	case n == 18 && alive:
		p.feed(Ended{})
	case n == 19 && !p.s.Stays:
		p.feed(Override{})
	case n == 20 || n == 21:
		p.feed(Answer{Text: fmt.Sprintf("words-%d", len(p.log))})
	case n == 22:
		p.feed(Release{})
	case n == 23:
		p.feed(Retry{})
	case n == 24 && p.s.Phase == Regaining:
		p.feed(Granted{Trial: p.below(3) == 0})
	case n == 25 && p.s.Phase == Regaining:
		p.feed(NoRunner{})
	case n == 26:
		p.feed(Overspent{"all is used up"})
	case n == 27 && p.s.Concluded > 0:
		p.feed(Gone{p.s.Concluded})
	case n == 27:
		for ref := range maxRef(p.waits) {
			if p.waits[ref+1] && p.below(2) == 0 {
				delete(p.waits, ref+1)
				p.feed(Gone{ref + 1})
				return
			}
		}
	case n == 28 && len(clocksOf[p.s.Phase]) > 0:
		p.feed(Rang{clocksOf[p.s.Phase][0]})
	case n == 29 && len(p.s.Unseen) > 0:
		p.feed(Rang{SlipClock})
	case n == 29 && p.s.Background:
		p.feed(Rang{BackgroundClock})
	}
}

// ordered plays what is ordered of an agent that stays.
func (p *player) ordered() {
	p.ids++
	id := fmt.Sprintf("m%d", p.ids)
	if !p.s.Stays { // it takes messages alone
		p.feed(Tell{ID: id, Text: "message " + id, Urgency: Urgency(p.below(3)), From: []string{"", "user", "api"}[p.ids%3]})
		return
	}
	switch p.below(11) {
	case 10:
		p.feed(EndTurn{ID: id, Text: []string{"end your turn", ""}[p.below(2)]})
	case 8:
		p.feed(Compact{ID: id})
	case 9:
		if p.ids > 1 { // again, by somebody who did not hear that it was taken
			p.feed(Compact{ID: fmt.Sprintf("m%d", p.ids-1)})
		}
	case 0, 1:
		p.feed(Give{ID: id, Text: "work " + id})
	case 2, 3:
		if p.below(3) == 0 {
			id = "alone" + id
		}
		p.feed(Tell{ID: id, Text: "message " + id, Urgency: Urgency(p.below(3)), Alone: strings.HasPrefix(id, "alone")})
	case 4:
		if p.s.Work != "" {
			id = p.s.Work
		}
		p.feed(Withdraw{ID: id, Why: "another has it"})
	case 5:
		p.feed(Take{})
	case 6:
		if d, is := p.under.(Deliver); is && p.below(2) == 0 && d.Hook == 0 && d.Call == 0 && !p.typed {
			p.under = nil
			p.feed(Unfit{Reason: dag.ReasonSetup, Detail: "no space"})
			return
		}
		p.feed([]What{Kept{}, Wrote{Posed: p.posed(id)}}[p.below(2)])
	case 7:
		if len(p.messages) > 0 { // again, by somebody who did not hear that it has it
			last := p.messages[len(p.messages)-1]
			p.feed(Tell{ID: last, Text: "message " + last, Alone: strings.HasPrefix(last, "alone")})
		}
	}
}

// posed is a question that is put as the message with this id.
func (p *player) posed(id string) *question.Posed {
	q := question.New("which?")
	q.Message = id
	return &question.Posed{Question: q, To: "user"}
}

func maxRef(refs map[Ref]bool) Ref {
	most := Ref(0)
	for ref := range refs {
		most = max(most, ref)
	}
	return most
}

func (p *player) fromAgent(n int) {
	switch n {
	case 0, 1:
		hook := p.maybe()
		p.feed(Did{news.TurnEnded{Said: []string{"", "said"}[p.below(2)], InOrder: p.below(3) == 0, Hold: hook != 0, Background: max(0, p.below(5)-3), Shells: max(0, p.below(5)-3)}, hook})
	case 2:
		p.did(news.Prompted{Own: true})
	case 3:
		p.did(news.Prompted{Text: "a person's"})
	case 4:
		p.did(news.TookOver{})
	case 5:
		q := question.New("log in")
		q.InPane = p.below(2) == 0
		p.did(news.Asked{Question: q})
	case 6, 7:
		p.feed(Knocked{p.ref()})
	case 8:
		p.did(news.WentOn{})
	case 9:
		p.did(news.Worked{Carries: p.below(2) == 0})
		if n := len(p.s.Unseen); n > 0 && p.below(2) == 0 {
			p.feed(Seen{p.s.Unseen[n-1].ID})
		} else if n := len(p.slipped); n > 0 && p.below(2) == 0 { // seen late
			p.feed(Seen{p.slipped[p.below(n)]})
		}
	case 10:
		p.did(news.Delegated{Subagents: p.below(3)})
	case 11:
		p.did(news.LimitMet{Text: "limit", Until: p.at.Add(time.Hour)})
	case 12:
		p.did(news.Faltered{Text: "overloaded", Lasting: p.below(3) == 0, Sure: p.below(3) == 0})
	case 13:
		if d, is := p.under.(Deliver); is && d.Hook == 0 && d.Call == 0 {
			p.look()
		}
	case 14:
		if p.below(4) == 0 {
			p.did(news.Stuck{Text: "nothing guards it", Own: p.below(2) == 0})
		}
	case 15:
		if p.s.Phase == Parting {
			p.refs++
			p.feed(Did{news.Concluded{}, p.refs}) // it has its answer, and is to take it in
		}
	default:
		said := Reported{Blocked: p.below(4) == 0, Text: "so it is", Call: p.maybe()}
		if p.below(8) == 0 {
			said.Unread = "wait"
		}
		p.feed(said)
	}
}

// helpful plays a world in which all goes well, until the conversation is over.
func (p *player) helpful() {
	for range 200 {
		p.busy, p.turn = false, false
		switch {
		case p.s.Phase == Closing || p.broken != "":
			return
		case p.s.typing() && !p.s.GivenUp && !p.s.Ended && !p.typed:
			p.screen = 0
			let := p.let
			if p.did(screens[0].shows); p.let == let && !p.s.GivenUp { // given up for a question
				p.wrong("nothing may be typed into an empty prompt: %+v", p.s)
			}
		case p.under != nil:
			p.answer(true)
		case p.s.Phase == Preparing:
			p.feed(Begin{})
		case p.s.Phase == Regaining:
			p.feed(Granted{})
		case p.s.Phase == Left:
			p.feed(Retry{})
		case p.s.Phase == Limited:
			p.feed(Rang{WakeClock})
		case p.s.Phase == Parting:
			p.feed(Rang{PartingClock})
		case p.s.Phase == Settling:
			p.did(news.Delegated{})
		case p.s.Phase == Asking && p.s.Open.InPane:
			p.did(news.WentOn{})
		case p.s.Stays && p.s.Taken:
			p.feed(Release{})
		case p.s.Stays && p.s.Phase == BackingOff:
			p.feed(Rang{BackoffClock})
		case p.s.Phase == Reviving:
			p.feed(Rang{ReviveClock})
		case p.s.Phase == Resting && p.s.Awaits == "":
			if p.s.awaited() {
				p.feed(Rang{SlipClock})
				continue
			}
			p.account()
			if p.s.Work != "" || len(p.s.Pending) > 0 {
				p.wrong("it rests with something to do: %+v", p.s)
			}
			p.feed(Cancel{})
		case p.s.Phase == Resting:
			p.ids++
			p.feed(Tell{ID: fmt.Sprintf("m%d", p.ids), Text: "go on", From: "user"})
		case p.s.Phase == Asking && !p.s.Taken:
			p.feed(Answer{Text: fmt.Sprintf("go-on-%d", len(p.log))})
		case !p.s.Reports:
			p.feed(Ended{})
		case p.s.Stays && !p.s.Got:
			p.did(news.TurnEnded{})
		default:
			p.feed(Reported{Text: "done"})
		}
	}
	p.wrong("there is no way out of %+v", p.s)
}

// account compares what happened to a person's messages with what must happen.
func (p *player) account() {
	open := ""
	if p.s.Phase != Closing {
		open = "\n" + p.s.Unread() + "\n"
	}
	told := "\n" + strings.Join(strings.Fields(p.told.String()), "\n") + "\n"
	for _, said := range p.said {
		if p.given[said] == 0 && !strings.Contains(open, "\n"+said+"\n") && !strings.Contains(told, "\n"+said+"\n") {
			p.wrong("%q of a person's is lost", said)
		}
	}
	for _, id := range p.messages {
		has := func(m Message) bool { return m.is(id) }
		if p.confirmed[id] == 0 && p.s.Phase != Closing && !slices.ContainsFunc(p.s.Pending, has) && !slices.ContainsFunc(p.s.Unproven, has) && !p.s.onTheWay(id) {
			p.wrong("message %s is lost", id)
		}
		if p.s.Replies && p.confirmed[id] > 0 && p.answered[id] == 0 && !slices.Contains(p.s.Answers, id) {
			p.wrong("the reply to %s is lost", id)
		}
	}
	for ref := range p.waits {
		if p.s.Phase != Closing && ref != p.s.Gate.Ref && ref != p.s.Call.Ref && !slices.Contains(p.s.Further, ref) {
			p.wrong("nobody will answer %d", ref)
		}
	}
}
