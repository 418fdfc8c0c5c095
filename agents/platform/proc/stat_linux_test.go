package proc

import (
	"testing"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestParseStat(t *testing.T) {
	line := "42 (a) b) (c) T 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2 3\n"
	st, err := parseStat([]byte(line))
	if err != nil || st != (stat{pid: 42, ppid: 7, session: 9, start: 12345, stopped: true, name: "a) b) (c"}) {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2 3\n"))
	f.Add([]byte("1 () Z"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, b []byte) {
		if st, err := parseStat(b); err == nil && st.zombie && st.stopped {
			t.Error("a dead process is stopped")
		}
	})
}
