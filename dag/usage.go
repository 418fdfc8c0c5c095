package dag

// Usage is the use of a model, in tokens. Input excludes tokens read from or written to a
// cache.
type Usage struct {
	Input       int64 `json:"input"`
	Output      int64 `json:"output"`
	CacheRead   int64 `json:"cache_read"`
	CacheCreate int64 `json:"cache_create"`
}

// each applies f to each pair of counts.
func (u Usage) each(v Usage, f func(a, b int64) int64) Usage {
	return Usage{f(u.Input, v.Input), f(u.Output, v.Output), f(u.CacheRead, v.CacheRead), f(u.CacheCreate, v.CacheCreate)}
}

// Plus returns the sum of both.
func (u Usage) Plus(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return a + b }) }

// Beyond returns u minus v, count by count, but not below 0.
func (u Usage) Beyond(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return max(a-b, 0) }) }

// AtLeast returns the larger of both, count by count.
func (u Usage) AtLeast(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return max(a, b) }) }

// AtMost returns the smaller of both, count by count.
func (u Usage) AtMost(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return min(a, b) }) }

// mostTokens is more than anything uses. What a program reports beyond it would make sums of
// it overflow, and a budget that is used up one that nobody has touched.
const mostTokens = 1 << 40

// Bounded returns u with no count below 0 or beyond what anything uses: programs report it.
func (u Usage) Bounded() Usage {
	return u.AtLeast(Usage{}).AtMost(Usage{mostTokens, mostTokens, mostTokens, mostTokens})
}

// Counted returns the tokens that count against a budget. Cache reads do not: they cost a
// small part of the others, and in a long conversation they are nearly all tokens.
func (u Usage) Counted() int64 { return u.Input + u.Output + u.CacheCreate }

// Budget bounds what a node or a run may use; zero means no bound.
type Budget struct {
	Tokens int64 `json:"tokens,omitempty"`
}

// Exceeded reports whether u is more than the budget allows.
func (b Budget) Exceeded(u Usage) bool { return b.Tokens > 0 && u.Counted() > b.Tokens }
