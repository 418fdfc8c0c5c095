package dag

import (
	"bytes"
	"encoding/json"
	"time"

	"cmux/dag/plainjson"
)

// quick fills the empty g from what Encode wrote. On anything that it does not know it
// returns false, and the caller discards g. What it accepts, it reads as encoding/json
// would.
func (g *Graph) quick(b []byte) bool {
	// Room for all nodes at once: growing a slice of them copies each.
	g.Nodes = make([]Node, 0, bytes.Count(b, []byte(`{"name":"`)))
	return plainjson.ReadKept(b, func(c *plainjson.Cursor) {
		r := graphReader{c}
		c.Object(func(key []byte) { r.graph(g, key) })
	})
}

// graphReader reads a graph.
type graphReader struct{ *plainjson.Cursor }

func (r *graphReader) duration() Duration {
	v, err := time.ParseDuration(r.Text())
	r.Check(err)
	return Duration(v)
}

func (r *graphReader) graph(g *Graph, key []byte) {
	switch string(key) {
	case "session":
		g.Session = r.Text()
	case "base":
		g.Base = r.Text()
	case "worktree_base":
		g.WorktreeBase = r.Text()
	case "folders":
		g.Folders = r.Text()
	case "main_pane":
		g.MainPane = r.Bool()
	case "max_parallel":
		g.MaxParallel = r.Int()
	case "pools":
		if g.Pools == nil {
			g.Pools = map[string]int{}
		}
		r.Object(func(key []byte) { g.Pools[string(key)] = r.Int() })
	case "setup":
		g.Setup = r.Texts()
	case "copy":
		g.Copy = r.Texts()
	case "link":
		g.Link = r.Texts()
	case "send_env":
		g.SendEnv = r.Texts()
	case "notify":
		r.Object(func(key []byte) {
			switch string(key) {
			case "bell":
				g.Notify.Bell = r.Bool()
			case "desktop":
				g.Notify.Desktop = r.Bool()
			case "webhook":
				g.Notify.Webhook = r.Text()
			case "format":
				g.Notify.Format = r.Text()
			case "command":
				g.Notify.Command = r.Text()
			default:
				r.Fail()
			}
		})
	case "budget":
		r.budget(&g.Budget)
	case "review":
		g.Review = Reviewing(r.Text())
	case "included":
		if g.Included != nil {
			r.Fail() // a second one: encoding/json merges it into the first
		}
		r.Array(func() {
			var f Included
			r.Object(func(key []byte) {
				switch string(key) {
				case "path":
					f.Path = r.Text()
				case "sum":
					f.Sum = r.Text()
				default:
					r.Fail()
				}
			})
			g.Included = append(g.Included, f)
		})
	case "nodes":
		if len(g.Nodes) > 0 {
			r.Fail()
		}
		r.Array(func() {
			g.Nodes = append(g.Nodes, Node{})
			n := &g.Nodes[len(g.Nodes)-1]
			r.Object(func(key []byte) { r.node(n, key) })
		})
	case "mac": // the seal, which is not part of a Graph
		r.Text()
	default:
		r.Fail()
	}
}

func (r *graphReader) budget(b *Budget) {
	r.Object(func(key []byte) {
		if string(key) != "tokens" {
			r.Fail()
		}
		b.Tokens = r.Int64()
	})
}

func (r *graphReader) node(n *Node, key []byte) {
	switch string(key) {
	case "name":
		n.Name = r.Text()
	case "branch":
		n.Branch = r.Text()
	case "agent":
		n.Agent = r.Text()
	case "role":
		n.Role = Role(r.Text())
	case "task":
		n.Task = r.Text()
	case "task_file":
		n.TaskFile = r.Text()
	case "dir":
		n.Dir = r.Text()
	case "scope":
		n.Scope = r.Texts()
	case "context":
		n.Context = r.Texts()
	case "depends_on":
		n.DependsOn = r.Texts()
	case "when":
		n.When = Join(r.Text())
	case "if":
		n.If = r.Text()
	case "outputs":
		n.Outputs = r.Texts()
	case "pool":
		n.Pool = r.Text()
	case "verify":
		n.Verify = r.Texts()
	case "verify_timeout":
		n.VerifyTimeout = r.duration()
	case "verify_attempts":
		n.VerifyAttempts = r.Int()
	case "timeout":
		n.Timeout = r.duration()
	case "idle_timeout":
		n.IdleTimeout = r.duration()
	case "input_timeout":
		n.InputTimeout = r.duration()
	case "retries":
		r.Object(func(key []byte) {
			switch string(key) {
			case "max":
				n.Retries.Max = r.Int()
			case "backoff":
				n.Retries.Backoff = r.duration()
			default:
				r.Fail()
			}
		})
	case "on_lost":
		n.OnLost = OnLost(r.Text())
	case "on_limit":
		n.OnLimit = OnLimit(r.Text())
	case "runs_on":
		n.RunsOn = r.Texts()
	case "lost_after":
		n.LostAfter = r.duration()
	case "save_every":
		n.SaveEvery = r.duration()
	case "auto_accept":
		n.AutoAccept = r.Bool()
	case "fence":
		r.Object(func(key []byte) {
			switch string(key) {
			case "mode":
				n.Fence.Mode = FenceMode(r.Text())
			case "ignored":
				n.Fence.Ignored = IgnoredFiles(r.Text())
			case "write":
				n.Fence.Write = r.Texts()
			case "hide":
				n.Fence.Hide = r.Texts()
			default:
				r.Fail()
			}
		})
	case "account":
		n.Account = r.Text()
	case "model":
		n.Model = r.Text()
	case "command":
		n.Command = r.Texts()
	case "env":
		if n.Env == nil {
			n.Env = map[string]string{}
		}
		r.Object(func(key []byte) { n.Env[string(key)] = r.Text() })
	case "on_complete":
		n.OnComplete = r.Texts()
	case "budget":
		r.budget(&n.Budget)
	case "checkout":
		n.Checkout = r.Bool()
	case "approve":
		n.Approve = Approval(r.Text())
	case "matrix":
		if n.Matrix == nil {
			n.Matrix = new(Matrix)
		}
		r.Object(func(key []byte) {
			switch string(key) {
			case "name":
				n.Matrix.Name = r.Text()
			case "fail_fast":
				n.Matrix.FailFast = r.Bool()
			default:
				r.Fail()
			}
		})
	case "finally":
		n.Finally = r.Bool()
	case "line":
		n.Line = r.Int()
	case "file":
		n.File = r.Text()
	default:
		r.Fail()
	}
}

// slow decodes with encoding/json.
func (g *Graph) slow(b []byte) error {
	*g = Graph{Nodes: make([]Node, 0, bytes.Count(b, []byte(`{"name":"`)))}
	return json.Unmarshal(b, g)
}
