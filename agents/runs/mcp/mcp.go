// Package mcp is the server by which agents report without a shell: the tools
// done, blocked, ask and output, over the Model Context Protocol on standard
// input and output.
//
// A server lives in one agent program, which starts it with the environment of
// its attempt. It keeps nothing: each call goes to the attempt's wrapper, with
// the attempt's token, and returns with what that answers. done returns with
// the verdict on the work, blocked and ask with what a person says, which may
// take days; progress is told meanwhile. Where the wrapper cannot be reached a
// call fails and names the command that does the same.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/wrapper"
)

// progressEvery is how often a call that waits says so.
const progressEvery = 15 * time.Second

// maxText bounds a summary, a reason or a question, in characters.
const maxText = 100_000

type server struct {
	env func(string) string
}

// Serve answers one agent program until its input ends or ctx does. env is the
// environment of an attempt.
func Serve(ctx context.Context, env func(string) string, in io.ReadCloser, out io.WriteCloser, version string) error {
	err := newServer(env, version).Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func newServer(env func(string) string, version string) *mcp.Server {
	s := &server{env}
	asks := env("CMUX_UNATTENDED") != "true" // a call that is always refused is not offered
	ask := ""
	if asks {
		ask = " ask: a decision that only a person can make."
	}
	m := mcp.NewServer(&mcp.Implementation{Name: "cmux", Title: "cmux", Version: version}, &mcp.ServerOptions{
		Instructions: "cmux gives you tasks and checks your work. done: the task is finished. blocked: you cannot continue." + ask + " output: a value for agents that build on your work.",
		Capabilities: &mcp.ServerCapabilities{},
	})
	mcp.AddTool(m, &mcp.Tool{
		Name: "done", Title: "Report the task finished",
		Description: "Report that your task is finished. Commit your changes first, and run the checks yourself. cmux then runs the checks and examines your work, which can take minutes: wait for the answer. \"Accepted\": end your turn. Otherwise the answer says what to fix: fix it and call done again.",
		InputSchema: schema("summary", "What you did, and what agents that build on it must know: interfaces, names, settings, what is left out. A review: verdict first, then each finding with file, line and fix."),
	}, func(ctx context.Context, req *mcp.CallToolRequest, in doneInput) (*mcp.CallToolResult, any, error) {
		return s.report(ctx, req, "cmux is checking the work", attempt.Message{Op: attempt.OpDone, Text: in.Summary, Wait: true})
	})
	mcp.AddTool(m, &mcp.Tool{
		Name: "blocked", Title: "Report that you cannot go on",
		Description: "Report that you need a decision, access or a file that you do not have. Not for hard work. " + consequence(env),
		InputSchema: schema("reason", "What you need, and why you cannot continue without it."),
	}, func(ctx context.Context, req *mcp.CallToolRequest, in blockedInput) (*mcp.CallToolResult, any, error) {
		return s.report(ctx, req, "waiting for a person", attempt.Message{Op: attempt.OpBlocked, Text: in.Reason, Wait: true})
	})
	if asks {
		mcp.AddTool(m, &mcp.Tool{
			Name: "ask", Title: "Ask a person",
			Description: "Ask a person a question that decides how you continue. The result is the answer. First look for the answer in the task and the code.",
			InputSchema: askSchema(),
		}, func(ctx context.Context, req *mcp.CallToolRequest, in askInput) (*mcp.CallToolResult, any, error) {
			return s.report(ctx, req, "waiting for a person", attempt.Message{Op: attempt.OpAsk, Text: in.Question, Options: in.Options, Wait: true})
		})
	}
	mcp.AddTool(m, &mcp.Tool{
		Name: "output", Title: "Publish a value",
		Description: "Publish a short value under a name, for those who build on your work: a version, a port, a path. The newest value of a name counts. No secrets: values stand in logs and prompts.",
		InputSchema: outputSchema(),
		Annotations: &mcp.ToolAnnotations{IdempotentHint: true},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in outputInput) (*mcp.CallToolResult, any, error) {
		return s.report(ctx, req, "", attempt.Message{Op: attempt.OpOutput, Key: in.Key, Text: in.Value})
	})
	return m
}

// consequence says what a report of blocked leads to in the attempt of env.
func consequence(env func(string) string) string {
	switch {
	case env("CMUX_AGENT") == "true":
		return "It ends the task for you; whoever assigned it is told."
	case env("CMUX_UNATTENDED") == "true":
		return "It ends your attempt as failed: nobody can answer in this run."
	}
	return "A person's answer is the result: continue with it."
}

type doneInput struct {
	Summary string `json:"summary"`
}

type blockedInput struct {
	Reason string `json:"reason"`
}

type askInput struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

type outputInput struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// schema is that of an object with one text.
func schema(name, about string) *jsonschema.Schema {
	return object(map[string]*jsonschema.Schema{name: text(about, 1)}, name)
}

func askSchema() *jsonschema.Schema {
	return object(map[string]*jsonschema.Schema{
		"question": text("The question, with what a person must know to answer it.", 1),
		"options": {Type: "array", Description: "The answers to choose from, if there are such. The person may also answer in words of their own.",
			Items: text("", 1), MaxItems: jsonschema.Ptr(20)},
	}, "question")
}

func outputSchema() *jsonschema.Schema {
	return object(map[string]*jsonschema.Schema{
		"key":   {Type: "string", Description: "The name: letters, digits and _, not a digit first.", Pattern: "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
		"value": {Type: "string", Description: "The value, at most 4096 bytes.", MaxLength: jsonschema.Ptr(4096)},
	}, "key", "value")
}

func object(properties map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Properties: properties, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

func text(about string, shortest int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: about, MinLength: jsonschema.Ptr(shortest), MaxLength: jsonschema.Ptr(maxText)}
}

// report makes one report. What was not accepted is an error to the program, so
// that the agent does not take it for the end.
func (s *server) report(ctx context.Context, req *mcp.CallToolRequest, waiting string, m attempt.Message) (*mcp.CallToolResult, any, error) {
	if m.Op != attempt.OpOutput && strings.TrimSpace(m.Text) == "" {
		return nil, nil, errors.New("the text is empty: say what you report")
	}
	stop := s.tellProgress(ctx, req, waiting)
	r, err := wrapper.Report(ctx, s.env, m)
	stop()
	if err != nil {
		return nil, nil, explain(err, m)
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: r.Text}},
		IsError: m.Op == attempt.OpDone && !r.Final,
	}, nil, nil
}

// explain says what to do where the attempt could not be reached.
func explain(err error, m attempt.Message) error {
	if !errors.Is(err, wrapper.ErrGone) {
		return err
	}
	command := map[attempt.Op]string{
		attempt.OpDone: `cmux done "summary"`, attempt.OpOutput: `cmux output KEY=VALUE`,
	}[m.Op]
	if command == "" {
		command = `cmux blocked "reason"`
	}
	return fmt.Errorf("%w; report by a shell command instead: %s", err, command)
}

// tellProgress tells the program again and again that a call is at work, so
// that it shows so and does not give it up. The returned function ends that.
func (s *server) tellProgress(ctx context.Context, req *mcp.CallToolRequest, waiting string) (stop func()) {
	token := req.Params.GetProgressToken()
	if waiting == "" || token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			// What the program does not take in is its loss.
			req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: waiting})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-over }
}
