package dag

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(envPattern) })

// reserved are the names of files in a run's folder, which also holds a folder for every
// node; compared without case.
var reserved = []string{
	"bin", "config.yml", "env", "env.json", "graph.json", "plan.json", "records.jsonl", "refused", "requests",
	"run.json", "runner.json", "runner.lock", "runner.log", "runner.sock", "sock", "tmp",
}

// notReserved refuses the name of a file in a run's folder.
func notReserved(r *keys.Reader, _ string, at *yaml.Node, s string) bool {
	if slices.Contains(reserved, strings.ToLower(s)) {
		r.Fault(at, "choose another name", "name %q is taken by a file of cmux", s)
		return false
	}
	return true
}

func safeBranch(p *keys.Reader, _ string, at *yaml.Node, s string) bool {
	if why := BadBranch(s); why != "" {
		p.Fault(at, "", "git does not accept the branch name %q: %s", keys.Shorten(s), why)
		return false
	}
	return true
}

// BadBranch returns why git check-ref-format --branch refuses a name, or "". It also
// refuses forms that git would expand, such as @{-1}.
func BadBranch(s string) string {
	switch {
	case s == "":
		return "the name is empty"
	case s[0] == '-':
		return "the name begins with a dash"
	case s == "HEAD" || s == "@":
		return "git gives the name another meaning"
	case strings.Contains(s, ".."):
		return "the name contains .."
	case strings.Contains(s, "@{"):
		return "the name contains @{"
	case strings.HasSuffix(s, "."):
		return "the name ends with a dot"
	case len(s) > 200:
		return "the name has more than 200 bytes"
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }); i >= 0 {
		return fmt.Sprintf("the name contains %q", s[i])
	}
	for part := range strings.SplitSeq(s, "/") {
		switch {
		case part == "":
			return "the name has an empty part between slashes"
		case part[0] == '.':
			return "a part of the name begins with a dot"
		case strings.HasSuffix(part, ".lock"):
			return "a part of the name ends with .lock"
		}
	}
	return ""
}

// insideTree checks a path that must name a folder of the worktree.
func insideTree(p *keys.Reader, key string, at *yaml.Node, s string) bool {
	parts := strings.Split(s, "/")
	switch {
	case !keys.OneLine(p, key, at, s):
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~"):
		p.Fault(at, "write it relative to the root of the worktree", "%s %q is absolute", key, keys.Shorten(s))
	case slices.Contains(parts, ".."):
		p.Fault(at, "it may name only a folder inside the worktree", "%s %q leaves the worktree", key, keys.Shorten(s))
	case slices.ContainsFunc(parts, func(part string) bool { return strings.EqualFold(part, ".git") }):
		p.Fault(at, "name a folder with the project's files", "%s %q lies in .git", key, keys.Shorten(s))
	default:
		return true
	}
	return false
}

// validate checks relations between keys and between agents, and fills in the defaults that
// depend on others.
func (p *parser) validate(g *Graph) {
	index := p.names(g)
	for i := range g.Nodes {
		n, src := &g.Nodes[i], p.sources[i]
		p.task(n, src)
		if n.Pool != "" {
			if _, ok := g.Pools[n.Pool]; !ok {
				names := make([]string, 0, len(g.Pools))
				for name := range g.Pools {
					names = append(names, name)
				}
				slices.Sort(names)
				hint := p.Near(n.Pool, names)
				if hint == "" {
					hint = fmt.Sprintf("write pools: {%s: 2}", n.Pool)
				}
				p.Fault(src.where("pool"), hint, "pool %q is not defined", keys.Shorten(n.Pool))
			}
		}
		switch {
		case p.opts.Account != nil:
			n.Account = p.opts.Account(n)
		case n.Account == "":
			n.Account = n.Agent
		}
		if n.Branch == "" && n.HasBranch() && g.Session != "" && n.Name != "" {
			n.Branch = g.Session + "/" + n.Name
			if why := BadBranch(n.Branch); why != "" {
				p.Fault(src.where("name"), "give it a branch of its own", "git does not accept the branch name %q: %s", n.Branch, why)
			}
		}
		if n.When == Always && !n.Finally && len(n.DependsOn) == 0 && src.has("when") && !src.unread("depends_on") {
			p.Warn(src.where("when"), "put it under finally, or give it depends_on", "%s starts at once: it waits for nothing", called(n))
		}
		if n.Role == RoleMerge && len(n.DependsOn) == 0 && !src.unread("depends_on") {
			p.Fault(src.at, "name what it merges in depends_on", "%s is a merge without dependencies", called(n))
		}
	}
	p.branches(g)
	groups := p.grouped(g, index)
	p.dependencies(g, index, groups)
	p.needs(g, index, groups)
}

const maxFinally = 100 // each waits for every node

// finallyLast moves the nodes under finally behind the others.
func (p *parser) finallyLast(g *Graph) {
	var agents, finally []int
	for i := range g.Nodes {
		if g.Nodes[i].Finally {
			finally = append(finally, i)
		} else {
			agents = append(agents, i)
		}
	}
	if len(finally) == 0 {
		return
	}
	if len(finally) > maxFinally {
		p.Fault(p.sources[finally[maxFinally]].at, "do more in one of them", "more than %d agents stand under finally", maxFinally)
	}
	nodes, sources := make([]Node, 0, len(g.Nodes)), make([]source, 0, len(g.Nodes))
	for _, i := range append(agents, finally...) {
		nodes, sources = append(nodes, g.Nodes[i]), append(sources, p.sources[i])
	}
	g.Nodes, p.sources = nodes, sources
}

func called(n *Node) string {
	if n.Name == "" {
		return "an agent without a name"
	}
	return fmt.Sprintf("%q", n.Name)
}

// names reports missing and repeated names, and returns the index by name.
func (p *parser) names(g *Graph) map[string]int {
	index := make(map[string]int, len(g.Nodes))
	folded := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		name := g.Nodes[i].Name
		if name == "" {
			if !p.sources[i].has("name") && keys.Behind(p.sources[i].at).Kind == yaml.MappingNode {
				p.Fault(p.sources[i].at, "write name: NAME", "an agent has no name")
			}
			continue
		}
		lower := strings.ToLower(name)
		if first, ok := folded[lower]; ok {
			hint := p.firstAt(p.sources[first].where("name"), p.sources[i].where("name"))
			if c := p.sources[i].combination; c != nil && p.sources[first].at == p.sources[i].at {
				hint = fmt.Sprintf("each node of a matrix needs a name of its own: write ${{ matrix.%s }} in it", c.free)
			} else if g.Nodes[first].Name != name {
				hint += "; names are compared without regard to case"
			}
			p.Fault(p.sources[i].where("name"), hint, "two agents are named %q", name)
			continue
		}
		index[name], folded[lower] = i, i
	}
	return index
}

// task reads the task file and reports a missing task.
func (p *parser) task(n *Node, src source) {
	p.taskText(n, src)
	if at := src.where("task"); src.combination == nil {
		if n.TaskFile != "" {
			at = src.where("task_file")
		}
		p.noMatrix(at, n.Task)
	} else if n.TaskFile != "" {
		n.Task = p.inMatrix(src.where("task_file"), n.Task, src.combination, false)
	}
}

func (p *parser) taskText(n *Node, src source) {
	switch {
	case src.has("task") && src.has("task_file"):
		p.Fault(src.where("task_file"), "remove one of them", "%s has both task and task_file", called(n))
	case n.TaskFile != "":
		task, ok := p.tasks[n.TaskFile]
		if !ok {
			task = p.taskFile(src.where("task_file"), n.TaskFile)
			p.tasks[n.TaskFile] = task
		}
		n.Task = task
	case strings.TrimSpace(n.Task) == "" && (n.Role == RoleBuild || n.Role == RoleReview):
		if !src.unread("task") && !src.has("task_file") && keys.Behind(src.at).Kind == yaml.MappingNode {
			p.Fault(src.where("task"), "write task: or task_file:", "%s has no task", called(n))
		}
	}
}

// taskFile returns the content of a task file, or "" after a fault.
func (p *parser) taskFile(at *yaml.Node, name string) string {
	if p.opts.ReadFile == nil {
		p.Fault(at, "write it as task", "task_file cannot be used here")
		return ""
	}
	b, err := p.opts.ReadFile(name)
	switch {
	case err != nil:
		p.Fault(at, "", "task_file: %v", err)
	case len(b) > keys.MaxSource:
		p.Fault(at, "", "task_file %q has %d bytes; at most %d are read", name, len(b), keys.MaxSource)
	case strings.TrimSpace(string(b)) == "":
		p.Fault(at, "", "task_file %q is empty", name)
	case p.Clean(fmt.Sprintf("task_file %q", name), at, string(b)):
		return string(b)
	}
	return ""
}

// branches reports branches that cannot exist together: git keeps each as a file, on some
// systems without regard to case.
func (p *parser) branches(g *Graph) {
	first := make(map[string]int, len(g.Nodes))
	at := func(i int) *yaml.Node {
		if src := p.sources[i]; src.has("branch") {
			return src.where("branch")
		}
		return p.sources[i].where("name")
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Branch == "" || !n.HasBranch() {
			continue
		}
		lower := strings.ToLower(n.Branch)
		j, taken := first[lower]
		if !taken {
			first[lower] = i
			continue
		}
		if strings.EqualFold(n.Name, g.Nodes[j].Name) {
			continue // the name is the fault
		}
		hint := "each agent needs its own branch"
		if g.Nodes[j].Branch != n.Branch {
			hint = fmt.Sprintf("%q and %q differ only in case", g.Nodes[j].Branch, n.Branch)
		}
		p.Fault(at(i), hint, "branch %q is already that of %q", n.Branch, g.Nodes[j].Name)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Branch == "" || !n.HasBranch() {
			continue
		}
		lower := strings.ToLower(n.Branch)
		for dir := path.Dir(lower); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if j, ok := first[dir]; ok {
				later := max(i, j)
				p.Fault(at(later), "rename one of them", "branches %q of %q and %q of %q cannot both exist in git",
					g.Nodes[j].Branch, g.Nodes[j].Name, n.Branch, n.Name)
			}
		}
	}
}

// inTheWay reports branches that git cannot make in this repository. The session's name is
// reported once, however many nodes' branches begin with it.
func (p *parser) inTheWay(g *Graph, root *yaml.Node) {
	if p.opts.InTheWay == nil {
		return
	}
	reported := false
	for i := range g.Nodes {
		n, src := &g.Nodes[i], p.sources[i]
		if n.Branch == "" || !n.HasBranch() {
			continue
		}
		b := p.opts.InTheWay(n.Branch)
		switch {
		case b == "":
		case n.Branch != g.Session+"/"+n.Name:
			p.Fault(src.where("branch"), "name another branch", "git cannot make the branch %s while there is a branch %s", n.Branch, b)
		case !reported:
			reported = true
			p.Fault(valueOf(root, "session"), "name another session", "git cannot make the branch %s while there is a branch %s", n.Branch, b)
		}
	}
}

// valueOf returns the value of a key of the file, or root if the key is missing.
func valueOf(root *yaml.Node, key string) *yaml.Node {
	m := keys.Behind(root)
	for i := 0; i+1 < len(m.Content); i += 2 {
		if keys.Behind(m.Content[i]).Value == key {
			return m.Content[i+1]
		}
	}
	return root
}

// dependencies reports missing dependencies, self-dependencies and cycles. It suggests
// names of matrices as well.
func (p *parser) dependencies(g *Graph, index map[string]int, groups map[string][]string) {
	deps := make([][]int, len(g.Nodes))
	dependents := make([][]int, len(g.Nodes))
	elements := make(map[int]map[string]*yaml.Node) // of nodes with a fault
	where := func(i int, name string) *yaml.Node {
		if elements[i] == nil {
			elements[i] = p.sources[i].elements("depends_on")
		}
		if at, ok := elements[i][name]; ok {
			return at
		}
		return p.sources[i].where("depends_on")
	}
	var names []string
	for i := range g.Nodes {
		n := &g.Nodes[i]
		var seen map[string]bool
		kept := n.DependsOn[:0]
		for _, d := range n.DependsOn {
			if seen == nil {
				seen = make(map[string]bool, len(n.DependsOn))
			}
			if seen[d] {
				p.Warn(where(i, d), "remove one", "%s names %q twice in depends_on", called(n), d)
				continue
			}
			seen[d] = true
			kept = append(kept, d)
			j, ok := index[d]
			switch {
			case d == n.Name:
				p.Fault(where(i, d), "remove it", "%q depends on itself", d)
			case ok && g.Nodes[j].Finally && !n.Finally:
				p.Fault(where(i, d), "put it under finally as well", "%s depends on %q, which starts when all agents have ended", called(n), d)
			case !ok:
				if names == nil {
					names = make([]string, 0, len(g.Nodes))
					for k := range g.Nodes {
						names = append(names, g.Nodes[k].Name)
					}
					names = append(names, slices.Sorted(maps.Keys(groups))...)
				}
				self := func(name string) bool { return name == n.Name || slices.Contains(groups[name], n.Name) }
				p.Fault(where(i, d), p.NearExcept(d, names, self), "%s depends on %q, which is not defined", called(n), keys.Shorten(d))
			default:
				deps[i] = append(deps[i], j)
				dependents[j] = append(dependents[j], i)
			}
		}
		n.DependsOn = kept
	}
	if len(topological(deps, dependents)) == len(deps) {
		return
	}
	cycles(deps, func(path []int) {
		from, to := path[len(path)-1], path[0]
		p.Fault(where(from, g.Nodes[to].Name), "each waits for the next", "cycle: %s", cyclePath(g, path))
	})
}

// cycles calls report for each edge that closes a cycle in a depth-first walk, with the
// nodes of the cycle. Without those edges no cycle is left. The time is linear; the slice
// is only valid during the call.
func cycles(deps [][]int, report func(path []int)) {
	const unseen, onPath, finished = 0, 1, 2
	state := make([]uint8, len(deps))
	depth := make([]int, len(deps)) // position on the current path
	next := make([]int, len(deps))
	var path []int
	for root := range deps {
		if state[root] != unseen {
			continue
		}
		path = append(path[:0], root)
		state[root], depth[root] = onPath, 0
		for len(path) > 0 {
			at := path[len(path)-1]
			if next[at] == len(deps[at]) {
				state[at] = finished
				path = path[:len(path)-1]
				continue
			}
			d := deps[at][next[at]]
			next[at]++
			switch state[d] {
			case onPath:
				report(path[depth[d]:])
			case unseen:
				state[d], depth[d] = onPath, len(path)
				path = append(path, d)
			}
		}
	}
}

// cyclePath returns "a -> b -> a", without the middle if the cycle is long.
func cyclePath(g *Graph, nodes []int) string {
	const most = 20
	var b strings.Builder
	for k, i := range nodes {
		if len(nodes) > most && k == most/2 {
			fmt.Fprintf(&b, "... %d more ... -> ", len(nodes)-most)
		}
		if len(nodes) > most && k >= most/2 && k < len(nodes)-most/2 {
			continue
		}
		b.WriteString(g.Nodes[i].Name + " -> ")
	}
	return b.String() + g.Nodes[nodes[0]].Name
}
