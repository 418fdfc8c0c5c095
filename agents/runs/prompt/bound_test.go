package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// What others said does not fill a prompt, however many they are; what is cut
// stands whole in the file that the prompt names.
func TestOthersAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := build()
		in.Whole = "/run/auth/whole-1.md"
		n := rapid.IntRange(0, 80).Draw(t, "dependencies")
		for i := range n {
			size := rapid.SampledFrom([]int{0, 10, 5_000, 20_000}).Draw(t, "size")
			d := run.Dependency{Name: fmt.Sprintf("d%d", i), Label: dag.Label{State: dag.NodeDone}, Branch: "shop/d", Tip: tipA,
				Summary: strings.Repeat("é\n", size/3) + fmt.Sprintf("the end of %d", i)}
			if rapid.Bool().Draw(t, "outputs") {
				d.Outputs = map[string]string{"KEY": strings.Repeat("v", size)}
			}
			in.Spec.Dependencies = append(in.Spec.Dependencies, d)
		}
		var earlier []run.Attempt
		for i := range rapid.IntRange(0, 40).Draw(t, "attempts") {
			earlier = append(earlier, run.Attempt{N: i + 1, End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks,
				Detail: strings.Repeat("d", 9_000), Summary: strings.Repeat("s ", 9_000), Checks: []run.Check{{Command: "x", Exit: 1, Output: strings.Repeat("o\n", 4_000)}}}})
		}
		in.Spec.Attempt = len(earlier) + 1
		in.Spec.Past = prompt.Past(earlier, in.Spec.Attempt)
		text, whole := prompt.ComposeWhole(in)
		if len(text) > 120<<10 || !utf8.ValidString(text) {
			t.Fatalf("%d bytes of prompt for %d dependencies", len(text), n)
		}
		if whole != "" && !strings.Contains(text, in.Whole) {
			t.Fatal("the prompt does not name the file")
		}
		for i := range n {
			if end := fmt.Sprintf("the end of %d\n", i); !strings.Contains(text+whole, end) {
				t.Fatalf("%s: nowhere", end)
			}
		}
	})
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"short":             "short",
		"0123456789":        "0123456789",
		"0123456789a":       "0123456789 … (1 bytes more)",
		"012345678é":        "012345678 … (2 bytes more)",
		"0123456\n89abcdef": "0123456 … (9 bytes more)",
	} {
		if got := prompt.Cut(text, 10); got != want {
			t.Errorf("Cut(%q) = %q, want %q", text, got, want)
		}
	}
}
