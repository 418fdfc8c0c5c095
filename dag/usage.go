package dag

// Usage is what was used of a model, in tokens. Input is without what came
// from a cache or went into one.
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

// Plus is the sum of both.
func (u Usage) Plus(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return a + b }) }

// Beyond is what u has more than v, count by count; never less than nothing.
func (u Usage) Beyond(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return max(a-b, 0) }) }

// AtLeast is the larger of both, count by count.
func (u Usage) AtLeast(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return max(a, b) }) }

// AtMost is the smaller of both, count by count.
func (u Usage) AtMost(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return min(a, b) }) }

// Counted is what counts against a budget. What is read from a cache does not:
// it costs a small part of the others, and in a long conversation it is nearly
// all there is.
func (u Usage) Counted() int64 { return u.Input + u.Output + u.CacheCreate }

// Budget bounds what a node or a run may use; zero means no bound.
type Budget struct {
	Tokens int64 `json:"tokens,omitempty"`
}

// Exceeded reports whether u is more than the budget allows.
func (b Budget) Exceeded(u Usage) bool { return b.Tokens > 0 && u.Counted() > b.Tokens }
