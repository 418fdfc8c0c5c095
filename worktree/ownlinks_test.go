package worktree

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/worktree/hint"
	"cmux/worktree/prepare"
)

func symlink(t *testing.T, dir, name, target string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, full); err != nil {
		t.Fatal(err)
	}
}

// Links to the project's own packages in a linked folder lead into the worktree,
// as npm, pnpm and composer lay them out; packages of others stay linked.
func TestLinkedFoldersLeadToTheWorktree(t *testing.T) {
	r := newRepo(t)
	commit(t, r.Root, "packages", "packages/core/index.js", "of main\n", "packages/app/app.js", "app\n", ".gitignore", "node_modules\nvendor\nplain\n")
	write(t, r.Root, "node_modules/dep/index.js", "dep\n")
	symlink(t, r.Root, "node_modules/@x/core", "../../packages/core")
	symlink(t, r.Root, "node_modules/.bin/dep", "../dep/index.js")
	write(t, r.Root, "node_modules/.pnpm/dep@1/node_modules/dep/index.js", "dep\n")
	symlink(t, r.Root, "node_modules/.pnpm/node_modules/core", "../../../packages/core")
	symlink(t, r.Root, "node_modules/hoisted", ".pnpm/node_modules/core")
	symlink(t, r.Root, "node_modules/absolute", filepath.Join(r.Root, "packages/core"))
	symlink(t, r.Root, "packages/app/node_modules/core", "../../core")
	symlink(t, r.Root, "packages/app/node_modules/dep", "../../../node_modules/.pnpm/dep@1/node_modules/dep")
	symlink(t, r.Root, "vendor/acme/core", "../../packages/core")
	write(t, r.Root, "plain/x", "x\n")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	var out bytes.Buffer
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Link: []string{"node_modules", "packages/*/node_modules", "vendor", "plain"}, Output: &out}); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Path, "packages/core/index.js", "of the agent\n")
	for _, name := range []string{"node_modules/@x/core", "node_modules/hoisted", "node_modules/absolute", "node_modules/.pnpm/node_modules/core", "packages/app/node_modules/core", "vendor/acme/core"} {
		if got := read(t, tree.Path, name+"/index.js"); got != "of the agent\n" {
			t.Errorf("%s leads to what is %q", name, got)
		}
	}
	for _, name := range []string{"node_modules/dep", "node_modules/.pnpm/dep@1/node_modules/dep", "packages/app/node_modules/dep"} {
		if got := read(t, tree.Path, name+"/index.js"); got != "dep\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if info, err := os.Lstat(filepath.Join(tree.Path, "plain")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("plain is no link: %v", err)
	}
	if !strings.Contains(out.String(), "cmux: link: node_modules: 4 links in it lead to the project's own files") {
		t.Errorf("%s", out.String())
	}
	if got := must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, tree.Head)); len(got) != 1 {
		t.Errorf("changed %q", got)
	}
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
		t.Error(err)
	}
	if got := read(t, r.Root, "node_modules/dep/index.js") + read(t, r.Root, "packages/core/index.js"); got != "dep\nof main\n" {
		t.Errorf("the main checkout holds %q", got)
	}
}

// A folder that names the main checkout in its files is refused before an agent
// begins.
func TestLinkedFoldersThatLoadTheMainCheckout(t *testing.T) {
	for name, content := range map[string]string{
		"env/lib/python3/site-packages/__editable__.app.pth":       "ROOT/src\n",
		"env/lib/python3/site-packages/easy-install.pth":           "ROOT",
		"env/lib/python3/site-packages/__editable___app_finder.py": "MAPPING = {'app': 'ROOT/app'}\n",
		"vendor/composer/autoload_psr4.php":                        "'App\\\\' => array($baseDir . '/src'),\n",
		"env/lib/python3/site-packages/ok.pth":                     "ROOT/env/lib/other\n",
		"vendor/composer/autoload_real.php":                        "nothing of the project\n",
		"env/lib/python3/site-packages/distutils-precedence.pth":   "import os\n",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			r := newRepo(t)
			commit(t, r.Root, "ignore", ".gitignore", "env\nvendor\n")
			write(t, r.Root, name, strings.ReplaceAll(content, "ROOT", r.Root))
			tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
			top, _, _ := strings.Cut(name, "/")
			err := r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Link: []string{top}})
			fine := strings.Contains(name, "ok.pth") || strings.Contains(name, "real") || strings.Contains(name, "distutils")
			var h *hint.Error
			if fine && err != nil || !fine && (!errors.Is(err, prepare.ErrSetup) || !errors.As(err, &h) || !strings.Contains(h.Try, "in place of link: ["+top+"]")) {
				t.Errorf("%v", err)
			}
			if h == nil || !strings.HasPrefix(h.Try, "copy: ["+top+"]") {
				return
			}
			if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Copy: []string{top}}); err != nil {
				t.Errorf("%s: %v", h.Try, err)
			}
			if got := read(t, tree.Path, name); got != content {
				t.Errorf("copied %q", got)
			}
		})
	}
}
