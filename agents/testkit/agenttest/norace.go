//go:build !race

package agenttest

// racing says that the race detector looks on.
const racing = false
