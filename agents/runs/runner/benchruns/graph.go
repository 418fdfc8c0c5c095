package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// graph is a shape: for each node, in order, the nodes it depends on.
type graph struct {
	name string
	deps [][]int
}

func (g graph) len() int { return len(g.deps) }

func chain(n int) graph {
	g := graph{name: fmt.Sprintf("chain of %d", n), deps: make([][]int, n)}
	for i := 1; i < n; i++ {
		g.deps[i] = []int{i - 1}
	}
	return g
}

// fan is n nodes: one, those that depend on it, and one that depends on those.
// go-task refuses to have a task asked for more than 1000 times.
func fan(n int) graph {
	g := graph{name: fmt.Sprintf("fan-out and fan-in of %d", n), deps: make([][]int, n)}
	for i := 1; i < n-1; i++ {
		g.deps[i] = []int{0}
		g.deps[n-1] = append(g.deps[n-1], i)
	}
	return g
}

// layered is n nodes in layers, each node depending on the whole layer before.
func layered(n, width int) graph {
	g := graph{name: fmt.Sprintf("layers, %d at width %d", n, width), deps: make([][]int, n)}
	for i := width; i < n; i++ {
		for k := range width {
			g.deps[i] = append(g.deps[i], (i/width-1)*width+k)
		}
	}
	return g
}

// last is the nodes on which no other depends.
func (g graph) last() []int {
	needed := make([]bool, g.len())
	for _, deps := range g.deps {
		for _, d := range deps {
			needed[d] = true
		}
	}
	var last []int
	for i, n := range needed {
		if !n {
			last = append(last, i)
		}
	}
	return last
}

func names(nodes []int, form, separator string) string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = fmt.Sprintf(form, n)
	}
	return strings.Join(all, separator)
}

// cmux is the graph as a configuration. Head stands above the agents.
func (g graph) cmux(task, role string, parallel int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "session: bench%d\nmax_parallel: %d\nworktree_base: trees\ndefaults: {agent: command, role: %s}\nagents:\n", os.Getpid(), parallel, role)
	for i, deps := range g.deps {
		fmt.Fprintf(&b, "  - name: n%d\n    task: %q\n", i, task)
		if len(deps) > 0 {
			fmt.Fprintf(&b, "    depends_on: [%s]\n", names(deps, "n%d", ", "))
		}
	}
	return b.String()
}

// tool is a program that carries a graph out.
type tool struct {
	name string
	// prepare writes the tool's files for g into dir and returns the command
	// that runs all of it.
	prepare func(dir string, g graph, task string) ([]string, error)
}

func write(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}

// others are the tools beside which cmux is measured. All of them run two nodes
// at a time.
func others(taskBinary string) []tool {
	makeWith := func(recipe string) func(string, graph, string) ([]string, error) {
		return func(dir string, g graph, task string) ([]string, error) {
			var b strings.Builder
			fmt.Fprintf(&b, "all: %s\n", names(g.last(), "n%d", " "))
			for i, deps := range g.deps {
				fmt.Fprintf(&b, "n%d: %s\n\t@%s\n", i, names(deps, "n%d", " "), strings.ReplaceAll(recipe, "TASK", task))
			}
			return []string{"make", "-j2"}, write(dir, "Makefile", b.String())
		}
	}
	tools := []tool{
		{"make", makeWith("TASK")},
		{"make, file markers", makeWith("TASK && : >$@")},
		{"ninja", func(dir string, g graph, task string) ([]string, error) {
			var b strings.Builder
			fmt.Fprintf(&b, "rule run\n  command = %s\n", task)
			for i, deps := range g.deps {
				fmt.Fprintf(&b, "build n%d: run %s\n", i, names(deps, "n%d", " "))
			}
			fmt.Fprintf(&b, "default %s\n", names(g.last(), "n%d", " "))
			return []string{"ninja", "-j2"}, write(dir, "build.ninja", b.String())
		}},
	}
	if taskBinary != "" {
		tools = append(tools, tool{"go-task", func(dir string, g graph, task string) ([]string, error) {
			var b strings.Builder
			b.WriteString("version: '3'\nsilent: true\ntasks:\n")
			fmt.Fprintf(&b, "  default: {deps: [%s]}\n", names(g.last(), "n%d", ", "))
			for i, deps := range g.deps {
				// Without run: once a task is carried out for each that depends on it.
				fmt.Fprintf(&b, "  n%d: {run: once, deps: [%s], cmds: [%q]}\n", i, names(deps, "n%d", ", "), task)
			}
			return []string{taskBinary, "--concurrency", "2"}, write(dir, "Taskfile.yml", b.String())
		}})
	}
	return tools
}
