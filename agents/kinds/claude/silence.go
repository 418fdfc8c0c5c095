package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/transcript"
	"cmux/agents/platform/proc"
	"cmux/agents/records/mail"
)

// How long facts may stand against the hooks before they are believed. A hook
// that is only late has its time in it, also on a machine under load.
const (
	unheardCall   = 8 * time.Second // a tool that the model has called, and nothing of it
	unheardAnswer = 5 * time.Second // an answer of the model, and no hook has told of a prompt
	unheardPrompt = 7 * time.Second // the prompt stands, and no hook has spoken at all
	unheardStop   = 3 * time.Second // the turn is over, and its hook has not said so
)

// silence finds out from facts whether the program works and its hooks do not
// speak: there would be no guard, and nothing to tell when it has finished. It is
// no matter how long the model thinks or a tool takes; what counts is what the
// program has done and no hook has told of.
type silence struct {
	began  time.Time // of the program; what is older is of another
	open   map[string]bool
	known  map[string]bool // tool uses that a hook told of
	called map[string]transcript.Sign

	prompted bool      // a hook told of a prompt since began, or since one was sent
	answered time.Time // by the model, with no hook having told of a prompt
	spoke    time.Time // when a hook was last heard
	moved    time.Time // when the transcript last was
	stands   time.Time // since when the prompt has stood and no hook was heard
	over     time.Time // when the turn ended, if no hook reported that
}

func newSilence(now time.Time) *silence {
	return &silence{began: now, open: map[string]bool{}, known: map[string]bool{}, called: map[string]transcript.Sign{}}
}

// hook takes in what a hook told.
func (s *silence) hook(event, toolID string, now time.Time) {
	s.spoke, s.stands, s.over = now, time.Time{}, time.Time{}
	switch event {
	case "UserPromptSubmit", "PreCompact":
		s.prompted, s.answered = true, time.Time{}
	case "PreToolUse":
		s.known[toolID], s.open[toolID] = true, true
		delete(s.called, toolID)
	case "PostToolUse", "PostToolUseFailure":
		delete(s.open, toolID)
	case "Stop", "StopFailure":
		clear(s.open)
	}
}

// sent takes in that a prompt was sent, which a hook is to tell of.
func (s *silence) sent() { s.prompted, s.answered = false, time.Time{} }

// read takes in a sign of the transcript, and says what speaks against the hooks
// at once: nothing is let run of which a hook that works has not told before.
func (s *silence) read(sign transcript.Sign, now time.Time) (against string) {
	if sign.At.Before(s.began) {
		return ""
	}
	s.moved = now
	switch sign.What {
	case transcript.Answered:
		if !s.prompted && s.answered.IsZero() && !sign.Sub {
			s.answered = now
		}
	case transcript.TurnOver:
		if sign.At.After(s.spoke) {
			s.over = now
		}
	case transcript.Called:
		if !s.known[sign.ID] {
			s.called[sign.ID] = sign
		}
	case transcript.Ran, transcript.NotRun:
		delete(s.open, sign.ID)
		call, unknown := s.called[sign.ID]
		delete(s.called, sign.ID)
		switch {
		case !unknown || s.known[sign.ID]:
		case sign.What == transcript.Ran:
			return "it ran " + call.Tool + " without calling cmux's hook"
		case strings.HasPrefix(sign.Text, "PreToolUse:") && strings.Contains(sign.Text, "hook error"):
			return "its hook cannot be run (" + firstLine(sign.Text) + ")"
		}
	}
	return ""
}

// standing takes in whether the screen shows the prompt, without a dialog.
func (s *silence) standing(shown bool, now time.Time) {
	switch {
	case !shown || !s.spoke.IsZero():
		s.stands = time.Time{}
	case s.stands.IsZero():
		s.stands = now
	}
}

// against says what speaks against the hooks by now; empty: nothing.
func (s *silence) against(now time.Time) string {
	last := s.spoke
	if s.moved.After(last) {
		last = s.moved
	}
	switch {
	case !s.stands.IsZero() && now.Sub(s.stands) >= unheardPrompt:
		return "its prompt stands, and no hook has told of its start"
	case !s.answered.IsZero() && now.Sub(s.answered) >= unheardAnswer:
		return "the model answers, and no hook has told of a prompt"
	case len(s.open) == 0 && now.Sub(last) >= unheardCall: // else the call may wait for its turn
		for _, call := range s.called {
			return "the model uses " + call.Tool + ", and no hook has told of it"
		}
	}
	return ""
}

// turnOver reports whether the turn has ended without its hook, as it does where
// another hook stops it.
func (s *silence) turnOver(now time.Time) bool {
	return !s.over.IsZero() && now.Sub(s.over) >= unheardStop
}

// signs takes in what the transcript says beside its events.
func (a *instance) signs(signs []transcript.Sign, now time.Time) []news.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	var events []news.Event
	for _, s := range signs {
		if s.What == transcript.Read {
			a.heardOf(s.Text)
		}
		if given := a.given(s); given != "" {
			events = append(events, news.Read{Text: given, At: s.At})
		}
		if what := a.silence.read(s, now); what != "" {
			events = append(events, a.stops(a.unguarded(what), false)...)
		}
		if s.What == transcript.PromptRefused && !s.At.Before(a.silence.began) && (s.Said == "" || a.told(s.Said)) {
			events = append(events, a.stops("a hook in your own settings refuses what the agent is told ("+firstLine(s.Text)+"). It was stopped, because it would wait forever; change that hook to allow it, then answer `go on`", true)...)
		}
	}
	return events
}

// given is what the model was given with a sign, where that may be something of
// cmux's. It is called with the lock held.
func (a *instance) given(s transcript.Sign) string {
	switch {
	case s.Sub:
	case s.What == transcript.Read && a.mention != "" && sameText(s.Text, a.mention):
		return a.said
	case s.What == transcript.Read, s.What == transcript.Carried:
		return s.Text
	case s.What == transcript.Ran && len(mail.Seen(s.Text)) > 0: // such as the answer to its report
		return s.Text
	}
	return ""
}

// listens says what has come of time alone.
func (a *instance) listens(now time.Time) []news.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	if what := a.silence.against(now); what != "" {
		return a.stops(a.unguarded(what), false)
	}
	if !a.start.Headless && a.listener.busy && a.silence.turnOver(now) {
		a.silence.over = time.Time{}
		a.listener.busy, a.listener.asking = false, ""
		return []news.Event{news.TurnEnded{Said: a.stage.Events.Said()}}
	}
	return nil
}

// stops is the event that has the attempt stop the agent, once. It is called
// with the lock held.
func (a *instance) stops(why string, prompt bool) []news.Event {
	if a.stopped {
		return nil
	}
	a.stopped = true
	events := []news.Event{news.Stuck{Text: why, Own: prompt}}
	if a.heard.IsZero() && Transcript(a.stage.Env, a.start.Session) != "" {
		// No hook has told of the conversation in which it is to go on.
		events = append([]news.Event{news.Converses{ID: a.start.Session}}, events...)
	}
	return events
}

// told reports whether a prompt is one that was handed over.
func (a *instance) told(prompt string) bool {
	for _, t := range a.texts {
		if sameText(prompt, t) {
			return true
		}
	}
	return false
}

// unguarded is what a person is told.
func (a *instance) unguarded(what string) string {
	text := "Claude Code works without cmux's hooks: " + what + ". It was stopped, because nothing guards it; its conversation is kept."
	if why := a.whySilent(); why != "" {
		return text + " Likely because " + why + ": fix that, then answer `go on`"
	}
	return text + " Likely because hooks are turned off by a policy of your organization: see /hooks and /status in claude, fix it, then answer `go on`"
}

// managed are the files of policies, which stand above what a process is told.
var managed = []string{"/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-settings.d/*.json",
	"/Library/Application Support/ClaudeCode/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.d/*.json"}

// whySilent looks for what keeps hooks from speaking.
func (a *instance) whySilent() string {
	binary := a.stage.Binary
	if info, err := os.Stat(binary); err != nil {
		return fmt.Sprintf("the hooks' program is gone (%v); cmux agents resume puts it back", err)
	} else if info.Mode()&0o111 == 0 {
		return binary + " may not be executed"
	}
	if socket := proc.Getenv(a.stage.Env, "CMUX_SOCKET"); socket != "" {
		if _, err := os.Stat(socket); err != nil {
			return fmt.Sprintf("hooks cannot reach cmux (%v)", err)
		}
	}
	files := append([]string(nil), managed...)
	dir := a.stage.Dir
	files = append(files, globLiteral(filepath.Join(configDir(a.stage.Env), "settings.json")),
		globLiteral(filepath.Join(dir, ".claude", "settings.json")), globLiteral(filepath.Join(dir, ".claude", "settings.local.json")))
	for _, pattern := range files {
		found, _ := filepath.Glob(pattern)
		for _, file := range found {
			for _, key := range []string{"disableAllHooks", "allowManagedHooksOnly"} {
				if saysTrue(file, key) {
					return file + " says " + key
				}
			}
		}
	}
	return ""
}

// saysTrue reports whether a settings file sets key to true.
func saysTrue(file, key string) bool {
	var said map[string]any
	b, err := os.ReadFile(file)
	return err == nil && json.Unmarshal(b, &said) == nil && said[key] == true
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
