package dag

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Role is what a node is for; it decides whether the node gets a worktree.
type Role string

const (
	RoleBuild  Role = "build"  // works in a worktree and branch of its own
	RoleReview Role = "review" // reads at the project root, no branch
	RoleMerge  Role = "merge"  // brings its dependencies' branches into its own
	RoleGate   Role = "gate"   // waits for a person
)

// Join is the condition on a node's dependencies before it may start.
type Join string

const (
	AllSuccess Join = "all_success"
	AllDone    Join = "all_done"
	OneSuccess Join = "one_success"
	Always     Join = "always" // same as AllDone
)

// Reviewing is whether a person must review a node's work before it is merged.
type Reviewing string

const (
	ReviewOptional Reviewing = "optional" // also: empty
	ReviewRequired Reviewing = "required"
)

// OnLost is what happens to an attempt that vanished without a record.
type OnLost string

const (
	Redo OnLost = "redo"
	Ask  OnLost = "ask"
)

// OnLimit is what an agent does when it meets the limit of its account.
type OnLimit string

const (
	Wake      OnLimit = "wake" // it continues when the limit is over
	AskToGoOn OnLimit = "ask"  // a person must allow it first
)

// Approval is what opens a gate.
type Approval string

const (
	ApproveAny  Approval = "any"  // a command or a marker
	ApproveCode Approval = "code" // a code, shown and typed in the person's own terminal
)

// KindACP is the agent kind whose nodes name their program in Command.
const KindACP = "acp"

// KindCommand is the agent kind that runs the task with sh -c.
const KindCommand = "command"

// Duration is a time.Duration that reads and writes as "1h30m" in JSON.
type Duration time.Duration

func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("duration %q: %w", s, err)
	}
	*d = Duration(v)
	return nil
}

// FenceMode says whether the kernel keeps a node's programs from writing elsewhere.
type FenceMode string

// Values of FenceMode.
const (
	FenceAuto    FenceMode = "auto"    // where the system can
	FenceRequire FenceMode = "require" // or the node does not start
	FenceOff     FenceMode = "off"
)

// IgnoredFiles says whether what git ignores may be written outside of a scope.
type IgnoredFiles string

// Values of IgnoredFiles.
const (
	IgnoredAllow IgnoredFiles = "allow"
	IgnoredDeny  IgnoredFiles = "deny"
)

// Fence is the fence around a node's programs.
type Fence struct {
	Mode    FenceMode    `json:"mode,omitempty"`    // empty: as the person's settings say; none in a plan: off
	Ignored IgnoredFiles `json:"ignored,omitempty"` // outside of a scope; empty: allow
	Write   []string     `json:"write,omitempty"`   // further places that may be written, absolute or below "~/"
	Hide    []string     `json:"hide,omitempty"`    // places that are found empty, as Write
}

// unfenced are the kinds whose programs make files in folders of their own that hold settings
// too, which a fence keeps closed: they have one where somebody asks for it.
var unfenced = []string{"kimi", "qwen", "opencode", "gemini", "acp"}

// Strictest returns the mode of a repository's f, for a kind of agent, where a person wants
// least; empty: auto, off for some kinds. A repository can only ask for more.
func (f Fence) Strictest(least FenceMode, kind string) FenceMode {
	modes := []FenceMode{FenceOff, FenceAuto, FenceRequire}
	switch {
	case least != "":
	case slices.Contains(unfenced, kind):
		least = FenceOff
	default:
		least = FenceAuto
	}
	return modes[max(slices.Index(modes, f.Mode), slices.Index(modes, least))]
}

// On reports whether there is to be a fence, where the system has one.
func (f Fence) On() bool { return f.Mode == FenceAuto || f.Mode == FenceRequire }

// Retries bounds how often cmux retries a failed node.
type Retries struct {
	Max     int      `json:"max"`
	Backoff Duration `json:"backoff,omitempty"`
}

// Notify is how cmux notifies a person that a run needs them or has ended.
type Notify struct {
	Bell    bool   `json:"bell,omitempty"`
	Desktop bool   `json:"desktop,omitempty"`
	Webhook string `json:"webhook,omitempty"`
	Format  string `json:"format,omitempty"`  // what the webhook understands: json, slack, discord; empty: derived from its address
	Command string `json:"command,omitempty"` // the person's command, for sh -c
}

// NotifyFormats are the values of Notify.Format.
func NotifyFormats() []string { return []string{"json", "slack", "discord"} }

// Node is one agent of a configuration, with every default filled in.
type Node struct {
	Name           string            `json:"name"`
	Branch         string            `json:"branch,omitempty"` // empty for review and gate
	Agent          string            `json:"agent"`            // kind, such as command or claude
	Role           Role              `json:"role"`
	Task           string            `json:"task,omitempty"` // task_file's content is read into it
	TaskFile       string            `json:"task_file,omitempty"`
	Dir            string            `json:"dir,omitempty"` // folder of its program and checks, relative to the root of its worktree; empty: the root
	Scope          []string          `json:"scope,omitempty"`
	Context        []string          `json:"context,omitempty"`
	DependsOn      []string          `json:"depends_on,omitempty"`
	When           Join              `json:"when"`
	If             string            `json:"if,omitempty"`      // condition; empty or true: the node starts
	Outputs        []string          `json:"outputs,omitempty"` // names of values that it must publish before it is done
	Pool           string            `json:"pool,omitempty"`
	Verify         []string          `json:"verify,omitempty"`
	VerifyTimeout  Duration          `json:"verify_timeout"`
	VerifyAttempts int               `json:"verify_attempts"`
	Timeout        Duration          `json:"timeout,omitempty"`
	IdleTimeout    Duration          `json:"idle_timeout,omitempty"`
	InputTimeout   Duration          `json:"input_timeout,omitempty"`
	Retries        Retries           `json:"retries"`
	OnLost         OnLost            `json:"on_lost"`
	OnLimit        OnLimit           `json:"on_limit"`
	RunsOn         []string          `json:"runs_on,omitempty"`    // labels of the machine that carries it out, or AnyMachine; empty: at home
	LostAfter      Duration          `json:"lost_after,omitempty"` // 0: see GivenUpAfter
	SaveEvery      Duration          `json:"save_every,omitempty"` // 0: see SavedEvery
	AutoAccept     bool              `json:"auto_accept,omitempty"`
	Fence          Fence             `json:"fence,omitzero"`
	Account        string            `json:"account"` // the unit that a usage limit pauses
	Model          string            `json:"model,omitempty"`
	Command        []string          `json:"command,omitempty"` // of agent: acp
	Env            map[string]string `json:"env,omitempty"`
	OnComplete     []string          `json:"on_complete,omitempty"`
	Budget         Budget            `json:"budget,omitzero"`
	Checkout       bool              `json:"checkout,omitempty"` // review: a detached worktree of what it reviews
	Approve        Approval          `json:"approve,omitempty"`  // gate: code; empty is any
	Matrix         *Matrix           `json:"matrix,omitempty"`   // the matrix that the node comes from; nil: none
	Finally        bool              `json:"finally,omitempty"`  // starts when all nodes that are not under finally have ended
	Line           int               `json:"line,omitempty"`     // line of the node in the configuration
	File           string            `json:"file,omitempty"`     // included file that defines it; empty: none
}

// TreePath returns the path of a node's worktree, for a project at root.
func (g *Graph) TreePath(root string, n *Node) string {
	base := g.WorktreeBase
	if !filepath.IsAbs(base) {
		base = filepath.Join(root, base)
	}
	return filepath.Join(base, cmp.Or(g.Folders, g.Session)+"-"+n.Name)
}

// AnyMachine is the label that every machine has.
const AnyMachine = "any"

// Away reports whether the node runs on another machine, where there is one.
func (n *Node) Away() bool { return len(n.RunsOn) > 0 && n.Role != RoleGate }

// GivenUpAfter is how long the node's machine may be silent before another attempt follows.
func (n *Node) GivenUpAfter() time.Duration {
	return time.Duration(cmp.Or(n.LostAfter, Duration(30*time.Minute)))
}

// SavedEvery is how often unfinished work of the node travels home.
func (n *Node) SavedEvery() time.Duration {
	return time.Duration(cmp.Or(n.SaveEvery, Duration(10*time.Minute)))
}

// Sends returns the variables of env, NAME=value each, that send_env names.
func (g *Graph) Sends(env []string) []string {
	var all []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if slices.ContainsFunc(g.SendEnv, func(p string) bool {
			begin, open := strings.CutSuffix(p, "*")
			return p == name || open && strings.HasPrefix(name, begin)
		}) {
			all = append(all, e)
		}
	}
	return all
}

// HasTree reports whether the node works in a worktree of its own.
func (n *Node) HasTree() bool {
	switch n.Role {
	case RoleBuild, RoleMerge:
		return true
	case RoleReview:
		return n.Checkout || len(n.Verify) > 0
	}
	return false
}

// HasBranch reports whether the node produces a branch.
func (n *Node) HasBranch() bool { return n.Role == RoleBuild || n.Role == RoleMerge }

// AsksCode reports whether the node is a gate that only a code opens, which a person types
// in a terminal.
func (n *Node) AsksCode() bool { return n.Role == RoleGate && n.Approve == ApproveCode }

// UsesModel reports whether the node's agent uses a model.
func (n *Node) UsesModel() bool {
	return n.Agent != KindCommand && n.Role != RoleGate && (n.Role != RoleMerge || n.Task != "")
}

// Graph is a validated configuration, immutable once made by Parse or Decode.
// Nodes stand in configuration order; a node is named by its index in it.
type Graph struct {
	Session      string         `json:"session"`
	Base         string         `json:"base,omitempty"`
	WorktreeBase string         `json:"worktree_base"`
	Folders      string         `json:"folders,omitempty"` // prefix of the worktrees' names if another project uses the session's name; empty: Session
	MainPane     bool           `json:"main_pane"`
	MaxParallel  int            `json:"max_parallel"`
	Pools        map[string]int `json:"pools,omitempty"`
	Setup        []string       `json:"setup,omitempty"`
	Copy         []string       `json:"copy,omitempty"`
	Link         []string       `json:"link,omitempty"`
	SendEnv      []string       `json:"send_env,omitempty"` // names, or beginnings of names with a *
	Notify       Notify         `json:"notify,omitzero"`
	Budget       Budget         `json:"budget,omitzero"` // of all nodes together
	Review       Reviewing      `json:"review,omitempty"`
	Included     []Included     `json:"included,omitempty"`
	Nodes        []Node         `json:"nodes"`

	index      map[string]int
	deps       [][]int // per node, in depends_on order
	dependents [][]int
	order      []int // topological, ties in configuration order
	conditions *conditions
}

// Sources returns the indices of the nodes that i names in depends_on: i starts from their
// work. Callers must not change the slice.
func (g *Graph) Sources(i int) []int { return g.deps[i][:len(g.Nodes[i].DependsOn)] }

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.Nodes) }

// Index returns the index of the named node, or -1.
func (g *Graph) Index(name string) int {
	if i, ok := g.index[name]; ok {
		return i
	}
	return -1
}

// Names returns the nodes' names, by index.
func (g *Graph) Names() []string {
	names := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		names[i] = g.Nodes[i].Name
	}
	return names
}

// Deps returns the indices of the nodes that i waits for: those in its depends_on, then
// those that finally adds. Callers must not change the slice.
func (g *Graph) Deps(i int) []int { return g.deps[i] }

// Dependents returns the indices of the nodes that depend on i. Callers must not change the
// slice.
func (g *Graph) Dependents(i int) []int { return g.dependents[i] }

// Order returns the node indices in graph order: topological, ties in configuration order.
// Callers must not change the slice.
func (g *Graph) Order() []int { return g.order }

// Same reports whether both graphs are equal, except for positions in files.
func (g *Graph) Same(o *Graph) bool {
	a, err := g.unplaced().Encode()
	b, err2 := o.unplaced().Encode()
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// unplaced returns g without positions in files.
func (g *Graph) unplaced() *Graph {
	u := *g
	u.Folders, u.Included, u.Nodes = "", nil, slices.Clone(g.Nodes)
	for i := range u.Nodes {
		u.Nodes[i].File, u.Nodes[i].Line = "", 0
	}
	return &u
}

// Encode returns the frozen form of the graph, for Decode.
func (g *Graph) Encode() ([]byte, error) { return json.Marshal(g) }

// Decode reads what Encode wrote. It does not validate the content: Parse did so before. A
// missing dependency or a cycle is still an error, so that a damaged file cannot hang the
// scheduler.
func Decode(b []byte) (*Graph, error) {
	g := new(Graph)
	if !g.quick(b) {
		if err := g.slow(b); err != nil {
			return nil, fmt.Errorf("frozen graph: %w", err)
		}
	}
	if err := g.link(); err != nil {
		return nil, fmt.Errorf("frozen graph: %w", err)
	}
	return g, nil
}

// link fills the adjacency and the order from Nodes. It is linear.
func (g *Graph) link() error {
	n := len(g.Nodes)
	g.index = make(map[string]int, n)
	for i := range g.Nodes {
		g.index[g.Nodes[i].Name] = i
	}
	g.conditions = new(conditions)
	g.deps = make([][]int, n)
	g.dependents = make([][]int, n)
	for i := range g.Nodes {
		for _, d := range g.Nodes[i].DependsOn {
			j, ok := g.index[d]
			if !ok {
				return fmt.Errorf("node %q depends on %q, which does not exist", g.Nodes[i].Name, d)
			}
			g.deps[i] = append(g.deps[i], j)
			g.dependents[j] = append(g.dependents[j], i)
		}
	}
	for i := range g.Nodes {
		if g.Nodes[i].Finally {
			g.awaitAll(i)
		}
	}
	g.order = topological(g.deps, g.dependents)
	if len(g.order) != n {
		return fmt.Errorf("the dependencies form a cycle")
	}
	return nil
}

// Unconditional returns g with no if: at any node.
func (g *Graph) Unconditional() *Graph {
	u := *g
	u.Nodes = slices.Clone(g.Nodes)
	for i := range u.Nodes {
		u.Nodes[i].If = ""
	}
	return &u
}

// awaitAll makes node i, which is under finally, wait for every node that is not.
func (g *Graph) awaitAll(i int) {
	named := make(map[int]bool, len(g.deps[i]))
	for _, j := range g.deps[i] {
		named[j] = true
	}
	for j := range g.Nodes {
		if !g.Nodes[j].Finally && !named[j] {
			g.deps[i] = append(g.deps[i], j)
			g.dependents[j] = append(g.dependents[j], i)
		}
	}
}

// topological is Kahn's algorithm with a queue seeded in index order. It leaves out nodes
// on or after a cycle.
func topological(deps, dependents [][]int) []int {
	open := make([]int, len(deps))
	order := make([]int, 0, len(deps))
	for i := range deps {
		if open[i] = len(deps[i]); open[i] == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, d := range dependents[order[at]] {
			if open[d]--; open[d] == 0 {
				order = append(order, d)
			}
		}
	}
	return order
}
