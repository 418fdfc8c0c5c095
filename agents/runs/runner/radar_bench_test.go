package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/merge"
)

// BenchmarkCollisions is what one commit costs beside 19 other branches, each
// with a worktree at work: where every branch has files of its own, and where
// all change one file in conflict.
func BenchmarkCollisions(b *testing.B) {
	const branches, files = 20, 500
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("branches=%d/shared=%t", branches, shared), func(b *testing.B) {
			var config strings.Builder
			config.WriteString("session: s\ndefaults: {agent: command}\nagents:\n")
			for i := range branches {
				fmt.Fprintf(&config, "  - {name: n%d, task: x}\n", i)
			}
			p := newProject(b, config.String())
			for i := range files {
				p.write(fmt.Sprintf("file-%d", i), "line\n")
			}
			p.git("add", ".")
			p.git("commit", "-q", "-m", "files")
			repo, err := worktree.Open(b.Context(), p.root)
			if err != nil {
				b.Fatal(err)
			}
			base := p.git("rev-parse", "HEAD")
			s := scan{repo: repo, clear: func(context.Context) error { return nil }, known: make(map[[2]int]run.Collision), due: []int{0}}
			if s.graph, _, err = dag.Parse("f.yml", []byte(config.String()), dag.ParseOptions{}); err != nil {
				b.Fatal(err)
			}
			for i := range branches {
				name := fmt.Sprintf("n%d", i)
				tree := filepath.Join(filepath.Dir(p.root), name)
				p.git("worktree", "add", "-q", "-b", name, tree)
				since := time.Now() // what is checked out is older
				for k := range 10 {
					file := fmt.Sprintf("file-%d", 10*i+k)
					if shared && k == 0 {
						file = "README"
					}
					if err := os.WriteFile(filepath.Join(tree, file), []byte(name+"\n"), 0o644); err != nil {
						b.Fatal(err)
					}
				}
				p.git("-C", tree, "commit", "-q", "-a", "-m", name)
				tip := p.git("rev-parse", name)
				touched, err := repo.Touched(b.Context(), base, tip)
				if err != nil {
					b.Fatal(err)
				}
				s.all = append(s.all, blip{node: i, branch: name, start: base, tree: tree, since: since,
					tip: merge.Known{Commit: tip, From: base, Files: touched}})
			}
			found, before := 0, cpu(b)
			for b.Loop() {
				s.all[0].tip = merge.Known{} // a commit has appeared
				found = len(s.run(b.Context(), func(_ int, err error) { b.Error(err) }).found)
			}
			if want := map[bool]int{true: branches - 1}[shared]; found != want {
				b.Errorf("%d collisions, want %d", found, want)
			}
			b.ReportMetric((cpu(b)-before).Seconds()*1e3/float64(b.N), "cpu-ms/commit")
		})
	}
}

// cpu is what this process and its children that have ended took of it.
func cpu(b *testing.B) (all time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}
