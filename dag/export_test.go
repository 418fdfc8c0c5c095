package dag

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Any graph survives being frozen and being written as a configuration.
func TestForms(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{1,30}(\n[ -~]{0,30}){0,3}\n?`), rapid.SampledFrom([]string{"true", "null", "~", "1", "1e3", "=", "<<", "- a", "a: b", "#", "| x", "a #b", "2024-01-01", "\ufeff", "\u2028", "a\r\nb", "\x7f", "\u0085", "\t"}))
	free := rapid.Custom(func(t *rapid.T) string { return strings.ReplaceAll(text.Draw(t, "text"), "\x00", "") })
	command := rapid.Custom(func(t *rapid.T) string { return free.Draw(t, "command") + "!" })
	line := rapid.StringMatching(`[a-zA-Z0-9é][ -~é]{0,20}[a-z]`)
	path := rapid.SampledFrom([]string{"src/", "src/**/*.go", "app/[id]/x", "a b/é", "{a,b}/", "true", "*", "&x", "x: y", "#"})
	duration := rapid.Map(rapid.OneOf(rapid.Int64Min(0), rapid.SampledFrom([]int64{0, 1e9, 60e9, 3600e9, 5400e9})), func(n int64) Duration { return Duration(n) })
	count := rapid.IntRange(0, 1<<40)
	maybe := func(g *rapid.Generator[string]) *rapid.Generator[[]string] { return rapid.SliceOfN(g, 0, 3) }

	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{
			Session: rapid.StringMatching(sessionPattern[:len(sessionPattern)-2]+`{0,5}`).Draw(t, "session"),
			Base:    rapid.SampledFrom([]string{"", "main", "HEAD~2", "a: b"}).Draw(t, "base"), WorktreeBase: line.Draw(t, "worktree_base"),
			MainPane: rapid.Bool().Draw(t, "main_pane"), MaxParallel: 1 + count.Draw(t, "max_parallel"),
			Pools: map[string]int{"p1": 1 + count.Draw(t, "pool"), "null": 1},
			Setup: maybe(command).Draw(t, "setup"), Copy: maybe(path).Draw(t, "copy"), Link: maybe(path).Draw(t, "link"), SendEnv: maybe(rapid.SampledFrom([]string{"A", "CI_*"})).Draw(t, "send_env"),
			Review: rapid.SampledFrom([]Reviewing{"", ReviewRequired}).Draw(t, "review"),
			Notify: Notify{rapid.Bool().Draw(t, "bell"), rapid.Bool().Draw(t, "desktop"), rapid.SampledFrom([]string{"", "https://example.org/?a=b#c"}).Draw(t, "webhook"), rapid.SampledFrom([]string{"", "slack"}).Draw(t, "format"), rapid.SampledFrom([]string{"", "tell \"$CMUX_TEXT\""}).Draw(t, "command")},
			Budget: Budget{int64(count.Draw(t, "run tokens"))},
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			n := Node{
				Name: fmt.Sprintf("n%d", i), Agent: rapid.SampledFrom(Kinds()).Draw(t, "agent"),
				Role:    rapid.SampledFrom([]Role{RoleBuild, RoleReview, RoleGate}).Draw(t, "role"),
				Task:    "t" + free.Draw(t, "task"),
				Context: maybe(path).Draw(t, "context"), When: rapid.SampledFrom([]Join{AllSuccess, AllDone, OneSuccess}).Draw(t, "when"),
				Pool: rapid.SampledFrom([]string{"", "p1", "null"}).Draw(t, "pool"), VerifyTimeout: 1 + duration.Draw(t, "verify_timeout")/2,
				VerifyAttempts: 1 + count.Draw(t, "attempts"), Timeout: duration.Draw(t, "timeout"), IdleTimeout: duration.Draw(t, "idle"),
				InputTimeout: duration.Draw(t, "input"), Retries: Retries{count.Draw(t, "max"), duration.Draw(t, "backoff")},
				OnLost: rapid.SampledFrom([]OnLost{Redo, Ask}).Draw(t, "on_lost"), OnLimit: rapid.SampledFrom([]OnLimit{Wake, AskToGoOn}).Draw(t, "on_limit"), AutoAccept: rapid.Bool().Draw(t, "auto"),
				RunsOn: maybe(rapid.SampledFrom([]string{"any", "gpu", "linux/arm64"})).Draw(t, "runs_on"), LostAfter: rapid.SampledFrom([]Duration{0, Duration(6e10)}).Draw(t, "lost_after"), SaveEvery: rapid.SampledFrom([]Duration{0, Duration(1e9)}).Draw(t, "save_every"),
				Account: line.Draw(t, "account"), Model: rapid.SampledFrom([]string{"", "opus", "1"}).Draw(t, "model"),
				Budget: Budget{int64(count.Draw(t, "tokens"))},
				Env:    map[string]string{"A": asText(free.Draw(t, "A")), "null": asText(free.Draw(t, "null")), "y": ""},
			}
			if i > 0 && (g.Nodes[i-1].Finally || rapid.IntRange(0, 5).Draw(t, "finally") == 0) {
				n.Finally = true
				n.When = rapid.SampledFrom([]Join{AllSuccess, AllDone, OneSuccess, Always}).Draw(t, "finally when")
			}
			for j := range i {
				if rapid.Bool().Draw(t, "dependency") {
					n.DependsOn = append(n.DependsOn, fmt.Sprintf("n%d", j))
				}
			}
			if n.Agent == KindACP {
				n.Command = append([]string{"p" + line.Draw(t, "program")}, maybe(line).Draw(t, "arguments")...)
			}
			if n.Role != RoleGate {
				n.Outputs = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"version", "_x", "null", "N1"}), 0, 3, rapid.ID).Draw(t, "outputs")
				n.Scope = maybe(path).Draw(t, "scope")
				n.Verify = maybe(command).Draw(t, "verify")
			}
			switch n.Role {
			case RoleBuild:
				n.Branch = rapid.SampledFrom([]string{g.Session + "/" + n.Name, n.Name + "/é,x#"}).Draw(t, "branch")
				n.OnComplete = maybe(rapid.SampledFrom([]string{"push", "pr"})).Draw(t, "on_complete")
			case RoleReview:
				n.Checkout = rapid.Bool().Draw(t, "checkout")
			case RoleGate:
				n.Approve = rapid.SampledFrom([]Approval{"", ApproveCode}).Draw(t, "approve")
			}
			g.Nodes = append(g.Nodes, n)
		}
		// Through Encode, so that what is empty is nil as Parse leaves it.
		frozen, err := g.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if g, err = Decode(frozen); err != nil {
			t.Fatal(err)
		}
		checkForms(t, g)
	})
}

// layered is a configuration of n nodes, each of which waits for two or three
// of the layer before, without much text.
func layered(n int) []byte {
	var b bytes.Buffer
	b.WriteString("session: s\ndefaults: {agent: command, role: review}\nagents:\n")
	const width = 100
	for i := range n {
		fmt.Fprintf(&b, "- {name: n%d, task: t", i)
		if i >= width {
			fmt.Fprintf(&b, ", depends_on: [n%d, n%d", i-width, i-i%width-1-i%7)
			b.WriteString("]")
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		src := layered(n)
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Parse("f.yml", src, ParseOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
		})
	}
}

func BenchmarkOverlaps(b *testing.B) {
	for _, n := range []int{100, 1_000, maxScoped} {
		g := &Graph{}
		for i := range n {
			g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("n%d", i), Role: RoleBuild, Scope: []string{fmt.Sprintf("src/d%d/", i), fmt.Sprintf("src/d%d/*_test.go", i)}})
		}
		if err := g.link(); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(Overlaps(g, nil)) > 0 {
					b.Fatal("overlaps")
				}
			}
		})
	}
}

// asText returns s as a value of env: that means s itself.
func asText(s string) string {
	return strings.NewReplacer("$", "$$", "~", "").Replace(s)
}
