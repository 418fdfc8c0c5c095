package codex

import "time"

// reportTimeout bounds a call of a tool of `cmux mcp`, which waits for checks
// or for a person.
const reportTimeout = 7 * 24 * time.Hour

// reportServer is the MCP server by which the agent reports. Codex gives a
// server little of its own environment; the rest is named, so that the token
// stands in no file and no argument.
func reportServer(binary string) object {
	return object{
		"command": binary, "args": []string{"mcp"},
		"env_vars":                    []string{"CMUX_SOCKET", "CMUX_TOKEN", "CMUX_NODE", "CMUX_ATTEMPT"},
		"default_tools_approval_mode": "approve",
		"tool_timeout_sec":            int(reportTimeout / time.Second),
	}
}
