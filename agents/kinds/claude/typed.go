package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/handover"
	"cmux/agents/kinds/transcript"
	"cmux/agents/records/mail"
	"cmux/signals"
)

// glance bounds a look at the screen when the program is about to be ended.
const glance = 2 * time.Second

// Unread implements agent.Typed. A line that was sent while a turn is under
// way joins it after the next tool, or begins the next turn; the transcript says
// when.
func (a *instance) Unread() []string {
	late := time.NewTimer(transcriptLag)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if len(a.unread()) == 0 {
			return nil
		}
		a.follow.catchUp()
		lines := a.unread()
		if len(lines) == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-a.program.Exited():
			return lines
		case <-late.C:
			return lines
		}
	}
}

// transcriptLag is how far the transcript may be behind what the agent does: a
// tool that it called after it had read a line can be heard of before the line.
const transcriptLag = 1500 * time.Millisecond

func (a *instance) unread() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lines)
}

// heardOf takes in that the agent was given text to read. It is called with the
// lock held.
func (a *instance) heardOf(text string) {
	text = plain(text)
	a.lines = slices.DeleteFunc(a.lines, func(line string) bool { return strings.Contains(text, plain(line)) })
}

// Draft implements agent.Typed.
func (a *instance) Draft(ctx context.Context) string {
	p, err := a.pane()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	s, _, err := p.look(ctx)
	if err != nil || s.Draft == "" {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.texts, func(text string) bool { return ours(s.Draft, text) }) {
		return "" // a person knows nothing of it
	}
	return s.Draft
}

// maxResumption is as much of one as is read.
const maxResumption = 4 << 20

// typedLine is what a person said in the program's prompt, as its file holds it.
type typedLine struct {
	Conversation string `json:"conversation"`
	Text         string `json:"text"`
}

// typedFile keeps what a person said until the program has written it into its
// transcript, which it does a while after its hook has told.
func (a *instance) typedFile() string {
	return filepath.Join(a.stage.Files.Dir, "typed.jsonl")
}

// keepTyped writes down what a person said.
func (a *instance) keepTyped(text string) error {
	b, err := json.Marshal(typedLine{a.start.Session, text})
	if err != nil {
		return err
	}
	log, err := signals.OpenLog(a.typedFile())
	if err != nil {
		return err
	}
	defer log.Close()
	return log.Append(a.ctx, false, b)
}

// unreadBefore returns what a person said to the agent in earlier attempts of the
// stage's conversation and the agent has not read. If the agent begins a new
// conversation, that is everything a person typed: the old one has no answer.
func (a *instance) unreadBefore() []string {
	before := a.stage.Conversation
	if before == "" {
		return nil
	}
	var typed []string
	// Without the file nobody has typed anything.
	signals.ReadLog(a.typedFile(), 0, func(line []byte, _ int64) error {
		var l typedLine
		if json.Unmarshal(line, &l) == nil && l.Conversation == before {
			typed = append(typed, l.Text)
		}
		return nil
	})
	if !a.start.Resume {
		return typed
	}
	return unread(Transcript(a.stage.Env, before), typed, a.saidBefore)
}

// resumption returns the file with what cmux told the agent when its program started for
// the k-th time in attempt n, counted from 1. A program that starts again leaves the
// earlier files as they are: the transcript names them.
func resumption(files agent.Files, n, k int) string {
	name := "resumption"
	if k > 1 {
		name += fmt.Sprintf(".%d", k)
	}
	return files.At(n, name, ".md")
}

// freshResumption returns the first of these files that does not exist yet.
func (a *instance) freshResumption() string {
	for k := 1; ; k++ {
		if _, err := signals.ReadFile(resumption(a.stage.Files, a.stage.Files.N, k), maxResumption); errors.Is(err, fs.ErrNotExist) {
			return resumption(a.stage.Files, a.stage.Files.N, k)
		}
	}
}

// saidBefore returns text and the content of the files that cmux named in it.
func (a *instance) saidBefore(text string) string {
	for n := 1; n <= a.stage.Files.N; n++ {
		for k := 1; ; k++ {
			said, err := signals.ReadFile(resumption(a.stage.Files, n, k), maxResumption)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err == nil && strings.Contains(text, handover.Mention(resumption(a.stage.Files, n, k))) {
				text += "\n" + string(said)
			}
		}
	}
	return text
}

// unread is what is in the transcript at path, or was typed, without having been
// read. whole gives what a text that was read says in whole.
func unread(path string, typed []string, whole func(string) string) []string {
	f := transcript.NewFollower(path, 0)
	f.Read() // what cannot be read was not said
	var waiting []string
	for _, s := range f.Signs() {
		if s.Sub {
			continue
		}
		text := plain(s.Text)
		switch {
		case s.What == transcript.Queued && (len(mail.Seen(s.Text)) > 0 || handover.TaskTold(s.Text) != ""):
			continue // cmux sends it again
		case s.What == transcript.Queued:
			waiting = append(waiting, s.Text)
		case s.What == transcript.Unqueued && s.Text == "" && len(waiting) > 0:
			waiting = waiting[1:]
		case s.What == transcript.Read, s.What == transcript.Unqueued:
			text = plain(whole(s.Text))
			waiting = slices.DeleteFunc(waiting, func(w string) bool { return strings.Contains(text, plain(w)) })
		default:
			continue
		}
		// What the transcript knows of is judged by it alone.
		typed = slices.DeleteFunc(typed, func(t string) bool { return strings.Contains(text, plain(t)) })
	}
	return append(waiting, typed...)
}
