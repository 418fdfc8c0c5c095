package dag

import "testing"

func TestUsage(t *testing.T) {
	u, v := Usage{1, 20, 300, 4000}, Usage{10, 2, 3000, 40}
	for _, c := range []struct {
		what      string
		got, want Usage
	}{
		{"plus", u.Plus(v), Usage{11, 22, 3300, 4040}},
		{"beyond", u.Beyond(v), Usage{0, 18, 0, 3960}},
		{"at least", u.AtLeast(v), Usage{10, 20, 3000, 4000}},
		{"at most", u.AtMost(v), Usage{1, 2, 300, 40}},
		{"bounded", Usage{-1, 2, 1 << 62, 1 << 40}.Bounded(), Usage{0, 2, 1 << 40, 1 << 40}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, c.got, c.want)
		}
	}
}

// What is read from a cache does not count against a budget, all else does.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		budget   int64
		used     Usage
		exceeded bool
	}{
		{0, Usage{1, 1, 1, 1}, false},
		{10, Usage{4, 3, 1000, 3}, false},
		{10, Usage{5, 3, 0, 3}, true},
		{10, Usage{CacheRead: 11}, false},
		{10, Usage{Input: 11}, true},
		{10, Usage{Output: 11}, true},
		{10, Usage{CacheCreate: 11}, true},
	} {
		if got := (Budget{c.budget}).Exceeded(c.used); got != c.exceeded {
			t.Errorf("%+v of %d: exceeded %v", c.used, c.budget, got)
		}
	}
}
