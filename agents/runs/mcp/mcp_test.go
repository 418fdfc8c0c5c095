package mcp

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cmux/agents/runs/attempt"
)

// dial connects a client to a server in the environment env.
func dial(t *testing.T, env map[string]string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- newServer(func(name string) string { return env[name] }, "test").Run(ctx, there) }()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); cancel(); <-over })
	return c
}

// wrapped answers reports as a wrapper does, and keeps them.
func wrapped(t *testing.T, reply func(attempt.Message) attempt.Reply) (env map[string]string, heard func() []attempt.Message) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var got []attempt.Message
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var m attempt.Message
			if json.NewDecoder(c).Decode(&m) == nil {
				got = append(got, m)
				json.NewEncoder(c).Encode(reply(m))
			}
			c.Close()
		}
	}()
	stop := func() { l.Close(); <-over }
	t.Cleanup(stop)
	return map[string]string{"CMUX_SOCKET": path, "CMUX_TOKEN": "secret", "CMUX_NODE": "api"}, func() []attempt.Message { stop(); return got }
}

func call(t *testing.T, c *mcp.ClientSession, tool string, args any) (text string, isError bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	for _, part := range r.Content {
		text += part.(*mcp.TextContent).Text
	}
	return text, r.IsError
}

func TestTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env     map[string]string
		want    string // names
		blocked string // in what blocked promises
	}{
		"a node":         {nil, "ask blocked done output", "A person's answer is the result"},
		"nobody there":   {map[string]string{"CMUX_UNATTENDED": "true"}, "blocked done output", "nobody can answer in this run"},
		"an agent stays": {map[string]string{"CMUX_AGENT": "true"}, "ask blocked done output", "whoever assigned it is told"},
	} {
		t.Run(name, func(t *testing.T) {
			client := dial(t, c.env, nil)
			l, err := client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range l.Tools {
				names = append(names, tool.Name)
				if len(tool.Description) < 50 || tool.Title == "" {
					t.Errorf("%s teaches nothing: %q", tool.Name, tool.Description)
				}
				if tool.Name == "blocked" && !strings.Contains(tool.Description, c.blocked) {
					t.Errorf("blocked promises %q", tool.Description)
				}
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("the tools are %s, want %s", got, c.want)
			}
			for _, tool := range []string{"done", "blocked", "ask", "output"} {
				says := client.InitializeResult().Instructions
				if strings.Contains(says, tool+":") != slices.Contains(names, tool) {
					t.Errorf("%s: the instructions are %q", tool, says)
				}
			}
		})
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool, args string
		reply      attempt.Reply
		want       string
		isError    bool
		sent       attempt.Message
	}{
		"accepted": {"done", `{"summary":"made it"}`, attempt.Reply{Text: "Accepted", Final: true}, "Accepted", false,
			attempt.Message{Op: attempt.OpDone, Text: "made it", Wait: true}},
		"handed back": {"done", `{"summary":"made it"}`, attempt.Reply{Text: "the check failed"}, "the check failed", true,
			attempt.Message{Op: attempt.OpDone, Text: "made it", Wait: true}},
		"answered": {"blocked", `{"reason":"no key"}`, attempt.Reply{Text: "look there"}, "look there", false,
			attempt.Message{Op: attempt.OpBlocked, Text: "no key", Wait: true}},
		"asked": {"ask", `{"question":"which?","options":["a","b"]}`, attempt.Reply{Text: "b"}, "b", false,
			attempt.Message{Op: attempt.OpAsk, Text: "which?", Options: []string{"a", "b"}, Wait: true}},
		"published": {"output", `{"key":"PORT","value":"80"}`, attempt.Reply{Text: "published PORT"}, "published PORT", false,
			attempt.Message{Op: attempt.OpOutput, Key: "PORT", Text: "80"}},
		"refused": {"ask", `{"question":"which?"}`, attempt.Reply{Error: "nobody can answer"}, "nobody can answer", true,
			attempt.Message{Op: attempt.OpAsk, Text: "which?", Wait: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, heard := wrapped(t, func(attempt.Message) attempt.Reply { return test.reply })
			text, isError := call(t, dial(t, env, nil), test.tool, json.RawMessage(test.args))
			if text != test.want || isError != test.isError {
				t.Errorf("answered %q (error %v)", text, isError)
			}
			test.sent.Token = "secret"
			is, _ := json.Marshal(heard())
			want, _ := json.Marshal([]attempt.Message{test.sent})
			if string(is) != string(want) {
				t.Errorf("sent %s\nnot  %s", is, want)
			}
		})
	}
}

// What is no report reaches nobody, and says what is wrong.
func TestNoReports(t *testing.T) {
	t.Parallel()
	env, heard := wrapped(t, func(attempt.Message) attempt.Reply { return attempt.Reply{Text: "Accepted", Final: true} })
	c := dial(t, env, nil)
	for _, test := range []struct{ tool, args, want string }{
		{"done", `{}`, "summary"},
		{"done", `{"summary":""}`, "summary"},
		{"done", `{"summary":"  \n"}`, "empty"},
		{"done", `{"summary":7}`, "summary"},
		{"done", `{"summary":"a","node":"other"}`, "node"},
		{"done", `{"summary":"` + strings.Repeat("a", maxText+1) + `"}`, "summary"},
		{"blocked", `{"summary":"a"}`, "summary"},
		{"ask", `{"question":"a","options":"b"}`, "options"},
		{"output", `{"key":"1","value":"b"}`, "key"},
		{"output", `{"key":"A","value":"` + strings.Repeat("a", 5000) + `"}`, "value"},
		{"approve", `{}`, "approve"},
	} {
		text, isError := call(t, c, test.tool, json.RawMessage(test.args))
		if !isError || !strings.Contains(text, test.want) {
			t.Errorf("%s %.60s: %q (error %v)", test.tool, test.args, text, isError)
		}
	}
	if got := heard(); len(got) > 0 {
		t.Errorf("sent %+v", got)
	}
}

// Where nobody can be reached the call names the command that does the same.
func TestWrapperGone(t *testing.T) {
	t.Parallel()
	c := dial(t, map[string]string{"CMUX_SOCKET": filepath.Join(t.TempDir(), "none"), "CMUX_TOKEN": "secret"}, nil)
	for tool, test := range map[string][2]string{
		"done":    {`{"summary":"a"}`, `cmux done "summary"`},
		"blocked": {`{"reason":"a"}`, `cmux blocked "reason"`},
		"ask":     {`{"question":"a"}`, `cmux blocked "reason"`},
		"output":  {`{"key":"A","value":"a"}`, `cmux output KEY=VALUE`},
	} {
		if text, isError := call(t, c, tool, json.RawMessage(test[0])); !isError || !strings.Contains(text, test[1]) {
			t.Errorf("%s: %q (error %v)", tool, text, isError)
		}
	}
	if text, isError := call(t, dial(t, nil, nil), "done", json.RawMessage(`{"summary":"a"}`)); !isError || !strings.Contains(text, "not inside a node") {
		t.Errorf("outside: %q (error %v)", text, isError)
	}
}

// A call that waits says so.
func TestProgress(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	env, _ := wrapped(t, func(attempt.Message) attempt.Reply {
		return attempt.Reply{Text: <-told, Final: true} // not before the client was told
	})
	c := dial(t, env, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		select {
		case told <- r.Params.Message:
		default:
		}
	}})
	p := &mcp.CallToolParams{Name: "done", Arguments: json.RawMessage(`{"summary":"a"}`)}
	p.SetProgressToken("t")
	r, err := c.CallTool(t.Context(), p)
	if err != nil || r.Content[0].(*mcp.TextContent).Text != "cmux is checking the work" {
		t.Errorf("%+v, %v", r, err)
	}
}
