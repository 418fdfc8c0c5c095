package room

import (
	"fmt"
	"testing"
	"time"
)

// talk are the lines of a room of four in which so many messages were said, half of them by
// the person and read by nobody yet.
func talk(messages int) []Line {
	settings := Defaults()
	settings.Policy = Mentioned
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	lines := []Line{{Kind: KindOpened, Settings: &settings}}
	for _, name := range []string{"a", "b", "c", "d"} {
		lines = append(lines, Line{Kind: KindJoined, Name: name})
	}
	for i := range messages / 2 {
		lines = append(lines,
			Line{Kind: KindSaid, By: User, Text: "what do you think of this one?", Key: fmt.Sprint(i)},
			Line{Kind: KindSaid, By: "a", Text: "I think it is well as it is.", Turn: "t1", Key: fmt.Sprint("a", i)})
	}
	for i := range lines {
		lines[i].N, lines[i].At = int64(i+1), at
	}
	return lines
}

// BenchmarkFold10k is the start of a room of 10,000 messages.
func BenchmarkFold10k(b *testing.B) {
	lines := talk(10_000)
	for b.Loop() {
		if s := Fold("r", lines); len(s.Messages) != 10_000 {
			b.Fatal("lost some")
		}
	}
}

// BenchmarkStep10k is one more message in such a room, which wakes all.
func BenchmarkStep10k(b *testing.B) {
	lines := talk(10_000)
	s := Fold("r", lines)
	for i := range s.Members {
		s.Members[i].Stand.Is = Idle
	}
	said := Lines{{N: s.N + 1, At: lines[0].At, Kind: KindSaid, By: User, Text: "go", Wakes: []string{"a", "b", "c", "d"}}}
	for b.Loop() {
		Step(s, Event{At: lines[0].At, What: said})
	}
}
