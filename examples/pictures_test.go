package examples

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmux/agents/testkit/agenttest/testall"
)

// shown is what a picture of `make pictures` must show.
var shown = map[string][]string{
	"graph.svg":   {"schema", "release (merge; also after e2e, search, approval)"},
	"monitor.svg": {"approval needs you", "4/13 done", "blocked (cache failed)", "p99 480 ms, want 300 ms", "retry"},
	"panes.svg":   {"api: running", "web: running", "pager.test.ts: want 20 rows, got 21", "1 needs you: F8"},
}

// TestPictures runs what `make pictures` runs. The pictures in docs/ show the
// same, and pages show all of them.
func TestPictures(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	p := newProject(t, "shop")
	made := filepath.Join(filepath.Dir(p.dir), "pictures")
	if out, err := p.run(t, "..", "scripts/pictures.sh '"+filepath.Join(built(t), "cmux")+"' '"+made+"'"); err != nil {
		t.Fatalf("pictures.sh: %v\n%s", err, out)
	}
	dashboard := pictures(t, "../docs/dashboard.md")
	for _, d := range dashboard {
		if _, err := os.Stat(filepath.Join("../docs", d)); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range []string{made, "../docs/pictures"} {
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasPrefix(f.Name(), "dashboard-") && folder != made {
				if !slices.Contains(dashboard, "pictures/"+f.Name()) { // web/e2e/demo.spec.ts says what it shows
					t.Errorf("docs/dashboard.md does not show %s", f.Name())
				}
			} else if shown[f.Name()] == nil {
				t.Errorf("%s: no test says what %s shows", folder, f.Name())
			}
		}
		for name, want := range shown {
			text := svgText(t, filepath.Join(folder, name))
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%s in %s does not show %q (make pictures draws it again):\n%s", name, folder, w, text)
				}
			}
		}
	}
	readme := pictures(t, "../README.md")
	if len(readme) == 0 || readme[0] != "docs/pictures/monitor.svg" {
		t.Errorf("README.md opens with %q, not with docs/pictures/monitor.svg", readme)
	}
	for name := range shown {
		if !slices.Contains(readme, "docs/pictures/"+name) {
			t.Errorf("README.md does not show docs/pictures/%s", name)
		}
	}
}

// pictures are the images of a page.
func pictures(t *testing.T, page string) []string {
	t.Helper()
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, m := range regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(string(src), -1) {
		paths = append(paths, m[1])
	}
	return paths
}

// svgText is the text of a picture, which must be XML.
func svgText(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text strings.Builder
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if err == io.EOF {
			return text.String()
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if s, ok := token.(xml.CharData); ok {
			text.Write(s)
		}
	}
}
