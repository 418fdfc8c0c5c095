package guard_test

import (
	"strings"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/rights"
)

// What an agent's role may order is granted as literal words; everything else
// asks a person, or is refused.
func TestGrantedOrders(t *testing.T) {
	node := checked()
	worker, lead, sentry, first := checked(), checked(), checked(), checked()
	worker.Holder.Stays = true
	first.Holder = rights.Holder{Stays: true, TeamLead: true}
	lead.Tree, lead.Leads, lead.Holder = "", true, rights.Holder{Stays: true, Leads: true}
	sentry.Tree, sentry.Leads, sentry.Holder = "", true, rights.Holder{Stays: true, Sentry: true}
	for _, test := range []struct {
		command string
		by      string // n: node, w: worker, f: first of a team, l: supervisor, s: sentry
	}{
		{"cmux done x", "nwfls"},
		{"cmux output 'PORT=80'", "nwfls"},
		{"cmux status", "wfls"},
		{"cmux workers list --json", "wfls"},
		{"cmux workers list 2>&1 | head -20", "wfls"},
		{"cmux tasks show t1 && cmux tasks log t1", "wfls"},
		{"cmux help tasks add", "wfls"},
		{"for t in t1 t2 t3; do cmux tasks show $t; done", "wfls"},
		{"for t in t1 t2; do cmux tasks show \"$t\" --json | head -20; done", "wfls"},
		{"for t in t1 t2\ndo\n  echo \"== $t ==\"\n  cmux tasks log ${t}\ndone", "wfls"},
		{"for id in 3xk9 4a; do cmux mailbox read $id 2>&1; done 2>/dev/null | tail -5; cmux status", "wfls"},
		{"cmux tasks list && for w in api web; do cmux workers logs $w --tail 3 || cmux workers status $w; done", "wfls"},
		{"cmux tasks add --help", "wfls"},
		{"cmux mailbox send supervisor '[QUESTION] which port?' 'I found two.'", "wfls"},
		{"cmux mailbox send supervisor q \"$(cat <<'EOF'\ntwo\nlines\nEOF\n)\"", "wfls"},
		{"cmux mailbox status 'half of the tests pass'", "wfls"},
		{"cmux journal add 'title' 'text' --tag db", "wfls"},
		{"cmux tasks add 'Reset' 'Add it.' --scope internal/reset/ --verify 'go test ./...' --after t1", "wfls"},
		{"cmux locks with db -- git status", "wf"}, // what git shows of the project's root may be a person's
		{"cmux locks with db -- cmux tasks list", "wfls"},
		{"cmux locks with db -- go test ./...", "wfl"},
		{"cmux --help", "nwfls"},
		{"cmux tasks --help", "nwfls"},
		{"cmux workers assign api 'write it'", "fl"},
		{"cmux tasks assign t1 api", "fl"},
		{"cmux tasks cancel t1 'not needed'", "fl"},
		{"cmux workers spawn api 'write it' --role-template backend", "l"},
		{"cmux tasks merge", "l"},
		{"cmux workers kill api", "l"},
		{"cmux sessions spawn auth 'lead it'", "l"},
		{"cmux workers reset api", "ls"},

		{"for t in t1; do cmux done $t; done", ""},
		{"for t in t1; do cmux tasks cancel $t; done", ""},
		{"for t in t1; do cmux tasks add $t x; done", ""},
		{"for t in t1; do cmux mailbox send supervisor $t x; done", ""},
		{"for t in t1; do cmux locks with $t -- cmux tasks list; done", ""},
		{"for t in $(id); do cmux tasks show $t; done", ""},
		{"for t in `id`; do cmux tasks show $t; done", ""},
		{"for t in $X; do cmux tasks show $t; done", ""},
		{"for t in \"$X\"; do cmux tasks show $t; done", ""},
		{"for t in *; do cmux tasks show $t; done", ""},
		{"for t in t?; do cmux tasks show $t; done", ""},
		{"for t in {a,b}; do cmux tasks show $t; done", ""},
		{"for t in ~; do cmux tasks show $t; done", ""},
		{"for t in 'a b'; do cmux tasks show $t; done", ""},
		{"for t in =ls; do cmux tasks show $t; done", ""},
		{"for t in -x; do cmux tasks show $t; done", ""},
		{"for t in <(id); do cmux tasks show $t; done", ""},
		{"for t in a\\ b; do cmux tasks show $t; done", ""},
		{"for PATH in tree; do cmux tasks show x; done", ""},
		{"for path in tree; do cmux tasks show $path; done", ""},
		{"for IFS in x; do cmux tasks show $IFS; done", ""},
		{"for cdpath in a; do cmux tasks show $cdpath; done", ""},
		{"for HOME in a; do cmux status; done", ""},
		{"for status in a; do cmux status; done", ""},
		{"for t; do cmux tasks show $t; done", ""},
		{"for ((;;)); do cmux status; done", ""},
		{"for t in a; { cmux tasks show $t; }", ""},
		{"while cmux status; do cmux status; done", ""},
		{"select t in a; do cmux tasks show $t; done", ""},
		{"for t u in a b; do cmux tasks show $t; done", ""},
		{"for t in t1; do cmux tasks show '$t'; done", ""},
		{"for t in t1; do cmux tasks show \\$t; done", ""},
		{"for t in t1; do cmux tasks show $tx; done", ""},
		{"for t in t1; do cmux tasks show $t[1]; done", ""},
		{"for t in t1; do cmux tasks show $t:h; done", ""},
		{"for t in t1; do cmux tasks show ${t:h}; done", ""},
		{"for t in t1; do cmux tasks show ${t@P}; done", ""},
		{"for t in t1; do cmux tasks show $$t; done", ""},
		{"for t in t1; do cmux tasks show $t$(id); done", ""},
		{"for t in t1; do cmux tasks show `id`; done", ""},
		{"for t in t1; do cmux tasks show $u; done", ""},
		{"for t in t1; do cmux tasks show ${!t}; done", ""},
		{"for t in t1; do cmux tasks show $t/*; done", ""},
		{"for t in id; do $t; done", ""},
		{"for t in cmux; do $t done x; done", ""},
		{"for t in done; do cmux $t x; done", ""},
		{"for t in show cancel; do cmux tasks $t t1; done", ""},
		{"for t in tasks; do cmux $t cancel t1; done", ""},
		{"for t in t1; do cmux tasks show $t; id; done", ""},
		{"for t in t1; do cmux tasks show $t & done", ""},
		{"for t in t1; do cmux tasks show $t > x; done", ""},
		{"for t in t1; do cmux tasks show $t; done > x", ""},
		{"for t in t1; do cmux tasks show $t; done; id", ""},
		{"for t in t1; do cmux tasks show $t; done id", ""},
		{"for t in t1; do cmux tasks show $t; done &", ""},
		{"for t in t1; do echo \"; done; id; \"; cmux status; done", ""},
		{"for t in t1; do cmux(){ id; }; cmux tasks show $t; done", ""},
		{"cmux() { id; }; for t in t1; do cmux tasks show $t; done", ""},
		{"alias cmux=id; for t in t1; do cmux tasks show $t; done", ""},
		{"for t in t1; do PATH=. cmux tasks show $t; done", ""},
		{"PATH=.; for t in t1; do cmux tasks show $t; done", ""},
		{"for t in t1; do cd src; cmux tasks show $t; done", ""},
		{"for t in t1; do ./cmux tasks show $t; done", ""},
		{"for t in t1; do for u in a; do cmux tasks show $u; done; done", ""},
		{"for t in t1; do cmux tasks show $t; done; cmux tasks show $t", ""},
		{"for t in t1; do git add -A; done", ""},
		{"for t in t1; do mkdir $t; done", ""},
		{"for t in t1; do go test ./...; done", ""},
		{"for t in t1; do cmux tasks show --config=$t; done", ""},
		{"for t in t1; do; cmux status; done", ""},
		{"for t in t1; do cmux status;; done", ""},
		{"for t in do done; do cmux tasks show $t; done", ""},
		{"FOR t in t1; do cmux status; done", ""},
		{"for\tt in t1; do cmux status; done", ""},
		{"cmux tasks list $(id)", ""},
		{"cmux tasks add \"$X\"", ""},
		{"cmux tasks list > x", ""},
		{"cmux tasks list; touch x", ""},
		{"X=1 cmux tasks list", ""},
		{"./cmux tasks list", ""},
		{"cmux --config x tasks list", ""},
		{"cmux tasks list --unknown", ""},
		{"cmux mailbox send user a b --attach /etc/passwd", ""},
		{"cmux mailbox send user a b --attach=/etc/passwd", ""},
		{"cmux workers spawn api --dir /", ""},
		{"cmux workers spawn api --agent command", ""},
		{"cmux workers kill perm-api --force", ""},
		{"cmux schedule add x --verify id --in 1s", ""},
		{"cmux teams setup feature x --dir /", ""},
		{"cmux agents start --yes --config .cmux/graphs/a.yml", ""},
		{"cmux locks with db -- touch x", ""},
		{"cmux locks with db touch x", ""},
		{"cmux locks with --note -- git -- status", ""}, // cmux takes the first -- for the note, and runs status
		{"cmux locks with --note -- rm -- src/auth/a.go", ""},
		{"cmux locks with --wait -- db -- git status", ""},
		{"cmux locks with db --note -- cmux tasks list", ""},
		{"cmux locks with --note x db -- cmux tasks list", "wfls"},
		{"cmux locks with db -- git commit -qam x", ""}, // by then what it takes in may be another
		{"cmux locks with db -- git add -A", ""},
		{"cmux locks with db -- mkdir src/auth/x", ""},
		{"cmux locks with db -- rm src/auth/a.go", ""},
		{"cmux locks with db -- cat src/auth/a.go", ""},
		{"cmux locks with db -- git status && cat src/auth/a.go", ""},
		{"cmux locks take db && git add src/auth/a.go", ""},
		{"cmux locks take db && mkdir src/auth/x", ""},
		{"cmux locks take db --wait 5m && go test ./... && git add -A && git commit -qam x; cmux locks release db", "wf"},
		{"cmux mailbox send --re -- user a b --attach /etc/passwd", ""},
		{"cmux mailbox send --re -- user a b", ""},
		{"cmux mailbox send --re 3xk9 -- user --attach b", "wfls"},
		{"cmux tasks add --priority -- x --scope src", ""},
		{"cmux workers spawn --model -- api x --dir /", ""},
		{"cmux workers spawn api x --role-template /etc/passwd", ""},
		{"cmux workers spawn api x --role-template=../secret", ""},
		{"cmux workers spawn api x --role-template docs/a.md", ""},
		{"cmux workers spawn api x --role-template a.md", ""},
		{"cmux workers spawn api --permanent=/etc/passwd", ""},
		{"cmux workers spawn api --permanent a.md", ""},
		{"cmux workers spawn api --permanent --role-template", ""},
		{"cmux workers spawn api x --role-template", ""},
		{"cmux workers spawn perm-api --permanent backend", "l"},
		{"cmux locks with db --", ""},
		{"cmux locks with db -- cmux locks with e -- rm a", ""},
		{"cmux tasks done t1", ""},
		{"cmux tasks foo --help", ""},
		{"cmux --config=x --help", ""},
		{"cmux hook --help", ""},
		{"cmux agents approve a", ""},
		{"cmux config apply", ""},
		{"cmux workers take api", ""},
		{"cmux mailbox", ""},
	} {
		for by, p := range map[string]places.Policy{"n": node, "w": worker, "f": first, "l": lead, "s": sentry} {
			c := bash(test.command)
			if p.Tree == "" {
				c.Dir = root
			}
			want := strings.Contains(test.by, by)
			if d := guard.Decide(p, c); (d.Verdict == guard.Grant) != want {
				t.Errorf("%s: %s: %s %q", by, test.command, d.Verdict, d.Reason)
			}
		}
	}
}

// finding is a clean machine on which the programs of some names lie elsewhere.
type finding struct {
	clean
	folders map[string][]string
}

func (f finding) Program(name string) ([]string, bool) {
	if folders, ok := f.folders[name]; ok {
		return folders, true
	}
	return f.clean.Program(name)
}

// What `locks with` runs is no word of a shell: echo is then a program.
func TestLocksRunPrograms(t *testing.T) {
	p := checked()
	p.Holder.Stays = true
	p.Machine = finding{folders: map[string][]string{"echo": {"/usr/bin", tree + "/bin"}}}
	for command, want := range map[string]bool{
		"echo x": true, "cmux locks with db -- echo x": false, "cmux locks with db -- pwd": true, "cmux locks with db -- cmux locks with e -- echo x": false,
	} {
		if granted(p, bash(command)) != want {
			t.Errorf("%s: granted %t", command, !want)
		}
	}
}

// A worker is told whose an order is: there is no run, and a supervisor may give some.
func TestWhoseOrderItIs(t *testing.T) {
	p := builder()
	p.Holder = rights.Holder{Stays: true}
	for command, want := range map[string]string{
		"cmux tasks merge t1": "that is for a supervisor or a person", "cmux workers spawn dan x": "that is for a supervisor or a person",
		"cmux workers kill dan --force": "the organization is steered by a person", "cmux stop": "the organization is steered by a person", "cmux open": "the organization is steered by a person",
	} {
		runShell(t, p, []shellRow{{command, want}})
	}
}

// A command that does not exist is not a person's: the agent is told which it has.
func TestNoSuchCommand(t *testing.T) {
	p := checked()
	p.Tree, p.Leads, p.Holder = "", true, rights.Holder{Stays: true, Leads: true}
	for command, want := range map[string]string{
		"cmux tasks foo t1":  "there is no such command. Of `cmux tasks` you have add, assign, cancel, list, log, merge, pause, priority, show. See `cmux tasks --help`",
		"cmux frobnicate":    "there is no such command. Of `cmux` you have agents, alert, autonomy, backlog, blocked, cards, done, help,",
		"cmux mailbox write": "Of `cmux mailbox` you have blocked, done, inbox,",
		"cmux tasks done t1": "the organization is steered by a person",
		"cmux restart":       "the organization is steered by a person",
	} {
		if d := guard.Decide(p, guard.Call{Tool: "Bash", Input: object("command", command), Dir: root}); d.Verdict != guard.Deny || !strings.Contains(d.Reason, want) {
			t.Errorf("%s: %s %q", command, d.Verdict, d.Reason)
		}
	}
}
