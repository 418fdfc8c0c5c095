package claude

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/platform/tmux"
	"cmux/signals"
)

const (
	lookAgain  = 250 * time.Millisecond // at a pane that takes no text now
	enterAfter = 150 * time.Millisecond // of a paste that is not drawn: an Enter that comes at once may be taken as part of it
	drawnAgain = 10 * time.Millisecond  // between looks for a paste
	confirmed  = 3 * time.Second        // wait for a prompt's hook before Enter is pressed again
	maxEnters  = 5
	showsAfter = time.Second // of a paste: wait for the program to draw it
	maxEmpty   = 5           // looks at an empty prompt before the text is given up as cleared
	maxPastes  = 3
	idleLook   = 15 * time.Second // between looks at a standing agent that rests
	longQuiet  = 8 * time.Second  // without a hook in a turn, after which the screen is looked at
	greeting   = time.Second      // wait for the first hook before the screen is looked at, and between looks
)

// pane is the program's pane.
type pane struct {
	server tmux.Server
	id     string
}

func (a *instance) pane() (*pane, error) {
	t := a.stage.Terminal
	if t == nil || t.Pane == "" || t.Tmux == "" {
		return nil, errors.New("it has no tmux pane to type into")
	}
	return &pane{tmux.Server{Socket: t.Tmux}, t.Pane}, nil
}

// look is what the pane shows, and whether keys reach the program.
func (p *pane) look(ctx context.Context) (s screen, reachable bool, err error) {
	// In one go: the cursor must be that of the screen.
	out, err := p.server.ExecAll(ctx,
		[]string{"display-message", "-p", "-t", p.id, "#{pane_in_mode} #{cursor_y}"},
		[]string{"capture-pane", "-p", "-e", "-t", p.id})
	if err != nil {
		return s, false, err
	}
	where, text, _ := strings.Cut(out, "\n")
	var mode, row int
	if _, err := fmt.Sscanf(where, "%d %d", &mode, &row); err != nil {
		return s, false, fmt.Errorf("tmux says %q of its pane: %w", where, err)
	}
	return readScreen(text, row), mode == 0, nil
}

// paste hands text over as a prompt of the terminal program. It waits for as
// long as the conversation lets no key be pressed, and returns when the program's
// hook has confirmed the prompt or its screen shows that it is queued.
func (a *instance) paste(ctx context.Context, text string) error {
	p, err := a.pane()
	if err != nil {
		return err
	}
	back, err := a.takeBack(ctx, p)
	if err != nil {
		return err
	}
	if back != "" {
		text = back + "\n\n" + text
	}
	file := a.stage.Files.File("delivery", ".txt")
	if err := signals.PutFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	defer signals.RemoveFile(file)
	arrived := a.expect(text)
	own := func(string) bool { return false } // nothing is pasted yet
	for range maxPastes {
		taken, err := a.pasteOnce(ctx, p, file, text, arrived, own, false)
		if taken && err == nil {
			a.mu.Lock()
			a.putBack = ""
			a.mu.Unlock()
		}
		if taken || err != nil {
			return err
		}
		// A program that was slow to read may show the earlier paste only now.
		own = func(draft string) bool { return ours(draft, text) }
	}
	return errors.New("its prompt was cleared each time")
}

// pasteOnce is paste; it reports false when the text was cleared away before it
// was sent, as by a person's Escape. An own draft is sent as it is. Nothing may tell
// that a command was taken: once Enter was pressed, an empty prompt says so.
func (a *instance) pasteOnce(ctx context.Context, p *pane, file, text string, arrived <-chan struct{}, own func(draft string) bool, command bool) (taken bool, err error) {
	s, err := a.awaitLeave(ctx, p, arrived, own)
	if err != nil || isClosed(arrived) {
		return err == nil, err
	}
	if s.Draft == "" {
		buffer := "cmux-" + strings.TrimPrefix(p.id, "%")
		if _, err := p.server.ExecAll(ctx,
			[]string{"load-buffer", "-b", buffer, file},
			[]string{"paste-buffer", "-p", "-d", "-b", buffer, "-t", p.id}); err != nil {
			return false, err
		}
		if err := a.awaitDrawn(ctx, p, text); err != nil {
			return false, err
		}
	}
	for pressed, empty := 0, 0; empty < maxEmpty; {
		// Enter would answer a dialog that has opened meanwhile, or send what a
		// person has begun to type.
		s, err := a.awaitLeave(ctx, p, arrived, func(draft string) bool { return ours(draft, text) })
		if err != nil || isClosed(arrived) {
			return true, err
		}
		pause := confirmed
		switch {
		case s.Draft != "" && pressed == maxEnters:
			return false, errors.New("its prompt did not take the text")
		case s.Draft != "":
			a.sending()
			if _, err := p.server.Exec(ctx, "send-keys", "-t", p.id, "Enter"); err != nil {
				return false, err
			}
			pressed++
		case pressed == 0:
			pause = showsAfter // it has not drawn the paste yet
		}
		if err := a.wait(ctx, pause, arrived); err != nil || isClosed(arrived) {
			return true, err
		}
		s, reachable, err := p.look(ctx)
		switch {
		case err != nil:
			return false, err
		case !reachable || !s.Prompt || s.Draft != "":
		case pressed > 0 && (command || a.Busy()):
			return true, nil // a message is queued: to be read when the turn is over
		default:
			empty++ // it is slow, or the text was cleared
		}
	}
	return false, nil
}

// pastedRE is what the prompt shows instead of a paste that is long.
var pastedRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[Pasted text #\d+(?: \+\d+ lines?)?\]$`) })

// awaitDrawn waits until the prompt shows the text that was pasted: the program has
// taken it in, and an Enter is a key of its own. It waits for enterAfter at most.
func (a *instance) awaitDrawn(ctx context.Context, p *pane, text string) error {
	for began := time.Now(); time.Since(began) < enterAfter; {
		if err := a.wait(ctx, drawnAgain, nil); err != nil {
			return err
		}
		if s, _, err := p.look(ctx); err != nil || s.Draft != "" && ours(s.Draft, text) {
			return err
		}
	}
	return nil
}

// ours reports whether what stands in the prompt is what was pasted into it, and
// nothing else. Of a long text the prompt shows a part; it breaks lines, also
// within words, and leaves out characters that it cannot show.
func ours(draft, text string) bool {
	if pastedRE().MatchString(strings.TrimSpace(draft)) {
		return true
	}
	shown, whole := letters(draft), letters(text)
	if shown == "" {
		return whole == "" && strings.TrimSpace(draft) != ""
	}
	return shown == whole || len(shown) >= 10 && strings.HasSuffix(whole, shown)
}

// letters are the characters of a text that every screen shows.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && unicode.IsGraphic(r) && r != ' ' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, plain(text))
}

// awaitLeave waits until the conversation lets a key be pressed, and returns the
// screen as it was directly before. Asking takes a while, in which a person or a
// dialog may have come: the last look decides whether the leave still holds. It
// returns once arrived is closed, too: there is nothing left to press.
func (a *instance) awaitLeave(ctx context.Context, p *pane, arrived <-chan struct{}, own func(draft string) bool) (screen, error) {
	var leave news.Screen // what may be typed into; nil: nothing
	for {
		s, reachable, err := p.look(ctx)
		if err != nil {
			return s, err
		}
		shows := s.shows(reachable, own)
		if shows == leave {
			return s, nil
		}
		may, err := a.stage.MayType(ctx, shows)
		if err != nil {
			return s, err
		}
		if leave = nil; may {
			leave = shows
			continue
		}
		if err := a.wait(ctx, lookAgain, arrived); err != nil || isClosed(arrived) {
			return s, err
		}
	}
}

// wait waits for d, or for ch. It fails when the program or ctx ends.
func (a *instance) wait(ctx context.Context, d time.Duration, ch <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ch:
		return nil
	case <-a.program.Exited():
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// firstRun says what a dialog of a first run wants. Its default answer ends the
// program, so nothing is ever typed.
var firstRun = map[string]string{
	"trust":  "Claude Code asks whether you trust the folder",
	"key":    "Claude Code asks whether to use the API key of the environment",
	"bypass": "Claude Code asks whether to accept the bypass permissions mode",
	"login":  "Claude Code asks to log in",
	"auto":   "Claude Code offers its auto mode",
}

// dialogText says what a dialog wants; "" when there is none.
func dialogText(dialog string) string {
	if what := firstRun[dialog]; what != "" || dialog == "" {
		return what
	}
	return "Claude Code shows a dialog"
}

// watchDialogs looks at the screen for what no hook tells of: dialogs, those of
// a first run before the first hook, hooks of a person's that do not return, and
// a prompt that stands while no hook speaks.
func (a *instance) watchDialogs(ctx context.Context) {
	p, err := a.pane()
	if err != nil || a.wait(ctx, greeting, a.greeted) != nil {
		return
	}
	asked, open := "", awaited{}
	for {
		if of := a.asksPerson(); of != 0 {
			if of != open.of {
				open = awaited{of: of}
			}
			s, _, err := p.look(ctx)
			if err != nil {
				return
			}
			if open.answered(s, time.Now()) && a.stopAsking(of) && a.stage.Tell(ctx, news.WentOn{}) != nil {
				return
			}
		}
		what, words := "", ""
		if asked != "" || a.quiet() {
			s, _, err := p.look(ctx)
			if err != nil {
				return
			}
			if firstRun[s.Dialog] == "" && a.rests() {
				s.Dialog = "" // of a menu that a person opens nobody has to be told
			}
			if what = dialogText(s.Dialog); what == "" && s.Hooks != "" {
				what = "hooks of your own settings do not return (" + s.Hooks + "); Escape breaks them off"
			}
			words = s.Words
			a.standing(s)
		}
		var e news.Event
		switch {
		case what != "" && what+heading(words) != asked:
			text := what
			if strings.HasPrefix(what, "Claude Code") {
				text += ": answer it in its pane"
			}
			if words != "" {
				text += "\n" + words
			}
			e = news.Asked{Question: question.InPane(text)}
		case what == "" && asked != "":
			e = news.WentOn{}
		}
		asked = what
		if what != "" {
			asked += heading(words)
		}
		if e != nil && a.stage.Tell(ctx, e) != nil {
			return
		}
		if asked != "" && a.asksPerson() != 0 {
			asked = "" // a hook has told of it since the look
		}
		pause, woken := greeting, a.greeted
		if isClosed(a.greeted) {
			pause, woken = a.untilQuiet(), a.asks
			if asked != "" {
				pause = slowLook
			}
		}
		if a.wait(ctx, pause, woken) != nil {
			return
		}
	}
}

// awaited is a dialog of which a hook told, and which waits for a person.
type awaited struct {
	of    int // which one it is, as asksPerson says
	shown bool
	since time.Time // when a look first saw the turn continue without it
}

// answered compares the screen and reports whether a person has answered the dialog: a look
// has seen the dialog, and the turn continues without it. The next hook comes only when the
// allowed tool has ended, which may take long. A person may answer between two looks: so
// the dialog also counts as answered if no look has seen it for a while.
func (w *awaited) answered(s screen, now time.Time) bool {
	if s.Dialog != "" || !s.Prompt || !s.Busy {
		*w = awaited{of: w.of, shown: w.shown || s.Dialog != ""}
		return false
	}
	if w.since.IsZero() {
		w.since = now
	}
	if !w.shown && now.Sub(w.since) < 2*slowLook { // it may not be drawn yet
		return false
	}
	*w = awaited{of: w.of}
	return true
}

// asksPerson returns the number of the dialog that a hook told of and that waits for a
// person; 0: none does.
func (a *instance) asksPerson() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.listener.busy || a.listener.asking == "" {
		return 0
	}
	return a.listener.dialogs
}

// stopAsking takes in that a dialog is gone. It returns false when a hook has told so
// already, or has told of another dialog since.
func (a *instance) stopAsking(of int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listener.asking == "" || a.listener.dialogs != of {
		return false
	}
	a.listener.asking = ""
	return true
}

// heading is what tells the dialog with these words from another: all before its
// options, in which a person may type.
func heading(words string) string {
	lines := strings.Split(words, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), firstOption) {
			return strings.Join(lines[:i], "\n")
		}
	}
	return words
}

// standing takes in what the screen shows.
func (a *instance) standing(s screen) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.silence.standing(s.Prompt, time.Now())
}

// sending takes in that a prompt is sent, of which a hook is to tell.
func (a *instance) sending() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.silence.sent()
}

// untilQuiet is how long to wait before the screen may be worth a look.
func (a *instance) untilQuiet() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.idle() {
		return max(slowLook, min(idleLook, time.Since(a.heard)))
	}
	if left := a.patience - time.Since(a.heard); left > slowLook && a.listener.asking == "" {
		return left
	}
	return slowLook
}

// rests is idle, for callers that do not hold a.mu.
func (a *instance) rests() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle()
}

// quiet reports whether the program may show a dialog that nobody knows of.
func (a *instance) quiet() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard.IsZero() || a.idle() || a.listener.busy && a.listener.asking == "" && time.Since(a.heard) > a.patience
}

// patienceAfter returns how long after a hook the screen is worth a look, if no further
// hook comes in a turn. In its auto mode the program tells of a dialog only after six
// seconds, by a notification; it opens after a call of a tool that cmux left to the
// program (unjudged).
func patienceAfter(hook string, unjudged bool) time.Duration {
	switch {
	case hook == "Notification":
		return 0
	case hook == "PreToolUse" && unjudged:
		return slowLook
	}
	return longQuiet
}

// idle reports whether the program of a standing agent rests at its prompt, according to
// its hooks. The program may open a dialog there that no hook reports.
func (a *instance) idle() bool {
	return a.stage.Stays && !a.heard.IsZero() && !a.listener.busy && a.listener.asking == "" && time.Since(a.heard) >= slowLook
}
