package standing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/records/alert"
	"cmux/dag"
)

// An alert stands from when the keeper tells it, which answers how it did, and refuses
// what is too often.
func TestAlert(t *testing.T) {
	w := newWorld(t)
	set := w.org().Settings
	set.Notify, set.Voice = dag.Notify{Bell: true}, false
	if err := w.org().Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	ask := func(text string) string {
		return w.ask(OpAlert, "", Ask{By: "api", Alert: &alert.Alert{Level: alert.Info, By: "api", Text: text}})
	}
	file := filepath.Join(w.org().Root(), ".cmux", alert.Name)
	first := ask("the build is red")
	if _, err := os.Stat(file); err == nil {
		t.Error("it stands as told, and nobody told it")
	}
	stop := w.keep() // with no terminal to ring
	if a := w.answered(first); a.Refused != "" || string(a.Made) != "[]" {
		t.Errorf("%+v", a)
	}
	if a := w.answered(ask("the build is red")); !strings.Contains(a.Refused, "api sent this alert at") {
		t.Errorf("%+v", a)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	bells := 0
	w.bell = func() { bells++ }
	stop = w.keep()
	for i := range alert.Each {
		a := w.answered(ask(fmt.Sprint("it is red still: ", i)))
		if many := i == alert.Each-1; many != (a.Refused != "") || !many && string(a.Made) != `["bell"]` {
			t.Errorf("%d: %+v", i, a)
		}
	}
	if err := stop(); err != nil || bells != alert.Each-1 {
		t.Error(err, bells)
	}
	all, err := os.ReadFile(file)
	if n := strings.Count(string(all), "\n"); err != nil || n != alert.Each {
		t.Errorf("%d lines, %v", n, err)
	}
}
