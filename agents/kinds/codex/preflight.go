package codex

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
)

// tested is the version that cmux is tested with. Its protocol is young:
// another minor version may speak another.
const tested = "0.169.0"

// lookTime bounds how long the program may take to tell about itself.
const lookTime = 30 * time.Second

// Preflight looks for what would keep Codex from working unattended. It asks
// the program itself, which alone knows how its layers of configuration add
// up: `codex app-server` is started and told nothing that costs a call of the
// model.
func Preflight(ctx context.Context, s agent.Setup) agent.Fitness {
	var f agent.Fitness
	path, err := agent.LookPath("codex", s.Env)
	if err != nil {
		f.Fatal("Codex is not installed: no codex in PATH", "npm install -g @openai/codex")
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	state, err := interview(ctx, path, s)
	if err != nil {
		f.Fatal(fmt.Sprintf("Codex does not tell about itself: %v", err), "codex --version; codex login status; or install it again: npm install -g @openai/codex")
		return f
	}
	state.judge(&f, s)
	return f
}

// state is what the program says about itself.
type state struct {
	Version string
	Account struct {
		Account *struct {
			Type string `json:"type"`
		} `json:"account"`
		Needed bool `json:"requiresOpenaiAuth"`
	}
	Config struct {
		Provider  string `json:"model_provider"`
		Providers map[string]struct {
			EnvKey string `json:"env_key"`
		} `json:"model_providers"`
		Projects map[string]struct {
			Trust string `json:"trust_level"`
		} `json:"projects"`
	}
}

// judge says what the state means for nodes.
func (st *state) judge(f *agent.Fitness, s agent.Setup) {
	if st.Version != "" {
		f.Fact(st.Version)
		if minor(st.Version) != minor(tested) {
			f.Warn(fmt.Sprintf("cmux is tested with Codex %s, and this is %s", tested, st.Version), "npm install -g @openai/codex@"+tested+", if nodes of this kind do not begin")
		}
	}
	provider := st.Config.Providers[st.Config.Provider]
	switch {
	case st.Account.Needed && st.Account.Account == nil:
		f.Fatal("Codex is not logged in", "codex login, or: printenv OPENAI_API_KEY | codex login --with-api-key")
	case st.Account.Needed:
		f.Fact("logged in")
	case provider.EnvKey != "" && proc.Getenv(s.Env, provider.EnvKey) == "":
		f.Fatal(fmt.Sprintf("Codex's provider %s takes its key from %s, which is not set", st.Config.Provider, provider.EnvKey), "export "+provider.EnvKey)
	case st.Config.Provider != "":
		f.Fact("works with the provider " + st.Config.Provider)
	}
	// Nodes say themselves what they may do; trust counts only where a person
	// opens a conversation again.
	if st.trusts(s.Root) {
		f.Fact("trusts " + s.Root)
	}
}

func (st *state) trusts(root string) bool {
	if root == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return st.Config.Projects[root].Trust == "trusted"
}

func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// interview asks the program what it is set up with.
func interview(ctx context.Context, path string, s agent.Setup) (*state, error) {
	cmd := exec.CommandContext(ctx, path, "app-server")
	cmd.Env, cmd.Dir, cmd.WaitDelay = s.Env, s.Root, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// What is killed is a node that has the program for a child, which ends
	// with its input and would else hold its output open.
	stop := context.AfterFunc(ctx, func() { in.Close(); out.Close() })
	st, err := converse(in, out, s.Root)
	stop()
	in.Close()
	waited := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && waited != nil && strings.TrimSpace(said.String()) != "":
		return nil, errors.New(strings.TrimSpace(said.String()))
	case err != nil:
		return nil, errors.Join(err, waited)
	}
	return st, nil
}

// converse asks one thing after the other.
func converse(in io.Writer, out io.Reader, root string) (*state, error) {
	lines := bufio.NewReader(out)
	ask := func(id int, method string, params, result any) error {
		if err := say(in, object{"id": id, "method": method, "params": params}); err != nil {
			return err
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("%s: no answer: %w", method, err)
			}
			var m struct {
				ID     json.RawMessage `json:"id"`
				Result json.RawMessage `json:"result"`
				Error  *struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			switch {
			case json.Unmarshal(line, &m) != nil || string(m.ID) != fmt.Sprint(id):
			case m.Error != nil:
				return fmt.Errorf("%s: %s", method, m.Error.Message)
			default:
				return json.Unmarshal(m.Result, result)
			}
		}
	}
	var (
		st    state
		hello struct {
			Agent string `json:"userAgent"`
		}
		read struct {
			Config json.RawMessage `json:"config"`
		}
		where = object{}
	)
	if root != "" {
		where["cwd"] = root
	}
	err := ask(1, "initialize", object{"clientInfo": object{"name": "cmux", "title": "cmux", "version": "1"}}, &hello)
	if err == nil {
		err = say(in, object{"method": "initialized"})
	}
	if err == nil {
		err = ask(2, "account/read", object{}, &st.Account)
	}
	if err == nil {
		err = ask(3, "config/read", where, &read)
	}
	if err == nil {
		err = json.Unmarshal(read.Config, &st.Config)
	}
	_, version, _ := strings.Cut(hello.Agent, "/") // as in cmux/0.169.0 (Debian 12)
	st.Version, _, _ = strings.Cut(version, " ")
	return &st, err
}

func say(w io.Writer, message object) error {
	b, err := json.Marshal(message)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}
