package stdio

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/event"
	"cmux/agents/records/unfinished"
	"cmux/signals"
)

// The pieces of a text are what the agent is writing, until the text is shown. Thoughts are
// not.
func TestSpeechIsUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		if err := errors.Join(signals.Init(root), signals.MkdirAll(unfinished.Dir(root), 0o700)); err != nil {
			t.Fatal(err)
		}
		to := &agent.Stage{Unfinished: unfinished.New(root, "design.ada"), Out: io.Discard, Lines: new(event.Printer)}
		defer to.Unfinished.Close()
		var s Speech
		want := func(text string) {
			t.Helper()
			time.Sleep(unfinished.Every) // of the bubble's clock
			synctest.Wait()
			if p, err := unfinished.Read(filepath.Join(unfinished.Dir(root), "design.ada")); err != nil || p.Text != text {
				t.Errorf("%q (%v), want %q", p.Text, err, text)
			}
		}
		s.Add(to, event.Thought, "Hm.")
		want("")
		s.Add(to, event.Text, " Post")
		s.Add(to, event.Text, "gres")
		want(" Postgres")
		s.Add(to, event.Thought, "Or not?")
		want("")
		s.Add(to, event.Text, "SQLite")
		want("SQLite")
		s.Flush(to)
		want("")
	})
}
