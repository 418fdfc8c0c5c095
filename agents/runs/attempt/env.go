package attempt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// removed are the variables that would redirect a node's programs: to the person's tmux
// server, to another folder of the name that cd is given, or to the repository, index or
// objects of a git command that called cmux.
var removed = []string{
	"TMUX", "TMUX_PANE", "CDPATH",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_IMPLICIT_WORK_TREE",
	"GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE",
	"GIT_INTERNAL_SUPER_PREFIX", "GIT_QUARANTINE_PATH",
	"PWD", "OLDPWD", // of the directory of `start`; the programs have their own
}

// environ returns the environment of the node's programs: the frozen one, then env of the
// configuration, then cmux's own.
func environ(j *Job) ([]string, error) {
	vars := make(map[string]string, len(j.Env)+16)
	for _, e := range j.Env {
		name, value, ok := strings.Cut(e, "=")
		// Values that cmux set for an outer run do not hold in this one.
		if ok && name != "" && !slices.Contains(removed, name) && !inner(name) {
			vars[name] = value
		}
	}
	// Nobody quits a pager in a node, in a pane or not: `git log` in its task would wait
	// forever.
	vars["PAGER"], vars["GIT_PAGER"] = "cat", "cat"
	maps.Copy(vars, j.Spec.Def.ExpandedEnv(func(name string) string { return proc.Getenv(j.Env, name) }))

	s, frame := j.Spec, j.Spec.Frame
	nowhere := filepath.Join(j.Paths.Dir, "tmux")
	for _, dir := range []string{nowhere, outputDir(j.Paths)} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			continue // most likely of another node
		}
		if err := signals.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	vars["PATH"] = filepath.Dir(j.Paths.Binary()) + string(os.PathListSeparator) + vars["PATH"]
	if vars["PATH"][len(vars["PATH"])-1] == os.PathListSeparator {
		vars["PATH"] += "/usr/local/bin:/usr/bin:/bin"
	}
	vars["PWD"] = s.WorkDir()
	vars["TMUX_TMPDIR"] = nowhere
	vars["CMUX_RUN"] = frame.Run
	vars["CMUX_RUN_DIR"] = j.Paths.Dir
	vars["CMUX_ROOT"] = frame.Root
	vars["CMUX_NODE"] = s.Node
	vars["CMUX_TOKEN"] = s.Token
	vars["CMUX_SLOT"] = strconv.Itoa(s.Place.Slot)
	if s.Place.PortBase != 0 {
		vars["CMUX_PORT_BASE"] = strconv.Itoa(s.Place.PortBase)
	}
	name, value, _ := strings.Cut(string(Mark(j)), "=")
	vars[name] = value
	maps.Copy(vars, needs(s.Dependencies))
	if !j.Kinds[j.Spec.Def.Agent].Judge { // an agent may not write there
		vars[verdict.OutputVar] = outputFile(j.Paths, s)
	}
	optional := map[string]string{"CMUX_SOCKET": j.Socket, "CMUX_PANE": j.Pane, "CMUX_BRANCH": s.Place.Branch}
	if j.Spec.Def.Role == dag.RoleReview {
		optional["CMUX_BASE"] = frame.Base
		optional["CMUX_HEAD"] = s.Place.Commit
		if s.Place.Commit == "" {
			optional["CMUX_HEAD"] = frame.Base
		}
	}
	if s.Terms.Unattended {
		optional["CMUX_UNATTENDED"] = "true"
	}
	for name, value := range optional {
		if value != "" {
			vars[name] = value
		}
	}
	if s.Place.Tree != "" && vars[workspace.TraceVar] == "" {
		vars[workspace.TraceVar] = workspace.TraceFile(j.Paths, s)
		vars["GIT_TRACE2_EVENT_BRIEF"] = "1"
	}
	if j.Terminal != nil {
		vars["TERM"] = j.Terminal.Term
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

// inner reports whether the variable is one that cmux sets in a node.
func inner(name string) bool {
	switch name {
	case "CMUX_RUN", "CMUX_RUN_DIR", "CMUX_ROOT", "CMUX_NODE", proc.AttemptVar, "CMUX_TOKEN", "CMUX_SOCKET",
		"CMUX_SLOT", "CMUX_PORT_BASE", "CMUX_BRANCH", "CMUX_PANE", "CMUX_BASE", "CMUX_HEAD", "CMUX_UNATTENDED", verdict.StepVar, verdict.OutputVar:
		return true
	}
	return strings.HasPrefix(name, needsPrefix)
}

// Mark returns the mark that proves that a process belongs to the job's attempt.
func Mark(j *Job) proc.Mark {
	return proc.Attempt(j.Spec.Frame.Run, j.Spec.Node, j.Spec.Attempt)
}

// maxNeeds bounds the size of other nodes' outputs in the environment: a program with too
// large an environment cannot start.
const maxNeeds = 256 << 10

const needsPrefix = "CMUX_NEEDS_"

// KeepsFiles reports whether an attempt of a command needs the folder of its node from the
// beginning. Without a worktree it stores only its output there, and the log creates the
// folder.
func KeepsFiles(s *run.Spec) bool { return s.Place.Tree != "" || len(s.Def.Verify) > 0 }

// outputFile is the file into which a command writes its outputs.
func outputFile(paths run.Paths, s *run.Spec) string {
	return filepath.Join(outputDir(paths), fmt.Sprintf("%s-%d", s.Node, s.Attempt))
}

// outputDir is the common folder of these files, because most nodes store nothing else. No
// node has this name.
func outputDir(paths run.Paths) string { return filepath.Join(paths.Dir, ".outputs") }

// needs returns the variables with the outputs of the node's dependencies. If two have one
// name, the first in depends_on counts.
func needs(deps []run.Dependency) map[string]string {
	vars := make(map[string]string)
	size := 0
	for _, d := range deps {
		for _, key := range slices.Sorted(maps.Keys(d.Outputs)) {
			name, value := dag.OutputVar(d.Name, key), d.Outputs[key]
			if _, taken := vars[name]; taken || strings.ContainsRune(value, 0) {
				continue
			}
			if size += len(name) + len(value) + 2; size > maxNeeds {
				return vars
			}
			vars[name] = value
		}
	}
	return vars
}
