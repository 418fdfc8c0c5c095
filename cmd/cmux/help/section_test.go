package help

import "testing"

// A line of code that looks like a heading is none.
func TestSection(t *testing.T) {
	const page = "# Page\n\n## One\n\ntext\n```yaml\n# Two\nx: 1\n```\nmore\n### Below\n## Two\nlast\n"
	for name, want := range map[string]string{
		"one": "## One\n\ntext\n```\n# Two\nx: 1\n```\nmore\n### Below\n",
		"two": "## Two\nlast\n",
	} {
		if got, near := section(page, name); got != want || near != "" {
			t.Errorf("%s: %q, near %q, want %q", name, got, near, want)
		}
	}
	if got, near := section(page, "belwo"); got != "" || near != "below" {
		t.Errorf("%q, %q", got, near)
	}
}
