package git

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fixedConfig makes git behave the same whatever the person has configured:
// nothing of the repository's runs, nothing is left running, nothing is
// recolored or reworded, and a changed file is seen by all that the system
// tells of it. No setting of a person's that git accepts makes one of these
// commands fail, such as a diff.orderFile that is missing.
var fixedConfig = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.safecrlf=false",
	"core.trustctime=true",
	"core.checkStat=default",
	"core.ignoreStat=false",
	"core.quotePath=false",
	"core.askPass=",
	"protocol.ext.allow=never",
	"gc.auto=0",
	"maintenance.auto=false",
	"submodule.recurse=false",
	"i18n.commitEncoding=UTF-8",
	"i18n.logOutputEncoding=UTF-8",
	"color.ui=false",
	"color.diff=false", // each of these outranks color.ui
	"color.status=false",
	"color.branch=false",
	"column.ui=never",
	"column.branch=never",
	"column.status=never",
	"log.showSignature=false",
	"log.follow=false",
	"log.diffMerges=separate",
	"diff.orderFile=/dev/null",
	"diff.autoRefreshIndex=true",
	"diff.ignoreSubmodules=none",
	"diff.relative=false",
	"diff.noPrefix=false",
	"diff.mnemonicPrefix=false",
	"diff.srcPrefix=a/",
	"diff.dstPrefix=b/",
	"diff.submodule=short",
	"diff.suppressBlankEmpty=false",
	"diff.colorMoved=no",
	"diff.colorMovedWS=no",
	"diff.wsErrorHighlight=none",
	"diff.algorithm=default",
	"diff.dirstat=changes",
	"status.showStash=false",
	"status.submoduleSummary=false",
	"merge.autoStash=false",
	"merge.verifySignatures=false",
	"merge.conflictStyle=merge",
	"worktree.useRelativePaths=false",
	"fetch.recurseSubmodules=false",
	"fetch.prune=false",
	"fetch.pruneTags=false",
	"protocol.version=2",               // which serves a commit by its id
	"advice.graftFileDeprecated=false", // of the variable below; some commands obey it
	"commit.gpgSign=false",
}

// fixedEnv goes with it. What replace objects and grafts show is not what a
// clone or a push would get, so cmux looks past them.
var fixedEnv = []string{
	"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=true", "GIT_PAGER=cat",
	"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "GIT_NO_LAZY_FETCH=1",
}

// keptEnv are the GIT_ variables that say who the person is and how to reach
// servers. All others would point git at another repository, index or format,
// or have it run or write something.
var keptEnv = []string{"GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=",
	"GIT_CONFIG_NOSYSTEM=", "GIT_SSH", "GIT_EXEC_PATH=", "GIT_CEILING_DIRECTORIES=",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM=", "GIT_PROXY_COMMAND="}

// CleanEnv is environ without what would lead a program's git elsewhere or
// have its messages in another language.
func CleanEnv(environ []string) []string {
	env := make([]string, 0, len(environ)+len(fixedEnv)+2)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PWD", name == "LANG", name == "LANGUAGE", strings.HasPrefix(name, "LC_"):
			continue
		case strings.HasPrefix(name, "GIT_") &&
			!slices.ContainsFunc(keptEnv, func(p string) bool { return strings.HasPrefix(kv, p) }):
			continue
		}
		env = append(env, kv)
	}
	return append(env, "LC_ALL=C")
}

// Exec is a git command of cmux's own: every one is made here. It runs in dir,
// with what environ says of the person and nothing else of git's variables, and
// starts no program that the repository's configuration names as hook, monitor,
// pager, editor or for signing. Commands that show a patch need --no-ext-diff
// and --no-textconv beside it.
func Exec(ctx context.Context, dir string, environ []string, args ...string) *exec.Cmd {
	full := make([]string, 0, 2*len(fixedConfig)+len(args)+1)
	for _, kv := range fixedConfig {
		full = append(full, "-c", kv)
	}
	for _, kv := range overridden(ctx) {
		full = append(full, "-c", kv)
	}
	cmd := exec.CommandContext(ctx, "git", append(full, args...)...)
	cmd.Dir = dir
	cmd.Env = append(CleanEnv(environ), fixedEnv...)
	if private := pinnedAt(ctx, dir); private != "" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+private, "GIT_WORK_TREE="+dir)
	}
	// TERM lets git remove its lock files and half-made worktrees.
	cmd.Cancel = func() error {
		time.AfterFunc(cancelGrace, func() { cmd.Process.Kill() })
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	// Counted from git's end as well, when it only bounds what a child that git
	// left may hold open: a machine under load takes its time.
	cmd.WaitDelay = time.Minute
	return cmd
}

// cancelGrace is how long a cancelled git has to take back what it began.
const cancelGrace = 3 * time.Second

type treeKey struct{}

type pinned struct{ tree, private string }

// WithTree returns a context in which cmux's own git in the folder tree works with the git
// directory private, wherever the .git there leads: a program that works in the worktree
// can have changed it. Empty: it follows .git, as everywhere else.
func WithTree(ctx context.Context, tree, private string) context.Context {
	return context.WithValue(ctx, treeKey{}, pinned{tree, private})
}

// pinnedAt returns the git directory that WithTree gives a folder; empty: none.
func pinnedAt(ctx context.Context, dir string) string {
	if p, ok := ctx.Value(treeKey{}).(pinned); ok && filepath.Clean(dir) == p.tree {
		return p.private
	}
	return ""
}

type overrideKey struct{}

// WithConfig returns a context in which cmux's own git runs with these further
// settings, key=value.
func WithConfig(ctx context.Context, settings ...string) context.Context {
	if len(settings) == 0 {
		return ctx
	}
	return context.WithValue(ctx, overrideKey{}, slices.Concat(overridden(ctx), settings))
}

func overridden(ctx context.Context) []string {
	settings, _ := ctx.Value(overrideKey{}).([]string)
	return settings
}
