package agenttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/dag"
)

// Shell plays agents whose task is a script.
type Shell struct {
	t       testing.TB
	dir     string
	play    Play
	reports bool

	conversation bool // it keeps one
}

// Remembers makes the script keep a conversation (scripted.ConversationVar).
func (s *Shell) Remembers() *Shell {
	s.conversation = true
	return s
}

// NewShell keeps what it needs in a folder of base. With reports the script
// speaks as an agent does, by the commands of cmux; without, its exit code alone
// says how it went.
func NewShell(t testing.TB, base string, play Play, reports bool) *Shell {
	t.Helper()
	s := &Shell{t: t, dir: filepath.Join(base, "shell"), play: play, reports: reports}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Shell) Env() []string {
	env := append(GitEnv(), "PATH="+os.Getenv("PATH"), "HOME="+s.dir)
	if s.conversation {
		env = append(env, "SCRIPTED_CONVERSATION="+s.file("conversation"))
	}
	return env
}

// GitEnv is the environment that keeps the machine's git configuration out of a
// test, and gives it an identity.
func GitEnv() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost",
	}
}

func (s *Shell) file(name string) string { return filepath.Join(s.dir, name) }

func (s *Shell) Task(task string) string {
	const end = "END OF THE TASK"
	var b strings.Builder
	fmt.Fprintf(&b, "cat >%s <<'%s'\n%s\n%s\n", quote(s.file("heard")), end, task, end)
	var others []Part
	for _, p := range s.play {
		if p.On == "" {
			b.WriteString(s.acts(p.Acts))
		} else {
			others = append(others, p)
		}
	}
	if !s.reports {
		return b.String()
	}
	fmt.Fprintf(&b, "while read -r line; do\nprintf '%%s\\n' \"$line\" >>%s\n", quote(s.file("heard")))
	if s.conversation {
		b.WriteString("printf '%s %s\\n' \"$(date +%s%N)\" \"$line\" >>\"$SCRIPTED_CONVERSATION\"\n")
	}
	// A standing agent is given this script as its task: nothing in it is a message.
	fmt.Fprintf(&b, "case \"$line\" in\n*%s*) ;;\n", quote(end))
	b.WriteString("/compact)\ncmux hook compacted </dev/null;;\n")
	for _, p := range others {
		fmt.Fprintf(&b, "*%s*)\n%s;;\n", quote(p.On), s.acts(p.Acts))
	}
	b.WriteString("esac\ndone\n")
	return b.String()
}

// acts are commands, a line each.
func (s *Shell) acts(acts []Act) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	hook := func(name string, payload any) {
		p, err := json.Marshal(payload)
		if err != nil {
			s.t.Fatal(err)
		}
		line("printf %%s %s | cmux hook %s", quote(string(p)), name)
	}
	said := ""
	for _, a := range acts {
		switch a := a.(type) {
		case Do:
			line("%s", a)
		case Say:
			said = string(a)
			line("printf '%%s\\n' %s", quote(string(a)))
		case Hold:
			line("touch %s; until test -e %s; do sleep 0.1; done; rm %[1]s", quote(s.file("held-"+string(a))), quote(s.file("open-"+string(a))))
		case Fail:
			line("exit 7")
			return b.String()
		}
		if !s.reports {
			continue
		}
		switch a := a.(type) {
		case Report:
			line("cmux done %s", quote(string(a)))
		case Blocked:
			line("cmux blocked %s", quote(string(a)))
		case Ask:
			hook("question", map[string]string{"text": "which way?"})
			line("read -r line; printf '%%s\\n' \"$line\" >>%s", quote(s.file("heard")))
		case Limit:
			line("cmux hook limited </dev/null")
			return b.String()
		case Use:
			hook("usage", map[string]dag.Usage{"used": dag.Usage(a)})
		}
	}
	if s.reports {
		if s.conversation {
			line("echo %s >>\"$SCRIPTED_CONVERSATION\"", quote("said "+said))
		}
		hook("turn-ended", map[string]string{"text": said})
	}
	return b.String()
}

func (s *Shell) Heard() string {
	b, _ := os.ReadFile(s.file("heard"))
	return string(b)
}

func (s *Shell) Held(gate string) bool {
	_, err := os.Stat(s.file("held-" + gate))
	return err == nil
}

func (s *Shell) Release(gate string) {
	s.t.Helper()
	if err := os.WriteFile(s.file("open-"+gate), nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// quote makes one word of the shell's of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
