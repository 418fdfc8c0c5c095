package attempt

import (
	"testing"
	"time"

	"cmux/agents/kinds/news"
)

// A time counts from when a command began, less what the times of files lag,
// until it ended, its turn ended, or its program did.
func TestShells(t *testing.T) {
	t0 := time.Now()
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))).Round(0) }
	type heard struct {
		at float64
		e  news.Event
	}
	began := func(s float64, id string) heard { return heard{s, news.ShellBegan{ID: id}} }
	ended := func(s float64, id string) heard { return heard{s, news.ShellEnded{ID: id}} }
	for _, tt := range []struct {
		name    string
		heard   []heard
		yes, no []float64
	}{
		{"none", nil, nil, []float64{0, 1}},
		{"one", []heard{began(1, "a"), ended(3, "a")}, []float64{0.99, 1, 2, 3}, []float64{0.9, 3.01}},
		{"still at work", []heard{began(1, "a")}, []float64{1, 100}, []float64{0.5}},
		{"another's end", []heard{began(1, "a"), ended(3, "b")}, []float64{4}, nil},
		{"two at once", []heard{began(1, "a"), began(2, "b"), ended(3, "a"), ended(5, "b")}, []float64{1.5, 4, 5}, []float64{0, 6}},
		{"two apart", []heard{began(1, "a"), ended(2, "a"), began(4, "b"), ended(5, "b")}, []float64{1.5, 4.5}, []float64{3, 6}},
		{"told of twice", []heard{began(1, "a"), began(2, "a"), ended(3, "a"), ended(4, "a")}, []float64{1.5}, []float64{3.5}},
		{"the turn ended", []heard{began(1, "a"), {2, news.TurnEnded{}}}, []float64{1.5}, []float64{3}},
		{"a sub-agent goes on", []heard{began(1, "a"), {2, news.TurnEnded{Background: 1}}}, []float64{3}, nil},
		{"the call of the model failed", []heard{began(1, "a"), {2, news.Faltered{}}}, []float64{1.5}, []float64{3}},
		{"a limit", []heard{began(1, "a"), {2, news.LimitMet{}}}, []float64{1.5}, []float64{3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s shells
			for _, h := range tt.heard {
				s.hear(h.e, at(h.at))
			}
			for _, v := range tt.yes {
				if !s.at(at(v)) {
					t.Errorf("at %v no command was at work", v)
				}
			}
			for _, v := range tt.no {
				if s.at(at(v)) {
					t.Errorf("at %v a command was at work", v)
				}
			}
		})
	}
	var many shells
	for i := range 2 * maxSpans {
		many.hear(news.ShellBegan{ID: "a"}, at(float64(2*i)))
		many.hear(news.ShellEnded{ID: "a"}, at(float64(2*i+1)))
	}
	if last := at(4*maxSpans - 1.5); len(many.past) != maxSpans || !many.at(last) || many.at(at(0.5)) {
		t.Errorf("%d are kept", len(many.past))
	}
}
