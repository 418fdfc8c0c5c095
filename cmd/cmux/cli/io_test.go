package cli

import "testing"

func TestGetenvTakesTheLast(t *testing.T) {
	d := &IO{Env: []string{"A=1", "AB=2", "A=3"}}
	if got := d.Getenv("A"); got != "3" {
		t.Errorf("A is %q", got)
	}
	if got := d.Getenv("B"); got != "" {
		t.Errorf("B is %q", got)
	}
}

func TestFit(t *testing.T) {
	columns := []Column{{Head: "A"}, {Head: "B", Give: 1, Least: 3}, {Head: "C", Give: 2, Least: 2}}
	for _, c := range []struct{ width, a, b, c int }{
		{0, 5, 10, 8}, {27, 5, 10, 8}, {25, 5, 8, 8}, {14, 5, 3, 2}, {13, 5, 6, 0}, {9, 5, 0, 0}, {1, 5, 0, 0},
	} {
		w := []int{5, 10, 8}
		fit(columns, w, c.width)
		if w[0] != c.a || w[1] != c.b || w[2] != c.c {
			t.Errorf("width %d: %v, want %v", c.width, w, []int{c.a, c.b, c.c})
		}
	}
}
