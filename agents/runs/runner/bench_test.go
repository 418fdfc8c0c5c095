package runner

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
)

// layered is a configuration of n nodes in layers of the given width, each
// depending on all of the layer before it.
func layered(n, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "session: bench\nmax_parallel: %d\ndefaults: {agent: command, role: review}\nagents:\n", width)
	for i := range n {
		fmt.Fprintf(&b, "  - {name: n%d, task: /bin/true", i)
		if i >= width {
			var deps []string
			for d := range width {
				deps = append(deps, fmt.Sprintf("n%d", (i/width-1)*width+d))
			}
			fmt.Fprintf(&b, ", depends_on: [%s]", strings.Join(deps, ", "))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func BenchmarkHeadless(b *testing.B) {
	for _, n := range []int{200, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				p := newProject(b, layered(n, 2))
				r := p.create()
				b.StartTimer()
				if _, err := Run(context.Background(), Options{Run: r, How: HowStart, Kinds: agent.NewKinds(command.Kind())}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n)/1e6, "ms/node")
		})
	}
}
