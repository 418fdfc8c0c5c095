package question

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestYes(t *testing.T) {
	for answer, want := range map[string]string{"y": "true ", " Yes. ": "true ", "OK": "true ", "1": "true ", "accept": "true ", "Approved!": "true ", "go on": "true ", "no": "false ", "2": "false ", "decline": "false ", "": "false ", "only in src/": "false only in src/"} {
		yes, more := Yes(answer)
		if got := fmt.Sprint(yes, " ", more); got != want {
			t.Errorf("%q: %q", answer, got)
		}
	}
}

func TestSpread(t *testing.T) {
	if got := Spread(" a\nb ", 2); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	if got := Spread("a\nb", 1); !reflect.DeepEqual(got, []string{"a\nb"}) {
		t.Errorf("%q", got)
	}
	if got := []string{Option("2", []string{"l", "r"}), Option("3", []string{"l", "r"}), Option("02", []string{"l", "r"}), Option("up", nil)}; !reflect.DeepEqual(got, []string{"r", "3", "r", "up"}) {
		t.Errorf("%q", got)
	}
}

func TestPermission(t *testing.T) {
	make := Permit("use Bash? make", "", Permission{Tool: "Bash", Command: "make"})
	which := New("Which\none?", "Red", "Blue")
	plan := Agree("approve the plan?\n1. do it")
	for _, c := range []struct {
		question Question
		answer   string
		unclear  bool
		replied  string
	}{
		{make, "yes", false, "allowed: may it use Bash? make"},
		{make, " 1 ", false, "allowed: may it use Bash? make"},
		{make, "no", false, "refused: may it use Bash? make"},
		{make, "no, use the script", false, "refused, with your words: may it use Bash? make"},
		{make, "use the script", false, "refused, with your words: may it use Bash? make"},
		{make, "ok go", true, "refused, with your words: may it use Bash? make"},
		{make, "Yes, but only in src", true, "refused, with your words: may it use Bash? make"},
		{make, "yes\nyes", true, "refused, with your words: may it use Bash? make"},
		{make, "3", true, "refused, with your words: may it use Bash? make"},
		{plan, "yes", false, "allowed: approve the plan?"},
		{plan, "ok go", true, "refused, with your words: approve the plan?"},
		{plan, "no, shorter", false, "refused, with your words: approve the plan?"},
		{which, "ok go", false, "answered: Which one?"},
		{New(strings.Repeat("ä", 200)), "x", false, "answered: " + strings.Repeat("ä", 119) + "…"},
	} {
		if c.question.Unclear(c.answer) != c.unclear {
			t.Errorf("%q to %s: unclear %t", c.answer, c.question, !c.unclear)
		}
		if got := c.question.Replied(c.answer); got != c.replied {
			t.Errorf("%q to %s: %s", c.answer, c.question, got)
		}
	}
}
