package question

import (
	"fmt"
	"reflect"
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
