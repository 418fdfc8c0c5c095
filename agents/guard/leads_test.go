package guard_test

import "testing"

// A supervisor leads workers; what takes force, and everything else that steers,
// stays a person's. Everybody may look.
func TestLeading(t *testing.T) {
	looks := []shellRow{
		{"cmux status", ""}, {"cmux status --json", ""}, {"cmux logs api", ""}, {"cmux workers list", ""}, {"cmux workers status api", ""}, {"cmux workers logs api --tail 3", ""},
		{"cmux workers take api", "cmux workers take is refused"}, {"cmux workers wake api", "steered by a person"}, {"cmux start", "steered by a person"}, {"cmux restart", "steered"},
		{"cmux agents stop", "steered by a person"}, {"cmux workers kill --force api", "cmux workers kill is refused"}, {"cmux workers kill api --for", "cmux workers kill is refused"},
	}
	orders := []string{"cmux workers spawn api 'add the endpoint'", "cmux workers reset api", "cd /tmp && cmux workers kill api"}
	p := builder()
	runShell(t, p, looks)
	for _, o := range orders {
		runShell(t, p, []shellRow{{o, "is refused: the run is steered by a person"}})
	}
	p.Tree, p.Leads = "", true
	runShell(t, p, looks)
	for _, o := range orders {
		runShell(t, p, []shellRow{{o, ""}})
	}
}
