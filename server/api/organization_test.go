package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/files"

	"cmux/agents/control"
	"cmux/agents/control/finding"
	"cmux/agents/control/health"
	"cmux/agents/control/locking"
	"cmux/agents/control/overview"
	"cmux/agents/control/schedules"
	"cmux/agents/kinds/agent"
	"cmux/agents/org/schedule"
	"cmux/agents/org/team"
	"cmux/agents/records/event"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
	"cmux/server/api"
)

// Routes start the organization as cmux start does: with its questions and its refusals.
func TestStartOrganization(t *testing.T) {
	w := newWorld(t)
	w.repository(t)
	const start = "/api/organization/start"
	refused := func(method, path, body string, status int, said string) {
		t.Helper()
		if code, text := w.ask(method, path, body); code != status || !strings.Contains(text, said) {
			t.Errorf("%s %s %s: %d %s", method, path, body, code, text)
		}
	}
	refused("POST", start, `{"permissions":"ask"}`, 409, "no organization can be started here")
	w.p.Program = func() (string, error) { return "/bin/true", nil }
	refused("GET", start, "", 400, `no kind of agent \"claude\"`)
	refused("POST", "/api/organization/stop", "{}", 409, "cmux start")

	w.p.Kinds = agent.NewKinds(scripted.Kind(true))
	w.write(".cmux/config.yml", "supervisor: {agent: scripted}\n")
	w.write("go.mod", "module shop\n")
	refused("POST", start, `{}`, 400, "is none of ask, auto and bypass")
	refused("POST", start, `{"permissions":"all"}`, 422, "permissions")
	var plan control.StartingOrg
	if w.must("GET", start, "", &plan); plan.Running || !plan.First || plan.Permissions != "" || len(plan.Choices) != 3 || plan.Check != "go test ./..." {
		t.Errorf("%+v", plan)
	}

	// One that has its monitor is left as it is.
	lock, err := w.organized(t).Run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	var started control.StartedOrg
	if w.must("POST", start, `{"permissions":"bypass"}`, &started); !started.Running || started.Session != "scratch" || len(started.Agents) != 1 {
		t.Errorf("%+v", started)
	}
}

// What an organization does by the clock and shares, with nobody keeping it.
func TestOrganization(t *testing.T) {
	w := newWorld(t)
	w.repository(t)
	w.organized(t)
	// schedule
	var s schedules.Scheduled
	w.must("POST", "/api/schedule", `{"title":"look","every":"1h","to":"api"}`, &s)
	if s.ID == "" || s.By != "user" || s.Next == nil {
		t.Errorf("%+v", s)
	}
	one := "/api/schedule/" + s.ID
	var fired schedule.Fired
	if w.must("POST", one+"/run", "", &fired); fired.Made == "" || !fired.Extra {
		t.Errorf("%+v", fired)
	}
	if w.must("GET", one, "", &s); s.Count != 0 && s.Last == nil {
		t.Errorf("%+v", s)
	}
	var schedules items[schedules.Scheduled]
	if w.must("GET", "/api/schedule", "", &schedules); len(schedules.Items) != 1 {
		t.Errorf("%+v", schedules)
	}
	for body, want := range map[string]int{`{"title":"x"}`: 400, `{"title":"x","every":"nonsense"}`: 400, `{"title":"x","every":"1h","priority":"huge"}`: 422, `{"every":"1h"}`: 422} {
		if code, text := w.ask("POST", "/api/schedule", body); code != want {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	w.must("DELETE", one, "", nil)
	if code, text := w.ask("GET", one, ""); code != 404 || !strings.Contains(text, "cmux schedule list") {
		t.Errorf("%d %s", code, text)
	}
	// locks
	w.must("POST", "/api/locks/build/take", `{"note":"I build"}`, nil)
	var locks items[locking.LockReport]
	if w.must("GET", "/api/locks", "", &locks); len(locks.Items) != 1 || locks.Items[0].Holder == nil || locks.Items[0].Holder.Who != "user" || locks.Items[0].Note != "I build" {
		t.Errorf("%+v", locks)
	}
	w.must("POST", "/api/locks/build/release", "", nil)
	w.must("POST", "/api/locks/build/take", `{}`, nil)
	w.must("POST", "/api/locks/build/break", "", nil)
	// maintenance, teams, health
	var up health.Upkeep
	w.must("GET", "/api/maintenance", "", &up)
	w.must("POST", "/api/maintenance", body(t, map[string]any{"items": up.Items}), nil)
	w.must("GET", "/api/teams", "", nil)
	if code, text := w.ask("GET", "/api/teams/none", ""); code != 404 {
		t.Errorf("%d %s", code, text)
	}
	var templates items[team.Template]
	if w.must("GET", "/api/team-templates", "", &templates); len(templates.Items) < 3 {
		t.Errorf("%+v", templates)
	}
	w.must("GET", "/api/team-templates/"+templates.Items[0].Name, "", nil)
	w.must("GET", "/api/recover", "", nil)
	w.must("GET", "/api/recover/log", "", nil)
	var job api.Job[health.Recovery]
	for _, order := range []string{"preview", "now", "undo"} {
		w.must("POST", "/api/recover/"+order, "", nil)
		job = api.Job[health.Recovery]{}
		if w.must("GET", "/api/recover/"+order, "", &job); job.Running || !strings.Contains(job.Failed, "nothing says how the health") || job.Try == "" {
			t.Errorf("%+v", job)
		}
	}
	// what is looked at now and then
	var away overview.Away
	if w.must("GET", "/api/report?since=8h", "", &away); len(away.Agents) != 1 || away.Until.Sub(away.Since) != 8*time.Hour {
		t.Errorf("%+v", away)
	}
	if code, text := w.ask("GET", "/api/report?since=never", ""); code != 400 {
		t.Errorf("%d %s", code, text)
	}
	w.must("GET", "/api/limits", "", nil)
	var o control.Onboarding
	w.must("GET", "/api/onboarding", "", &o)
	if k := slices.IndexFunc(o.Steps, func(s control.OnboardingStep) bool { return s.ID == control.StepTask }); k < 0 || o.Steps[k].Done || !strings.HasPrefix(o.Steps[k].Try, "cmux tasks add") {
		t.Errorf("%+v", o)
	}
	// Where something keeps cmux from working, doctor says what.
	if tools := o.Steps[0]; tools.ID != control.StepTools || tools.Done == (tools.Try != "") {
		t.Errorf("%+v", tools)
	} else if wrong := slices.ContainsFunc(control.Examine(t.Context(), w.p.Caller), func(f finding.Finding) bool { return !f.OK }); wrong == tools.Done {
		t.Errorf("doctor finds something: %v; %+v", wrong, tools)
	}
	w.write("MEMORY.md", "one\ntwo\n")
	var memory control.MemoryText
	if w.must("GET", "/api/memory", "", &memory); !memory.There || memory.Lines != 2 {
		t.Errorf("%+v", memory)
	}
	w.write(".cmux/journal/2026-03-01/journal.md", "# day\n")
	w.write(".cmux/journal/2026-03-01/artifacts/a.txt", "a\n")
	var tree items[control.JournalTree]
	if w.must("GET", "/api/journal/tree", "", &tree); len(tree.Items) != 1 || len(tree.Items[0].Files) != 2 || tree.Items[0].Files[0].Path != ".cmux/journal/2026-03-01/artifacts/a.txt" {
		t.Errorf("%+v", tree)
	}
	// what is kept of an agent that was removed
	archive := filepath.Join(w.root, ".cmux/archives/gone/r1")
	w.write(".cmux/archives/gone/r1/log", "said\x1b[31m it\n")
	w.write(".cmux/archives/gone/r1/env", "SECRET=1\n")
	w.write(".cmux/archives/gone/r1/kept/ENV", "SECRET=1\n") // where case does not count, this is env
	w.write(".cmux/archives/gone/r1/closed/file", "text\n")
	if err := os.Chmod(filepath.Join(archive, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(archive, "closed"), 0o700) })
	if err := os.Symlink("/etc/passwd", filepath.Join(archive, "away")); err != nil {
		t.Fatal(err)
	}
	w.write(".cmux/archives/deletions.jsonl", body(t, map[string]any{"name": "gone", "archive": archive, "at": w.now, "by": "a person"})+"\n")
	var list items[struct{ ID, Name string }]
	if w.must("GET", "/api/archives", "", &list); len(list.Items) != 1 || list.Items[0].ID != "gone:r1" {
		t.Fatalf("%+v", list)
	}
	var kept items[control.ArchiveFile]
	if w.must("GET", "/api/archives/gone:r1/files", "", &kept); !slices.ContainsFunc(kept.Items, func(f control.ArchiveFile) bool { return f.Path == "log" }) ||
		slices.ContainsFunc(kept.Items, func(f control.ArchiveFile) bool { return strings.EqualFold(filepath.Base(f.Path), "env") }) {
		t.Errorf("%+v", kept)
	}
	var side files.FileSide
	if w.must("GET", "/api/archives/gone:r1/file?path=log", "", &side); !strings.HasPrefix(side.Text, "said") || strings.Contains(side.Text, "\x1b") {
		t.Errorf("%+v", side)
	}
	for _, path := range []string{"env", "ENV", "kept/ENV", "away", "../r1/env", "../../../token", "none"} {
		if code, text := w.ask("GET", "/api/archives/gone:r1/file?path="+path, ""); code != 404 {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := w.ask("GET", "/api/archives/none/files", ""); code != 404 {
		t.Errorf("%d %s", code, text)
	}
}

// What was used is summed up by what each attempt used beyond what it had used
// before.
func TestHistory(t *testing.T) {
	w := newWorld(t)
	w.repository(t)
	w.organized(t)
	dir := filepath.Join(w.root, ".cmux/agents/api")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := event.Open(filepath.Join(dir, "events.jsonl"), "api", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []struct {
		before time.Duration
		tokens int64
	}{{600, 100}, {100, 150}, {99, 160}, {10, 200}} {
		l.Append(event.Event{At: w.now.Add(-u.before * time.Minute), Kind: event.Usage, Used: dag.Usage{Input: u.tokens}})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Ingest(t.Context()); err != nil {
		t.Fatal(err)
	}
	var h struct {
		Series []struct {
			Source  string
			Buckets []struct {
				At      time.Time
				Counted int64
			}
		}
	}
	w.must("GET", "/api/budget/history?since=2h&step=3600", "", &h)
	if len(h.Series) != 1 || h.Series[0].Source != "agent:api" || len(h.Series[0].Buckets) != 2 || h.Series[0].Buckets[0].Counted != 60 || h.Series[0].Buckets[1].Counted != 40 {
		t.Errorf("%+v", h)
	}
}

// What an attempt had used before all that is looked at does not count for the time
// that is, however many events of others lie between.
func TestHistoryOfOldAttempts(t *testing.T) {
	w := newWorld(t)
	w.repository(t)
	w.organized(t)
	write := func(name string, attempt int, ages []time.Duration, tokens []int64) {
		t.Helper()
		dir := filepath.Join(w.root, ".cmux/agents", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := event.Open(filepath.Join(dir, "events.jsonl"), name, attempt)
		if err != nil {
			t.Fatal(err)
		}
		for i, age := range ages {
			l.Append(event.Event{At: w.now.Add(-age), Kind: event.Usage, Used: dag.Usage{Input: tokens[i]}})
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Ingest(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write("old", 1, []time.Duration{40 * 24 * time.Hour}, []int64{1_000_000})
	ages, tokens := make([]time.Duration, 1100), make([]int64, 1100)
	for i := range ages {
		ages[i], tokens[i] = 30*time.Hour-time.Duration(i)*time.Second, int64(i+1)
	}
	write("busy", 1, ages, tokens)
	write("old", 1, []time.Duration{time.Hour}, []int64{1_000_010})
	write("old", 2, []time.Duration{time.Minute}, []int64{7})
	var h struct {
		Series []struct {
			Source  string
			Buckets []struct{ Counted int64 }
		}
		Cut bool
	}
	w.must("GET", "/api/budget/history?since=2h&step=3600", "", &h)
	var sum int64
	for _, s := range h.Series {
		for _, b := range s.Buckets {
			sum += b.Counted
		}
	}
	if len(h.Series) != 1 || sum != 17 || h.Cut {
		t.Errorf("%+v", h)
	}
}

// listedOrder is an order as the list has it.
type listedOrder struct {
	ID, Method, Path, Summary, Ends string
	Takes                           []struct {
		Name, In, Type, Of string
		Required           bool
		Values, Fields     []string
	}
}

// Every order is listed with what it takes, and where it is a fixed set of values,
// with these.
func TestOrders(t *testing.T) {
	w := newWorld(t)
	var l items[listedOrder]
	w.must("GET", "/api/orders", "", &l)
	for _, op := range operations(w.doc) {
		method, path, _ := strings.Cut(op, " ")
		listed := slices.ContainsFunc(l.Items, func(o listedOrder) bool { return o.Method == method && o.Path == path })
		if want := method != "GET" && path != "/api/webhooks/{source}"; listed != want {
			t.Errorf("%s is listed: %v", op, listed)
		}
	}
	of := func(op, name string) (a struct {
		Values, Fields []string
		Type, Of       string
	}) {
		t.Helper()
		for _, o := range l.Items {
			for _, arg := range o.Takes {
				if o.Method+" "+o.Path == op && arg.Name == name {
					a.Type, a.Of, a.Values, a.Fields = arg.Type, arg.Of, arg.Values, arg.Fields
					return a
				}
			}
		}
		t.Fatalf("%s takes no %s", op, name)
		return a
	}
	if a := of("POST /api/tasks", "priority"); a.Type != "string" || !slices.Equal(a.Values, []string{"critical", "high", "normal", "low"}) {
		t.Errorf("%+v", a)
	}
	if a := of("POST /api/tasks", "verify"); a.Type != "array" || a.Of != "string" || len(a.Fields) > 0 {
		t.Errorf("%+v", a)
	}
	if a := of("POST /api/runs/{id}/nodes/{node}/comments", "on"); a.Of != "object" || !slices.Contains(a.Fields, "path") || !slices.Contains(a.Fields, "line?") {
		t.Errorf("%+v", a)
	}
}
