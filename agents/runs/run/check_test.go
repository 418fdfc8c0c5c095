package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/platform/limits"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
	"cmux/signals"
)

// three is a graph in which records of all types have a meaning.
func three(t testing.TB) *dag.Graph {
	t.Helper()
	g, _, err := dag.Parse("x.yml", []byte(`
session: s
max_parallel: 2
budget: {tokens: 100}
agents:
  - {name: a, agent: command, task: "true", retries: {max: 2, backoff: 1s}}
  - {name: b, task: "x", depends_on: a, on_lost: ask, account: one}
  - {name: c, role: gate, depends_on: [a, b], when: all_done}
  - {name: d, task: "x", depends_on: c, account: one}
`), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// seen is all that a view tells, in a form that does not change with the run.
func seen(t interface{ Fatalf(string, ...any) }, v *View) string {
	b, err := json.Marshal(struct {
		Nodes     []NodeView
		RunState  dag.RunState
		Facts     dag.Facts
		Strays    []string
		Incidents []Record
		Used      dag.Usage
		Bad       []BadLine
		Foreign   []int64
		Times     [2]time.Time
	}{v.Nodes, v.RunState, v.State.Facts(), v.Strays, v.Incidents, v.Used, v.bad, v.foreign, [2]time.Time{v.StartedAt, v.EndedAt}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(b)
}

// viewOf is what a look at h shows.
func viewOf(h *History, now time.Time) *View {
	v := &View{Run: &Run{Plan: Plan{Graph: h.Graph}}}
	v.fill(h.look(), now)
	return v
}

// taken takes lines of records in as a run's reader does, and looks at all
// that follows from them. However often it is looked at in between, what comes
// out is what one reading of all of them shows, what the scheduler stands at is
// what it would be rebuilt to, and an earlier look shows for ever what it did.
func taken(t interface{ Fatalf(string, ...any) }, g *dag.Graph, lines [][]byte) {
	h, unseen := NewHistory(g), NewHistory(g)
	now := time.Unix(1_800_000_000, 0)
	var early *View
	var shown string
	for k, line := range lines {
		rec, err := ParseRecord(line)
		if err != nil {
			continue
		}
		h.Apply(rec)
		unseen.Apply(rec)
		for i := range h.Nodes {
			n := &h.Nodes[i]
			if a := n.Attempt(); n.Fact.Live() && a == nil {
				t.Fatalf("after %s %s lives and has no attempt", line, g.Nodes[i].Name)
			}
			for k := range n.Attempts {
				if k > 0 && n.Attempts[k].N <= n.Attempts[k-1].N {
					t.Fatalf("after %s the attempts of %s are out of order", line, g.Nodes[i].Name)
				}
			}
		}
		rec.marked()
		if k%3 == 0 {
			h.Tick(now.Add(time.Duration(k-len(lines)) * time.Second))
			v := viewOf(h, now)
			if early == nil {
				early, shown = v, seen(t, v)
			}
			v.State.Clone().Due()
		}
	}
	kept, folded := viewOf(h, now), viewOf(unseen, now)
	if k, a := seen(t, kept), seen(t, folded); k != a {
		t.Fatalf("kept:\n%s\nfolded from nothing:\n%s", k, a)
	}
	rebuilt := dag.Rebuild(g, kept.State.Facts())
	if got := rebuilt.Run(); got != kept.State.Run() {
		t.Fatalf("the run is %s, and rebuilt %s", kept.State.Run(), got)
	}
	for i := range g.Nodes {
		if got, want := kept.State.Status(i, now), rebuilt.Status(i, now); got != want {
			t.Fatalf("%s: %+v, and rebuilt %+v", g.Nodes[i].Name, got, want)
		}
	}
	if early != nil && seen(t, early) != shown {
		t.Fatalf("a view has changed after it was made:\n%s\nwas\n%s", seen(t, early), shown)
	}
	for i := range kept.Nodes {
		n := kept.Nodes[i].Node
		n.LastEnd()
		n.Resumable(3)
		n.UsedIn("c")
		n.Recorded()
		kept.OverBudget(i)
		if end := n.LastEnd(); end != nil {
			end.Label()
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		`{"t":"began","node":"a","n":1}`,
		`{"t":"ended","node":"a","n":1}`,
		`{"t":"ended","node":"a","n":1,"end":null}`,
		`{"t":"active","node":"b","n":3,"activity":"limited"}` + "\n" + `{"t":"override","node":"b"}` + "\n" + `{"t":"vanished","node":"b","n":2}`,
		`{"t":"started","node":"a","n":-1}` + "\n" + `{"t":"started","node":"a","n":9223372036854775807}`,
		`{"t":"started","node":"a","n":1,"place":{"slot":-7}}` + "\n" + `{"t":"limited","account":"one"}` + "\n" + `{"t":"freed","account":"none"}`,
		`{"t":"blocked","node":"a","cause":"nobody"}` + "\n" + `{"t":"published","node":"a","marker":{"code":-4}}` + "\n" + `{"t":"runner_up","boot":"x"}`,
		`{"t":"used","node":"gone","n":1,"used":{"input":-9223372036854775808}}` + "\n" + `null` + "\n" + `[]` + "\n" + `{"t":7}`,
	} {
		f.Add([]byte(seed))
	}
	g := three(f)
	f.Fuzz(func(t *testing.T, b []byte) { taken(t, g, bytes.Split(b, []byte("\n"))) })
}

// TestAnyOrderOfRecords: whatever records follow one another, as after lines
// were lost, repeated or mixed, nothing breaks that is made of them.
func TestAnyOrderOfRecords(t *testing.T) {
	g := three(t)
	rapid.Check(t, func(t *rapid.T) {
		var lines [][]byte
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			r := anyRecord(t)
			line, err := r.encode()
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		taken(t, g, lines)
	})
}

// anyRecord is a record of the graph three, or nearly one.
func anyRecord(t *rapid.T) Record {
	types := []Type{RunnerUp, RunnerDown, Stopped, Resumed, RunEnded, Started, Started, Began, Active, Wants, Granted, AttemptEnd, AttemptEnd, Published, Vanished,
		Overridden, Opened, Blocked, Unblocked, Skipped, Reset, Moved, Conversed, Used, Limited, Freed, Requested, Updated, Incident, Output, Fenced, Claimed, Silent, Noted, "later"}
	moment := func(name string) time.Time {
		return time.Unix(1_800_000_000+int64(rapid.IntRange(-100, 100).Draw(t, name)), 0)
	}
	r := Record{
		Type: rapid.SampledFrom(types).Draw(t, "type"), Node: rapid.SampledFrom([]string{"a", "b", "c", "d", "gone", ""}).Draw(t, "node"),
		Attempt: rapid.IntRange(-1, 4).Draw(t, "n"), At: moment("at"),
		How:  rapid.SampledFrom([]string{"", HowTouched, HowApproved, HowBad, HowLost, HowStopped, HowLeft, "done"}).Draw(t, "how"),
		Code: rapid.SampledFrom([]int{0, 0, 1, 99, 256, -1}).Draw(t, "code"), Account: rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "account"),
		Activity: dag.Activity(rapid.IntRange(0, 5).Draw(t, "activity")), Trial: rapid.Bool().Draw(t, "trial"),
		Cause: rapid.SampledFrom([]string{"", "a", "nobody"}).Draw(t, "cause"), Boot: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "boot"),
		Tip: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "tip"), Key: rapid.SampledFrom([]string{"", "K", "L"}).Draw(t, "key"), Value: rapid.SampledFrom([]string{"v", "", "2026-11-22T20:24:56Z"}).Draw(t, "value"),
		Conversation: rapid.SampledFrom([]string{"", "c", "d"}).Draw(t, "conversation"), Used: dag.Usage{Input: int64(rapid.IntRange(0, 50).Draw(t, "used"))},
	}
	if rapid.Bool().Draw(t, "until is known") {
		r.Until = moment("until")
	}
	if rapid.Bool().Draw(t, "is shared") {
		r.Shared = &Shared{ID: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "id")}
		if rapid.Bool().Draw(t, "by another") {
			r.Shared.By = &limits.Source{Run: "other"}
		}
	}
	if rapid.Bool().Draw(t, "has end") {
		r.End = &End{Outcome: dag.Outcome(rapid.IntRange(0, 4).Draw(t, "outcome")), Exit: rapid.IntRange(-5, 300).Draw(t, "exit"),
			Reason: rapid.SampledFrom([]dag.Reason{"", dag.ReasonLost, dag.ReasonBudget, dag.ReasonTimeout, "new"}).Draw(t, "reason"), Retry: rapid.Bool().Draw(t, "retry")}
	}
	if rapid.Bool().Draw(t, "has marker") {
		r.Marker = &Written{Code: rapid.IntRange(-1, 256).Draw(t, "marker"), Empty: rapid.Bool().Draw(t, "empty"), Bad: rapid.Bool().Draw(t, "bad")}
	}
	if rapid.Bool().Draw(t, "has place") {
		r.Place = &Place{Slot: rapid.IntRange(-1, 5).Draw(t, "slot"), Child: rapid.SampledFrom([]string{"", "x"}).Draw(t, "child"),
			Far: rapid.SampledFrom([]string{"", "ssh://box"}).Draw(t, "far")}
	}
	return r
}

// FuzzFiles puts anything into each file of a run and reads all there is.
func FuzzFiles(f *testing.F) {
	files := []string{planFile, graphFile, envFile, recordsFile, configFile, "a/attempt-1.json", "a/lock", "a/events.jsonl", "requests/x.json",
		"../../locks/s", "../../owners.json", "../../signals/a.done", "../../signals/none.done"}
	for i := range files {
		for _, content := range []string{"", "null", "{}", "[]", `"x"`, "7", "99\n", "{\"pid\":-1,\"since\":7}", "\x00\xff", "{\"t\":\"began\",\"node\":\"a\",\"n\":1}\n",
			`{"root":"/","id":"../..","version":-1,"created_at":"0000-01-01T00:00:00Z"}`, `{"Nodes":[{"Name":"../x","DependsOn":["../x"]}]}`, `{"nodes":[null]}`, `["=","a",null]`} {
			f.Add(uint8(i), []byte(content))
		}
	}
	r := newRun(f)
	if err := os.MkdirAll(r.NodeDir("a"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		path := filepath.Join(r.Dir, files[int(which)%len(files)])
		was, missing := os.ReadFile(path)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if missing != nil {
				os.Remove(path)
			} else if err := os.WriteFile(path, was, 0o600); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(r.Requests(), "x.json.bad"))
		}()
		List(r.Plan.Root)
		for _, open := range []func() (*Run, error){
			func() (*Run, error) { return Latest(r.Plan.Root) },
			func() (*Run, error) { return Open(r.Plan.Root, r.Plan.ID) },
		} {
			again, err := open()
			if err != nil {
				continue
			}
			again.Env()
			again.ReadSpec("a", 1)
			again.Pending()
			again.Over()
			signals.ReadHolder(again.NodeLock("a"))
			if v, err := again.View(context.Background(), time.Now()); err == nil && len(v.Nodes) != again.Plan.Graph.Len() {
				t.Errorf("%d nodes of %d", len(v.Nodes), again.Plan.Graph.Len())
			}
		}
	})
}

// TestMovedProject: the plan names where the project was.
func TestMovedProject(t *testing.T) {
	r := newRun(t)
	to := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(r.Plan.Root, to); err != nil {
		t.Fatal(err)
	}
	again, err := Latest(to)
	if err == nil {
		_, err = again.View(context.Background(), time.Now())
	}
	if err == nil {
		t.Fatal("a run whose project was moved is viewed as if it were here")
	}
	if want := fmt.Sprint(r.Plan.Root); !bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("%v does not name %s", err, want)
	}
}

// TestBadLinesAreNamed: a line that is no record is named with its number, and
// the others count.
func TestBadLinesAreNamed(t *testing.T) {
	r := newRun(t)
	r.append(t, Record{Type: RunnerUp}, Record{Type: AttemptEnd, Node: "a", Attempt: 1}, Record{Type: Started, Node: "a", Attempt: 1})
	write(t, r.Records(), append(read(t, r.Records()), "{\"t\":\"began\n\x1b]0;title\x07\n{\"t\":\"opened\",\"node\":\"b\"}\n"...))
	r.append(t, Record{Type: Began, Node: "b", Attempt: 1, Place: &Place{Slot: -1}}, Record{Type: Opened, Node: "b"})
	v, err := r.View(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Nodes[0].Attempts) != 1 || v.Nodes[0].Attempts[0].End != nil || !v.Nodes[1].Opened {
		t.Errorf("what is good of the records: %+v", v.Nodes)
	}
	all, err := v.Passed(true)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`records.jsonl:2: record "ended" of "a" without an end`,
		`records.jsonl:4: not JSON: a write that a kill or a power cut broke off, or somebody else's`,
		`records.jsonl:5: not JSON: a write that a kill or a power cut broke off, or somebody else's`,
		`records.jsonl:6: not written by cmux of this user on this machine`,
		`records.jsonl:7: record "began" of "b": there is no slot -1`,
	}
	if !slices.Equal(all, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	if some, _ := v.Passed(false); !slices.Equal(some, []string{want[0], want[3], want[4]}) {
		t.Errorf("without the torn: %q", some)
	}
}
