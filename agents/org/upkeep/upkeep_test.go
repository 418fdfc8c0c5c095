package upkeep

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	now := time.Unix(1e9, 0)
	ago := func(h int) time.Time { return now.Add(-time.Duration(h) * time.Hour) }
	all := Find(Facts{
		Now: now, Idle: 2 * time.Hour, Age: 30 * 24 * time.Hour,
		Agents: []Agent{
			{Name: "supervisor", Stays: true, Since: ago(100)}, {Name: "perm-api", Stays: true, Since: ago(100)},
			{Name: "busy", Busy: true, Since: ago(100)}, {Name: "young", Since: ago(1)}, {Name: "new"}, {Name: "future", Since: ago(-5)},
			{Name: "idle", Since: ago(2)}, {Name: "forgotten", Since: ago(100)},
		},
		Windows: []Window{
			{Pane: "%1", Session: "s", Node: "api", Since: ago(9)}, {Pane: "%2", Session: "s", Node: "api", Owned: true, Since: ago(9)}, {Pane: "%3", Session: "s", Node: "x", Since: ago(1)},
			{Pane: "%4", Session: "r", Run: "r1", Node: "db", Since: ago(3)}, {Pane: "%5", Session: "r", Since: ago(3)}, {Pane: "%6", Session: "r", Since: ago(-3)},
		},
		Trees: []Tree{{"/w/a", "a", true}, {"/w/b", "b", false}},
		Branches: []Branch{
			{Name: "s/a", Owned: true, In: true}, {Name: "s/b", Out: true, In: true}, {Name: "s/c"}, {Name: "s/d", Commit: "abc", In: true},
		},
		Archives: []Archive{{"x/1", ago(24 * 29), 5}, {"x/2", ago(24 * 31), 2049}, {"x/3", ago(-24 * 99), 5}},
	})
	var got []string
	for _, i := range all {
		got = append(got, fmt.Sprintf("%s %s: %s", i.Kind, i.Name, i.Why))
	}
	want := "workers forgotten: it has had nothing to do for 4 days|workers idle: it has had nothing to do for 2h0m0s|" +
		"windows %1: it is that of api, an agent which is gone, in the session s, and has shown nothing new for 9h0m0s|" +
		"windows %4: it is that of db of the run r1, which is gone, in the session r, and has shown nothing new for 3h0m0s|" +
		"windows %5: it is the monitor of a run that is gone, in the session r, and has shown nothing new for 3h0m0s|worktrees /w/b: it was b's, which is gone|" +
		"branches s/d: nobody works on it, and all of it is in the integration branch|archives x/2: it is 31 days old and has 3 kB"
	if strings.Join(got, "|") != want {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, "|"), want)
	}
}
