package dag

import (
	"testing"
	"time"
)

// Every label of the table of markers, with where it is known from, its age
// and its reason.
func TestLabel(t *testing.T) {
	at, now := nine, nine.Add(5*time.Minute)
	fact := func(f Fact) Fact {
		f.Source, f.At = "record", at
		return f
	}
	for _, tc := range []struct {
		name string
		fact Fact // of node n, which depends on dep
		dep  Fact
		n    string // options of n, as graphOf
		want Status
	}{
		{"done", fact(Fact{Phase: Ended, Outcome: Done}), Fact{}, "", Status{Label: "done"}},
		{"override", fact(Fact{Phase: Ended, Outcome: Override}), Fact{}, "", Status{Label: "done (override)"}},
		{"still open", fact(Fact{Phase: Ended, Outcome: Override, StillOpen: true}), Fact{}, "", Status{Label: "done (override), still open"}},
		{"exit", fact(Fact{Phase: Ended, Outcome: Failed, Exit: 137}), Fact{}, "", Status{Label: "failed (exit 137)"}},
		{"cancelled", fact(Fact{Phase: Ended, Outcome: Cancelled, Exit: 130}), Fact{}, "", Status{Label: "failed (cancelled)"}},
		{"by hand, still open", fact(Fact{Phase: Ended, Outcome: Failed, Exit: 3, Reason: ReasonByHand, StillOpen: true}), Fact{}, "",
			Status{Label: "failed (by hand)", Reason: "its attempt is still open"}},
		{"detail", fact(Fact{Phase: Ended, Outcome: Failed, Exit: 1, Reason: ReasonChecks, Detail: "go test ./... failed"}), Fact{}, "",
			Status{Label: "failed (checks)", Reason: "go test ./... failed"}},
		{"running", fact(Fact{Phase: Running, Attempts: 1}), Fact{}, "", Status{Label: "running"}},
		{"setup", fact(Fact{Phase: Running, Attempts: 1, Activity: SettingUp, Detail: "npm ci"}), Fact{}, "", Status{Label: "running", Reason: "npm ci"}},
		{"checking", fact(Fact{Phase: Running, Attempts: 1, Activity: Checking}), Fact{}, "", Status{Label: "checking"}},
		{"taken over", fact(Fact{Phase: Running, Attempts: 1, Activity: TakenOver}), Fact{}, "", Status{Label: "taken over"}},
		{"needs input", fact(Fact{Phase: Paused, Attempts: 1, Activity: NeedsInput, Detail: "which port?"}), Fact{}, "",
			Status{Label: "needs input", Reason: "which port?"}},
		{"limited", fact(Fact{Phase: Paused, Attempts: 1, Activity: AtLimit, Until: at.Add(90 * time.Minute)}), Fact{}, "", Status{Label: "limited until 10:30"}},
		{"limited for an unknown time", fact(Fact{Phase: Paused, Attempts: 1, Activity: AtLimit}), Fact{}, "", Status{Label: "limited"}},
		{"waiting", Fact{}, Fact{Phase: Running, Attempts: 1}, "", Status{Label: "waiting", Source: SourceDerived, Reason: "waits for dep"}},
		{"blocked", Fact{}, fact(Fact{Phase: Ended, Outcome: Failed, Exit: 1}), "",
			Status{Label: "blocked (dep failed)", Source: SourceDerived, Age: 5 * time.Minute}},
		{"blocked by a cancelled one", Fact{}, fact(Fact{Phase: Ended, Outcome: Cancelled}), "",
			Status{Label: "blocked (dep cancelled)", Source: SourceDerived, Age: 5 * time.Minute}},
		{"gate", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/gate",
			Status{Label: "needs input", Source: SourceDerived, Reason: "cmux agents approve n"}},
		{"gate that asks for a code", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/gate/code",
			Status{Label: "needs input", Source: SourceDerived, Reason: "cmux agents approve n, which asks for a code in a terminal of yours"}},
		{"lost while a dependency is done again", fact(Fact{Lost: true, Losses: 1}), Fact{Phase: Running, Attempts: 2}, "",
			Status{Label: "lost", Reason: "waits for dep"}},
		{"lost", fact(Fact{Lost: true, Losses: 1}), Fact{Phase: Ended, Outcome: Done}, "", Status{Label: "lost", Reason: "waits for a slot"}},
		{"lost too often", fact(Fact{Lost: true, Losses: 4, Held: true}), Fact{}, "",
			Status{Label: "lost", Reason: "lost 4 times: cmux agents retry n"}},
		{"lost, ask", fact(Fact{Lost: true, Losses: 1, Held: true}), Fact{}, "/ask",
			Status{Label: "lost", Reason: "on_lost: ask: cmux agents retry n"}},
		{"retry", fact(Fact{Tries: 2, Exit: 1, NotBefore: now.Add(12 * time.Second)}), Fact{Phase: Ended, Outcome: Done}, "/retries=3",
			Status{Label: "ready", Reason: "failed (exit 1); retry 2 of 3 in 12s"}},
		{"ready", Fact{}, Fact{Phase: Ended, Outcome: Done}, "", Status{Label: "ready", Source: SourceDerived, Reason: "waits for a slot"}},
		{"pool", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/pool=full",
			Status{Label: "ready", Source: SourceDerived, Reason: "waits for a place in pool full"}},
		{"account", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/account=work",
			Status{Label: "limited until 10:00", Source: SourceDerived, Reason: "account work is at its limit"}},
		{"queued", fact(Fact{Phase: Queued, Attempts: 1}), Fact{}, "", Status{Label: "ready", Reason: "goes on when a slot is free"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := graphOf(t, "max=1 full:1 dep busy busy2/pool=full n<dep"+tc.n)
			s := Rebuild(g, Facts{Now: now, Limits: map[string]time.Time{"work": nine.Add(time.Hour)},
				Nodes: []Fact{tc.dep, {Phase: Running, Attempts: 1}, {Phase: Running, Attempts: 1}, tc.fact}})
			want := tc.want
			if want.Source == "" {
				want.Source, want.Age = "record", 5*time.Minute
			}
			if got := s.Label(3, now); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestFailedLabels(t *testing.T) {
	for _, r := range []Reason{
		ReasonTimeout, ReasonChecks, ReasonScope, ReasonConflict, ReasonSetup, ReasonBudget, ReasonIdle,
		ReasonLost, ReasonOnComplete, ReasonReported, ReasonNoReport, ReasonBadMarker, ReasonByHand,
	} {
		g := graphOf(t, "a")
		s := Rebuild(g, Facts{Nodes: []Fact{{Phase: Ended, Outcome: Failed, Exit: 1, Reason: r}}})
		if got, want := s.Label(0, nine).Label, "failed ("+string(r)+")"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A time of day is told in the location of who asks, an age is never negative
// (the clock may have been set back), and a far root cause is named.
func TestLabelDetails(t *testing.T) {
	g := graphOf(t, "a b<a c<b d<c x/account=work")
	s := Rebuild(g, Facts{Now: nine, Limits: map[string]time.Time{"work": nine.Add(time.Hour)},
		Nodes: []Fact{{Phase: Ended, Outcome: Failed, Exit: 1, At: nine}, {}, {}, {}, {}}})
	if got := s.Label(4, nine.In(time.FixedZone("", 2*3600))).Label; got != "limited until 12:00" {
		t.Errorf("label %q", got)
	}
	if got := s.Label(0, nine.Add(-time.Hour)).Age; got != 0 {
		t.Errorf("age %v", got)
	}
	if got := s.Label(3, nine); got.Label != "blocked (c blocked)" || got.Reason != "because a failed" {
		t.Errorf("status %+v", got)
	}
}
