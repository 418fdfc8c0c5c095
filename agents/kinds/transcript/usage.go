package transcript

import "cmux/dag"

// claudeUsage is usage as the Messages API gives it.
type claudeUsage struct {
	Input       int64 `json:"input_tokens"`
	Output      int64 `json:"output_tokens"`
	CacheRead   int64 `json:"cache_read_input_tokens"`
	CacheCreate int64 `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) usage() dag.Usage {
	return dag.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreate: u.CacheCreate}.AtLeast(dag.Usage{})
}
