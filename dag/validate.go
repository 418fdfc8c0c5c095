package dag

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"gopkg.in/yaml.v3"
)

const maxName = 100

var (
	nodeName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(namePattern) })
	sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(sessionPattern) })
	envName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(envPattern) })
)

// reserved are the names of files in a run's folder, which also holds a folder for every
// node; compared without case.
var reserved = []string{
	"bin", "config.yml", "env", "env.json", "graph.json", "plan.json", "records.jsonl", "refused", "requests",
	"run.json", "runner.json", "runner.lock", "runner.log", "runner.sock", "sock", "tmp",
}

func safeName(p *parser, key string, at *yaml.Node, s string) bool {
	switch {
	case len(s) > maxName:
		p.fault(at, "", "%s %q has %d characters; at most %d are allowed", key, shorten(s), len(s), maxName)
	case !nodeName().MatchString(s):
		p.fault(at, "letters, digits, dots, dashes and underscores, beginning with a letter or digit", "%s %q is not allowed", key, shorten(s))
	case key == "name" && slices.Contains(reserved, strings.ToLower(s)):
		p.fault(at, "choose another name", "name %q is taken by a file of cmux", s)
	default:
		return true
	}
	return false
}

func safeSession(p *parser, _ string, at *yaml.Node, s string) bool {
	switch {
	case len(s) > maxName:
		p.fault(at, "", "session %q has %d characters; at most %d are allowed", shorten(s), len(s), maxName)
	case !sessionName().MatchString(s):
		p.fault(at, "letters, digits, dashes and underscores, not beginning with a dash", "session %q is not allowed", shorten(s))
	default:
		return true
	}
	return false
}

func safeBranch(p *parser, _ string, at *yaml.Node, s string) bool {
	if why := badBranch(s); why != "" {
		p.fault(at, "", "git does not accept the branch name %q: %s", shorten(s), why)
		return false
	}
	return true
}

// badBranch returns why git check-ref-format --branch refuses a name, or "". It also
// refuses forms that git would expand, such as @{-1}.
func badBranch(s string) string {
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

func oneLine(p *parser, key string, at *yaml.Node, s string) bool {
	if strings.TrimSpace(s) == "" {
		p.fault(at, "remove the key or give a value", "%s is empty", key)
		return false
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		p.fault(at, "", "%s %q contains a control character", key, shorten(s))
		return false
	}
	return true
}

// noOption refuses what a program would read as an option.
func noOption(p *parser, key string, at *yaml.Node, s string) bool {
	if strings.HasPrefix(s, "-") {
		p.fault(at, "", "%s %q begins with a dash", key, shorten(s))
		return false
	}
	return true
}

func oneOf(allowed []string) textCheck {
	return func(p *parser, key string, at *yaml.Node, s string) bool {
		if slices.Contains(allowed, s) {
			return true
		}
		hint := p.suggest.near(s, allowed)
		if hint == "" {
			hint = "one of " + strings.Join(allowed, ", ")
		}
		p.fault(at, hint, "%s cannot be %q", key, shorten(s))
		return false
	}
}

func webAddress(p *parser, key string, at *yaml.Node, s string) bool {
	if s == "" {
		return true
	}
	if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		p.fault(at, "write https://HOST/PATH", "%s %q is not a web address", key, shorten(s))
		return false
	}
	return true
}

// insideTree checks a path that must name a folder of the worktree.
func insideTree(p *parser, key string, at *yaml.Node, s string) bool {
	parts := strings.Split(s, "/")
	switch {
	case !oneLine(p, key, at, s):
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~"):
		p.fault(at, "write it relative to the root of the worktree", "%s %q is absolute", key, shorten(s))
	case slices.Contains(parts, ".."):
		p.fault(at, "it may name only a folder inside the worktree", "%s %q leaves the worktree", key, shorten(s))
	case slices.ContainsFunc(parts, func(part string) bool { return strings.EqualFold(part, ".git") }):
		p.fault(at, "name a folder with the project's files", "%s %q lies in .git", key, shorten(s))
	default:
		return true
	}
	return false
}

// projectPattern checks a path or glob that must stay inside the project.
func projectPattern(p *parser, key string, at *yaml.Node, s string) bool {
	switch {
	case !oneLine(p, key, at, s):
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~"):
		p.fault(at, "write it relative to the project", "%s %q is absolute", key, shorten(s))
	case slices.Contains(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("/{},", r) }), ".."):
		p.fault(at, "it may name only what is inside the project", "%s %q leaves the project", key, shorten(s))
	case !doublestar.ValidatePattern(s):
		p.fault(at, `close every [ and {, or put \ before one that is meant`, "%s %q is not a valid glob", key, shorten(s))
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
				hint := p.suggest.near(n.Pool, names)
				if hint == "" {
					hint = fmt.Sprintf("write pools: {%s: 2}", n.Pool)
				}
				p.fault(src.where("pool"), hint, "pool %q is not defined", shorten(n.Pool))
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
			if why := badBranch(n.Branch); why != "" {
				p.fault(src.where("name"), "give it a branch of its own", "git does not accept the branch name %q: %s", n.Branch, why)
			}
		}
		if n.When == Always && !n.Finally && len(n.DependsOn) == 0 && src.has("when") && !src.unread("depends_on") {
			p.warn(src.where("when"), "put it under finally, or give it depends_on", "%s starts at once: it waits for nothing", called(n))
		}
		if n.Role == RoleMerge && len(n.DependsOn) == 0 && !src.unread("depends_on") {
			p.fault(src.at, "name what it merges in depends_on", "%s is a merge without dependencies", called(n))
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
		p.fault(p.sources[finally[maxFinally]].at, "do more in one of them", "more than %d agents stand under finally", maxFinally)
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
			if !p.sources[i].has("name") && behind(p.sources[i].at).Kind == yaml.MappingNode {
				p.fault(p.sources[i].at, "write name: NAME", "an agent has no name")
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
			p.fault(p.sources[i].where("name"), hint, "two agents are named %q", name)
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
		p.fault(src.where("task_file"), "remove one of them", "%s has both task and task_file", called(n))
	case n.TaskFile != "":
		task, ok := p.tasks[n.TaskFile]
		if !ok {
			task = p.taskFile(src.where("task_file"), n.TaskFile)
			p.tasks[n.TaskFile] = task
		}
		n.Task = task
	case strings.TrimSpace(n.Task) == "" && (n.Role == RoleBuild || n.Role == RoleReview):
		if !src.unread("task") && !src.has("task_file") && behind(src.at).Kind == yaml.MappingNode {
			p.fault(src.where("task"), "write task: or task_file:", "%s has no task", called(n))
		}
	}
}

// taskFile returns the content of a task file, or "" after a fault.
func (p *parser) taskFile(at *yaml.Node, name string) string {
	if p.opts.ReadFile == nil {
		p.fault(at, "write it as task", "task_file cannot be used here")
		return ""
	}
	b, err := p.opts.ReadFile(name)
	switch {
	case err != nil:
		p.fault(at, "", "task_file: %v", err)
	case len(b) > maxSource:
		p.fault(at, "", "task_file %q has %d bytes; at most %d are read", name, len(b), maxSource)
	case strings.TrimSpace(string(b)) == "":
		p.fault(at, "", "task_file %q is empty", name)
	case p.clean(fmt.Sprintf("task_file %q", name), at, string(b)):
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
		p.fault(at(i), hint, "branch %q is already that of %q", n.Branch, g.Nodes[j].Name)
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
				p.fault(at(later), "rename one of them", "branches %q of %q and %q of %q cannot both exist in git",
					g.Nodes[j].Branch, g.Nodes[j].Name, n.Branch, n.Name)
			}
		}
	}
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
				p.warn(where(i, d), "remove one", "%s names %q twice in depends_on", called(n), d)
				continue
			}
			seen[d] = true
			kept = append(kept, d)
			j, ok := index[d]
			switch {
			case d == n.Name:
				p.fault(where(i, d), "remove it", "%q depends on itself", d)
			case ok && g.Nodes[j].Finally && !n.Finally:
				p.fault(where(i, d), "put it under finally as well", "%s depends on %q, which starts when all agents have ended", called(n), d)
			case !ok:
				if names == nil {
					names = make([]string, 0, len(g.Nodes))
					for k := range g.Nodes {
						names = append(names, g.Nodes[k].Name)
					}
					names = append(names, slices.Sorted(maps.Keys(groups))...)
				}
				self := func(name string) bool { return name == n.Name || slices.Contains(groups[name], n.Name) }
				p.fault(where(i, d), p.suggest.nearExcept(d, names, self), "%s depends on %q, which is not defined", called(n), shorten(d))
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
		p.fault(where(from, g.Nodes[to].Name), "each waits for the next", "cycle: %s", cyclePath(g, path))
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

// suggester finds what a person may have meant. It makes a bounded number of comparisons,
// so that a file full of mistakes stays linear.
type suggester struct{ left int }

// near returns a hint that names the candidate nearest to word, or "".
func (s *suggester) near(word string, candidates []string) string {
	return s.nearExcept(word, candidates, func(string) bool { return false })
}

// nearExcept is near without the candidates for which not is true.
func (s *suggester) nearExcept(word string, candidates []string, not func(string) bool) string {
	candidates = candidates[:min(len(candidates), max(s.left, 0))]
	s.left -= len(candidates)
	best := nearest(word, candidates, not)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// Nearest returns the candidate that a person most likely meant by word: one that differs
// only in case, or in - and blanks for _; else the one with the fewest edits, if they are
// few for its length; else "".
func Nearest(word string, candidates []string) string {
	return nearest(word, candidates, func(string) bool { return false })
}

func nearest(word string, candidates []string, not func(string) bool) string {
	if len(word) > maxName {
		return ""
	}
	limit := max(1, min(3, len(word)/3))
	best := ""
	for _, c := range candidates {
		if c == "" || c == word || not(c) {
			continue
		}
		if strings.EqualFold(c, word) || strings.EqualFold(strings.NewReplacer("-", "_", " ", "_").Replace(word), c) {
			return c
		}
		if d := distance(word, c, limit); d <= limit {
			best, limit = c, d-1
			if limit < 0 {
				break
			}
		}
	}
	return best
}

// distance returns the number of edits (insert, delete, replace, swap neighbors) between
// two byte strings, or more than limit as soon as it must be more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	before, prev, row := rows[0], rows[1], rows[2]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
