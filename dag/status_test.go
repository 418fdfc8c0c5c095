package dag

import (
	"testing"
	"time"
)

// Every status, with its source, its age and its reason, in words and in the parts of its
// label.
func TestStatus(t *testing.T) {
	at, now := nine, nine.Add(5*time.Minute)
	fact := func(f Fact) Fact {
		f.Source, f.At = "record", at
		return f
	}
	for _, tc := range []struct {
		name  string
		fact  Fact // of node n, which depends on dep
		dep   Fact
		n     string // options of n, as graphOf
		words string
		want  Status
	}{
		{"done", fact(Fact{Phase: Ended, Outcome: Done}), Fact{}, "", "done", Status{Label: Label{State: NodeDone}}},
		{"override", fact(Fact{Phase: Ended, Outcome: Override}), Fact{}, "", "done (override)", Status{Label: Label{State: NodeDone, Reason: ReasonOverride}}},
		{"still open", fact(Fact{Phase: Ended, Outcome: Override, StillOpen: true}), Fact{}, "", "done (override), still open", Status{Label: Label{State: NodeDone, Reason: ReasonOverride, Open: true}}},
		{"exit", fact(Fact{Phase: Ended, Outcome: Failed, Exit: 137}), Fact{}, "", "failed (exit 137)", Status{Label: Label{State: NodeFailed, Code: 137}}},
		{"cancelled", fact(Fact{Phase: Ended, Outcome: Cancelled, Exit: 130}), Fact{}, "", "failed (cancelled)", Status{Label: Label{State: NodeFailed, Reason: ReasonCancelled}}},
		{"by hand, still open", fact(Fact{Phase: Ended, Outcome: Failed, Exit: 3, Reason: ReasonByHand, StillOpen: true}), Fact{}, "",
			"failed (by hand)", Status{Label: Label{State: NodeFailed, Reason: ReasonByHand, Open: true}, Reason: "its attempt is still open"}},
		{"detail", fact(Fact{Phase: Ended, Outcome: Failed, Exit: 1, Reason: ReasonChecks, Detail: "go test ./... failed"}), Fact{}, "",
			"failed (checks)", Status{Label: Label{State: NodeFailed, Reason: ReasonChecks, Detail: "go test ./... failed"}, Reason: "go test ./... failed"}},
		{"running", fact(Fact{Phase: Running, Attempts: 1}), Fact{}, "", "running", Status{Label: Label{State: NodeRunning}}},
		{"setup", fact(Fact{Phase: Running, Attempts: 1, Activity: SettingUp, Detail: "npm ci"}), Fact{}, "", "running", Status{Label: Label{State: NodeRunning, Detail: "npm ci"}, Reason: "npm ci"}},
		{"checking", fact(Fact{Phase: Running, Attempts: 1, Activity: Checking}), Fact{}, "", "checking", Status{Label: Label{State: NodeChecking}}},
		{"taken over", fact(Fact{Phase: Running, Attempts: 1, Activity: TakenOver}), Fact{}, "", "taken over", Status{Label: Label{State: NodeTakenOver}}},
		{"needs input", fact(Fact{Phase: Paused, Attempts: 1, Activity: NeedsInput, Detail: "which port?"}), Fact{}, "",
			"needs input", Status{Label: Label{State: NodeNeedsInput, Detail: "which port?"}, Reason: "which port?"}},
		{"limited", fact(Fact{Phase: Paused, Attempts: 1, Activity: AtLimit, Until: at.Add(90 * time.Minute)}), Fact{}, "", "limited until 10:30", Status{Label: Label{State: NodeLimited, Until: at.Add(90 * time.Minute)}}},
		{"limited for an unknown time", fact(Fact{Phase: Paused, Attempts: 1, Activity: AtLimit}), Fact{}, "", "limited", Status{Label: Label{State: NodeLimited}}},
		{"waiting", Fact{}, Fact{Phase: Running, Attempts: 1}, "", "waiting", Status{Label: Label{State: NodeWaiting}, Source: SourceDerived, Reason: "waits for dep"}},
		{"blocked", Fact{}, fact(Fact{Phase: Ended, Outcome: Failed, Exit: 1}), "",
			"blocked (dep failed)", Status{Label: Label{State: NodeBlocked, By: "dep", Reason: ReasonFailed}, Source: SourceDerived, Age: 5 * time.Minute}},
		{"blocked by a cancelled one", Fact{}, fact(Fact{Phase: Ended, Outcome: Cancelled}), "",
			"blocked (dep cancelled)", Status{Label: Label{State: NodeBlocked, By: "dep", Reason: ReasonCancelled}, Source: SourceDerived, Age: 5 * time.Minute}},
		{"gate", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/gate",
			"needs input", Status{Label: Label{State: NodeNeedsInput}, Source: SourceDerived, Reason: "cmux agents approve n"}},
		{"gate that asks for a code", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/gate/code",
			"needs input", Status{Label: Label{State: NodeNeedsInput}, Source: SourceDerived, Reason: "cmux agents approve n, which asks for a code in your own terminal"}},
		{"lost while a dependency is done again", fact(Fact{Lost: true, Losses: 1}), Fact{Phase: Running, Attempts: 2}, "",
			"lost", Status{Label: Label{State: NodeLost}, Reason: "waits for dep"}},
		{"lost", fact(Fact{Lost: true, Losses: 1}), Fact{Phase: Ended, Outcome: Done}, "", "lost", Status{Label: Label{State: NodeLost}, Reason: "waits for a slot"}},
		{"stopped", fact(Fact{Lost: true, Broken: true}), Fact{Phase: Ended, Outcome: Done}, "", "stopped",
			Status{Label: Label{State: NodeLost, Reason: ReasonStopped}, Reason: "waits for a slot"}},
		{"stopped while a dependency is done again", fact(Fact{Lost: true, Broken: true}), Fact{Phase: Running, Attempts: 2}, "",
			"stopped", Status{Label: Label{State: NodeLost, Reason: ReasonStopped}, Reason: "waits for dep"}},
		{"lost too often", fact(Fact{Lost: true, Losses: 4, Held: true}), Fact{}, "",
			"lost", Status{Label: Label{State: NodeLost}, Reason: "lost 4 times: cmux agents retry n"}},
		{"lost, ask", fact(Fact{Lost: true, Losses: 1, Held: true}), Fact{}, "/ask",
			"lost", Status{Label: Label{State: NodeLost}, Reason: "on_lost: ask: cmux agents retry n"}},
		{"retry", fact(Fact{Tries: 2, Exit: 1, NotBefore: now.Add(12 * time.Second)}), Fact{Phase: Ended, Outcome: Done}, "/retries=3",
			"ready", Status{Label: Label{State: NodeReady}, Reason: "failed (exit 1); retry 2 of 3 in 12s"}},
		{"ready", Fact{}, Fact{Phase: Ended, Outcome: Done}, "", "ready", Status{Label: Label{State: NodeReady}, Source: SourceDerived, Reason: "waits for a slot"}},
		{"pool", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/pool=full",
			"ready", Status{Label: Label{State: NodeReady}, Source: SourceDerived, Reason: "waits for a place in pool full"}},
		{"account", Fact{}, Fact{Phase: Ended, Outcome: Done}, "/account=work",
			"limited until 10:00", Status{Label: Label{State: NodeLimited, Until: nine.Add(time.Hour), By: "work"}, Source: SourceDerived, Reason: "account work is at its limit"}},
		{"queued", fact(Fact{Phase: Queued, Attempts: 1}), Fact{}, "", "ready", Status{Label: Label{State: NodeReady}, Reason: "continues when a slot is free"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := graphOf(t, "max=1 full:1 dep busy busy2/pool=full n<dep"+tc.n)
			s := Rebuild(g, Facts{Now: now, Limits: map[string]time.Time{"work": nine.Add(time.Hour)},
				Nodes: []Fact{tc.dep, {Phase: Running, Attempts: 1}, {Phase: Running, Attempts: 1}, tc.fact}})
			want := tc.want
			if want.Source == "" {
				want.Source, want.Age = "record", 5*time.Minute
			}
			got := s.Status(3, now)
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if got.Label.String() != tc.words {
				t.Errorf("worded %q, want %q", got.Label, tc.words)
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
		if got, want := s.Status(0, nine).Label.String(), "failed ("+string(r)+")"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A time of day is in the location of the caller, an age is never negative (the clock may
// have been set back), and a far root cause is named.
func TestStatusDetails(t *testing.T) {
	g := graphOf(t, "a b<a c<b d<c x/account=work")
	s := Rebuild(g, Facts{Now: nine, Limits: map[string]time.Time{"work": nine.Add(time.Hour)},
		Nodes: []Fact{{Phase: Ended, Outcome: Failed, Exit: 1, At: nine}, {}, {}, {}, {}}})
	if got := s.Status(4, nine.In(time.FixedZone("", 2*3600))).Label; got.String() != "limited until 12:00" {
		t.Errorf("label %q", got)
	}
	if got := s.Status(0, nine.Add(-time.Hour)).Age; got != 0 {
		t.Errorf("age %v", got)
	}
	if got := s.Status(3, nine); got.Label.String() != "blocked (c blocked)" || got.Reason != "because a failed" {
		t.Errorf("status %+v", got)
	}
}
