package places

import (
	"cmux/agents/kinds/rights"
	"cmux/dag"
)

// Policy is what a node may do.
type Policy struct {
	Role     dag.Role
	Root     string   // the project's root, absolute
	Tree     string   // the node's worktree, or the folder that it shares, absolute; empty: it works at the root
	Dir      string   // folder in Tree, or in Root, in which its program and its checks run, absolute; empty: there itself
	Peers    []string // worktrees of the run's other nodes, absolute; may be empty
	Scope    []string // as in dag.Node
	Context  []string
	Branch   string   // the node's own; empty: it has none
	Verify   []string // the node's checks
	Private  []string // folders and files that no agent reads or writes, absolute
	Mine     []string // folders in private ones that are the agent's own to read, absolute
	Beside   string   // what begins with it is another agent's worktree, absolute; empty: none
	Headless bool
	Shared   bool          // Tree is a folder in which others work too
	Leads    bool          // it is a supervisor, which leads workers and writes no code
	Led      string        // folder outside Root whose work it leads, resolved; empty: none
	Holder   rights.Holder // which orders to cmux it may give
	Zones    Zones
	// Resolve follows every symbolic link of an absolute path, of which a tail
	// need not exist; Follow does it on disk. Nil: there are none.
	Resolve func(path string) (string, error)
	// Linked reports whether a file has another name that is no link. Nil: none.
	Linked func(path string) bool
	// Machine is asked before a command of the shell is granted. Nil: none is.
	Machine Machine
}
