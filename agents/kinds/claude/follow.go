package claude

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/transcript"
	"cmux/agents/records/event"
	"cmux/dag"
)

// follower reads the transcript as it grows: for the node's events, its log and its usage,
// and to detect an Escape by a person, which no hook reports.
type follower struct {
	agent *instance
	kick  chan struct{}
	from  int64     // what stands before it is of an earlier attempt
	spent dag.Usage // by earlier attempts in the conversation

	mu   sync.Mutex
	path string // empty: not known yet

	reading sync.Mutex
	late    []news.Event // that catchUp found, not told yet
	given   []news.Read  // what it was found to hold since recall was last asked, the newest last
	reader  *transcript.Follower
	read    string // what reader reads
	offset  int64
	told    int64 // offset at the last look
	used    dag.Usage
	early   map[string]dag.Usage // that standard output told, by message, before there is a reader
	fills   transcript.Context
	summed  int // how often a summary has replaced the conversation
}

// slowLook is how often the transcript is read when nothing tells of a change.
const slowLook = 2 * time.Second

func newFollower(a *instance) *follower {
	return &follower{agent: a, kick: make(chan struct{}, 1)}
}

// at says where the transcript is, and that it may have grown.
func (f *follower) at(path string) {
	if path != "" {
		f.mu.Lock()
		f.path = path
		f.mu.Unlock()
	}
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

func (f *follower) current() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.path
}

func (f *follower) run(ctx context.Context) {
	var changes <-chan fsnotify.Event
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		changes = watcher.Events
		go func() { // ends with the watcher
			for range watcher.Errors {
			}
		}()
	}
	tick := time.NewTicker(slowLook)
	defer tick.Stop()
	watched := ""
	for {
		if f.current() == "" { // no hook has told
			if path := Transcript(f.agent.stage.Env, f.agent.start.Session); path != "" {
				f.at(path)
			}
		}
		if path := f.current(); path != "" {
			if dir := filepath.Dir(path); watcher != nil && dir != watched {
				if watched != "" {
					watcher.Remove(watched)
				}
				if watched = dir; watcher.Add(dir) != nil {
					watched = "" // not there yet
				}
			}
			if events, grew := f.look(); (len(events) > 0 || grew) && f.agent.stage.Tell(ctx, events...) != nil {
				return
			}
		}
		if events := f.agent.listens(time.Now()); len(events) > 0 && f.agent.stage.Tell(ctx, events...) != nil {
			return
		}
		for again := true; again; {
			again = false
			select {
			case <-f.kick:
			case e := <-changes:
				again = e.Name != f.current()
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// catchUp reads what is new at once. What it means is told by run, later.
func (f *follower) catchUp() {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.late = append(f.late, f.take()...)
}

// recall reads what is new at once, and returns what the agent was given, of what
// was not returned before. It may be on its way to who follows, who cannot take it
// in while they ask.
func (f *follower) recall() []news.Read {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.late = append(f.late, f.take()...)
	given := f.given
	f.given = nil
	return given
}

// summaries reads what is new at once, and returns how often a summary has replaced
// the conversation.
func (f *follower) summaries() int {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.late = append(f.late, f.take()...)
	return f.summed
}

// maxGiven is how many of them are kept: far more than wait to be seen.
const maxGiven = 1000

// look reads what is new and returns what it means to the attempt, and whether
// there was anything since the last look.
func (f *follower) look() (events []news.Event, grew bool) {
	f.reading.Lock()
	defer f.reading.Unlock()
	events = append(f.late, f.take()...)
	grew = f.offset > f.told
	f.late, f.told = nil, f.offset
	return events, grew
}

func (f *follower) take() []news.Event {
	path := f.current()
	if path == "" {
		return nil
	}
	if path != f.read {
		if f.reader == nil {
			f.reader = transcript.NewFollower(path, f.from)
			for message, used := range f.early {
				f.reader.Count(message, used)
			}
			f.early = nil
		} else {
			f.reader.Switch(path)
		}
		f.read = path
	}
	grown, _ := f.reader.Read() // what cannot be read now is read later
	f.offset = f.reader.Offset()
	events := f.agent.signs(f.reader.Signs(), time.Now())
	for _, e := range events {
		if r, is := e.(news.Read); is {
			f.given = append(f.given, r)
			f.given = f.given[max(0, len(f.given)-maxGiven):]
		}
	}
	for _, e := range grown {
		if mention := f.agent.mention; mention != "" && e.Kind == event.Prompt && sameText(e.Text, mention) {
			e.Text = f.agent.said
		}
		f.agent.stage.Show(e)
		if e.Kind == event.Compacted {
			f.summed++
		}
		if e.Kind == event.Interrupted && !f.agent.start.Headless {
			events = append(events, f.agent.interrupted()...)
		}
	}
	if used := f.reader.Usage().Beyond(f.spent); used != f.used {
		f.used = used
		events = append(events, news.Used{Usage: used})
	}
	if c := f.reader.Context(); c != f.fills {
		f.fills = c
		events = append(events, news.Filled{Tokens: c.Tokens, Window: window(c.Model, f.agent.stage.Model, f.agent.stage.Env)})
	}
	return events
}

// counts takes in what a message used: the transcript is written later, when the turn may be
// over.
func (f *follower) counts(message string, used dag.Usage) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if f.reader != nil {
		f.reader.Count(message, used)
		return
	}
	if f.early == nil {
		f.early = map[string]dag.Usage{}
	}
	f.early[message] = f.early[message].AtLeast(used)
}

// close takes in what the program wrote at its end. run has returned.
func (f *follower) close() {
	f.look()
}
