package claude

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"cmux/agents/attempt"
	"cmux/agents/event"
	"cmux/agents/transcript"
	"cmux/dag"
)

// follower reads the transcript as it grows: for the node's events and log, what was used, and the Escape of a person, of which no hook tells.
type follower struct {
	agent *agent
	kick  chan struct{}
	from  int64     // what stands before it is of an earlier attempt
	spent dag.Usage // by earlier attempts in the conversation

	mu   sync.Mutex
	path string // empty: not known yet

	// Of run, and then of close.
	reader *transcript.Follower
	read   string // what reader reads
	offset int64
	used   dag.Usage
}

// slowLook is how often the transcript is read when nothing tells of a change.
const slowLook = 2 * time.Second

func newFollower(a *agent) *follower {
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
		if path := f.current(); path != "" {
			if dir := filepath.Dir(path); watcher != nil && dir != watched {
				if watched != "" {
					watcher.Remove(watched)
				}
				if watched = dir; watcher.Add(dir) != nil {
					watched = "" // not there yet
				}
			}
			before := f.offset
			if events := f.look(); (len(events) > 0 || f.offset > before) && f.agent.stage.Tell(ctx, events...) != nil {
				return
			}
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

// look reads what is new and returns what it means to the attempt.
func (f *follower) look() []attempt.Event {
	path := f.current()
	if path == "" {
		return nil
	}
	if path != f.read {
		if f.reader == nil {
			f.reader = transcript.NewFollower(path, f.from)
		} else {
			f.reader.Switch(path)
		}
		f.read = path
	}
	news, _ := f.reader.Read() // what cannot be read now is read later
	f.offset = f.reader.Offset()
	var events []attempt.Event
	for _, e := range news {
		f.agent.stage.Show(e)
		if e.Kind == event.Interrupted && !f.agent.start.Headless {
			f.agent.mu.Lock()
			events = append(events, f.agent.listener.interrupted()...)
			f.agent.mu.Unlock()
		}
	}
	if used := f.reader.Usage().Beyond(f.spent); used != f.used {
		f.used = used
		events = append(events, attempt.Event{What: attempt.Used, Used: used})
	}
	return events
}

// close takes in what the program wrote at its end. run has returned.
func (f *follower) close() {
	f.look()
}
