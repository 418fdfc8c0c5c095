package grant_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds/guard/grant"
)

// idle are keys that sound like programs, of which the granted commands start
// none: those of other commands, and those that name none.
var idle = strings.Fields(`advice.* browser.* clean.* clone.* color.* column.* commit.cleanup commitgraph.* completion.* credential.* difftool.*
	core.fsmonitorhookversion diff.driver.binary diff.driver.cachetextconv diff.driver.wordregex diff.driver.xfuncname diff.driver.algorithm
	fsmonitor.* gitcvs.* gpg.* guitool.* help.* http.* instaweb.* interactive.* man.* merge.driver.name merge.driver.recursive mergetool.* notes.*
	rebase.* remote.name.proxy remote.name.proxyauthmethod sendemail.* uploadpack.* uploadpackfilter.* web.* imap.* tar.* trailer.*`)

// TestGitsOwnKeys: each key that this git knows and that sounds like a program
// is looked at, or known to be idle.
func TestGitsOwnKeys(t *testing.T) {
	out, err := exec.Command("git", "help", "-c").Output()
	if err != nil {
		t.Fatal(err)
	}
	sounds := []string{"command", "cmd", "program", "hook", "editor", "pager", "driver", "textconv", "filter", "helper", "external", "monitor", "proxy", "askpass", "browser", "viewer", "clean", "smudge", "process"}
	known := 0
	for key := range strings.FieldsSeq(string(out)) {
		key = strings.ToLower(strings.NewReplacer("<", "", ">", "").Replace(key))
		section, _, dotted := strings.Cut(key, ".")
		if !dotted || !slices.ContainsFunc(sounds, func(s string) bool { return strings.Contains(key, s) }) {
			continue
		}
		known++
		if !grant.Watched(key) && !slices.Contains(idle, key) && !slices.Contains(idle, section+".*") {
			t.Errorf("git's key %s may start a program, and nobody has said whether the granted commands do", key)
		}
	}
	if known < 20 {
		t.Errorf("git names %d keys", known)
	}
}

// In the end of a here-document the variable of a loop stands for itself.
func TestNoDocumentInALoop(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"git commit -F - <<E\nx\nE": true, "for t in a; do ls $t\ndone": true,
		"for t in E; do git commit -F - <<$t\nx\nE\ndone": false, "for t in E; do cat > f <<\"$t\"\nx\nE\ndone": false, "for t in a; do git commit -F - <<E\nx\nE\ndone": false,
	} {
		if grant.Lexed(text) != want {
			t.Errorf("%q is taken apart: %v", text, !want)
		}
	}
}
