package acp

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/agents/records/event"
)

// call is a tool call, as far as the program has described it.
type call struct {
	name  string
	kind  sdk.ToolKind
	title string
	input json.RawMessage
	paths []string
	shown bool
	whole bool // input is all of it
	torn  bool // a folder in it was not repeated: the input is incomplete
	here  bool // without input: it runs in the folder of the program
}

// Handle implements stdio.Driver.
func (a *instance) Handle(m stdio.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case m.Method == sdk.ClientMethodSessionUpdate:
		var u struct {
			Update update `json:"update"`
		}
		if json.Unmarshal(m.Params, &u) == nil {
			a.update(u.Update)
		}
	case m.Method == sdk.ClientMethodSessionRequestPermission && m.IsRequest():
		a.flush()
		a.permission(m)
	case m.IsRequest():
		a.Unknown(m, stdio.MethodNotFound, m.Method)
	}
}

// update is a sdk.SessionUpdate with all that matters here side by side: a
// program may send kinds of them that the SDK does not know.
type update struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"` // a block, or a list of a tool call's
	ID      string          `json:"toolCallId"`
	Tool    sdk.ToolKind    `json:"kind"`
	Title   string          `json:"title"`
	Status  string          `json:"status"`
	Input   json.RawMessage `json:"rawInput"`
	Output  json.RawMessage `json:"rawOutput"`
	Places  []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta struct {
		Tool  string     `json:"toolName"`
		Usage *sdk.Usage `json:"usage"`
	} `json:"_meta"`
}

// UnmarshalJSON reads what is understood.
func (u *update) UnmarshalJSON(b []byte) error {
	type plain update
	stdio.Lenient(b, (*plain)(u))
	return nil
}

// update takes in what the agent does. It needs the lock.
func (a *instance) update(u update) {
	if a.replaying {
		a.prompted = a.prompted || u.Kind == "user_message_chunk"
		a.history = a.history || u.Kind == "agent_message_chunk" || u.Kind == "agent_thought_chunk" || u.Kind == "tool_call"
		select {
		case a.again <- struct{}{}:
		default:
		}
		return
	}
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		kind := event.Text
		if u.Kind == "agent_thought_chunk" {
			kind = event.Thought
		}
		var block struct {
			Text string `json:"text"`
		}
		stdio.Lenient(u.Content, &block)
		if block.Text != "" && a.speech.Add(a.Stage, kind, block.Text) {
			a.Tell(news.Worked{})
		}
		if u.Meta.Usage != nil {
			a.told = true
			a.counted = a.counted.Plus(usage(*u.Meta.Usage))
			a.Tell(news.Used{Usage: a.used()})
		}
	case "tool_call", "tool_call_update":
		a.flush()
		a.toolCall(u)
	}
}

// toolCall records the description of a call. It needs the lock.
func (a *instance) toolCall(u update) {
	c, begun := a.calls[u.ID]
	if commanded(u.Input) {
		before, _, _ := said(c.input)
		now, _, _ := said(u.Input)
		c.torn = c.torn || commanded(c.input) && before != now && before != ""
	}
	c.take(u)
	if len(u.Input) > 0 {
		c.whole = a.program.asks == beside && commanded(u.Input) && !c.torn
	}
	if !begun && c.runs() {
		a.Tell(news.ShellBegan{ID: u.ID})
	}
	done := u.Status == string(sdk.ToolCallStatusCompleted) || u.Status == string(sdk.ToolCallStatusFailed)
	if !c.shown && (done || u.Status == string(sdk.ToolCallStatusInProgress)) {
		a.show(u.ID, &c)
	}
	a.calls[u.ID] = c
	if c.whole || done {
		a.sure(u.ID)
	}
	if !done {
		return
	}
	delete(a.calls, u.ID)
	a.Stage.Show(event.Event{Kind: event.ToolResult, Tool: c.name, ToolID: u.ID, Text: u.result(), Failed: u.Status == string(sdk.ToolCallStatusFailed)})
	if c.runs() {
		a.Tell(news.ShellEnded{ID: u.ID})
	}
	a.Tell(news.Worked{})
}

// take takes in what an update says of a call.
func (c *call) take(u update) {
	// Leave for what a command reaches may be asked as another kind of call.
	if u.Tool != "" && !c.runs() {
		c.kind = u.Tool
	}
	if u.Title != "" {
		c.title = u.Title
	}
	if len(u.Input) > 0 {
		c.input = u.Input
	}
	for _, p := range u.Places {
		if p.Path != "" {
			c.paths = append(c.paths, p.Path)
		}
	}
	for _, d := range u.blocks() {
		if d.Type == "diff" && d.Path != "" {
			c.paths = append(c.paths, d.Path)
		}
	}
	switch {
	case u.Meta.Tool != "":
		c.name = u.Meta.Tool
	case c.name == "":
		c.name = string(c.kind)
	}
}

// runs reports whether the call runs commands.
func (c *call) runs() bool { return c.kind == sdk.ToolKindExecute || guard.IsShell(c.name) }

// command is what it runs.
func (c *call) command() string {
	var in struct {
		Command string `json:"command"`
	}
	stdio.Lenient(c.input, &in)
	if in.Command == "" {
		return c.title
	}
	return in.Command
}

// folders are the fields by which programs say where a command is to run.
var folders = []string{"cwd", "directory", "workdir", "dir_path"}

// harmless are the fields that say nothing of what a command does.
var harmless = []string{"command", "description", "timeout", "run_in_background", "is_background"}

// commanded reports whether an input has the command, without which it is not all.
func commanded(input json.RawMessage) bool {
	var in struct {
		Command string `json:"command"`
	}
	stdio.Lenient(input, &in)
	return in.Command != ""
}

// place is where a command runs for which the program asks leave from dir. It is
// not known where not all of the call's input was told, where that has a field
// that may say so, or says it twice.
func (c *call) place(dir string) (place string, known bool) {
	to, sure, told := said(c.input)
	switch {
	case !told:
		return dir, c.here
	case to == "":
		return dir, sure && c.whole
	case filepath.IsAbs(to):
		return to, sure && c.whole
	}
	return filepath.Join(dir, to), sure && c.whole
}

// said is the folder that an input names, empty where it names none; sure, whether
// nothing else in it may say so; told, whether it has fields.
func said(input json.RawMessage) (folder string, sure, told bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || len(fields) == 0 {
		return "", false, false
	}
	sure = true
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var to string
		switch v := string(fields[name]); {
		case slices.Contains(harmless, name) || v == "false" || v == "null" || v == `""`:
		case !slices.Contains(folders, name) || json.Unmarshal(fields[name], &to) != nil || strings.ContainsAny(to, "~$`"):
			sure = false
		case folder != "" && folder != to:
			sure = false
		default:
			folder = to
		}
	}
	return folder, sure, true
}

// judged is the call as package guard knows it.
func (c *call) judged(dir string) guard.Call {
	dir, known := c.place(dir)
	g := guard.Call{Tool: c.name, Input: c.input, Dir: dir}
	switch {
	case c.runs():
		g.Unplaced = !known
		g.Tool, g.Input = "shell", marshal(object{"command": c.command()})
	case c.kind == sdk.ToolKindEdit || c.kind == sdk.ToolKindDelete || c.kind == sdk.ToolKindMove:
		var changes []object
		for _, p := range append(c.paths, c.named()...) {
			changes = append(changes, object{"path": p})
		}
		g.Tool, g.Input = "edit", marshal(object{"changes": changes})
	case c.kind == sdk.ToolKindRead || c.kind == sdk.ToolKindSearch:
		if named := append(c.named(), c.paths...); len(named) > 0 {
			g.Tool, g.Input = "read", marshal(object{"file_path": named[0]})
		}
	}
	return g
}

// asked is what a person is asked of the call, as in "may it ...".
func (c *call) asked(dir string) string {
	if !c.runs() {
		return "use " + c.name + ": " + c.title
	}
	if place, _ := c.place(dir); place != dir {
		return "run in " + place + ": " + c.command()
	}
	return "run: " + c.command()
}

// named are the files that its input names.
func (c *call) named() (paths []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.input, &fields) != nil {
		return nil
	}
	for _, name := range []string{"file_path", "filePath", "filepath", "absolute_path", "path", "source", "destination"} {
		var path string
		if json.Unmarshal(fields[name], &path) == nil && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // texts alone, which always marshal
	}
	return b
}

// block is a part of what a call shows.
type block struct {
	Type    string `json:"type"`
	Path    string `json:"path"` // diff
	Content struct {
		Text string `json:"text"`
	} `json:"content"`
}

func (u *update) blocks() []block {
	var all []block
	if json.Unmarshal(u.Content, &all) != nil {
		return nil // of one that is no tool call
	}
	return all
}

// ownFolder begins what Gemini CLI says of a command that has no folder given. What
// the agent wrote stands behind it.
const ownFolder = "[current working directory "

// here reports whether a request says that its command runs where the program does.
func (u *update) here() bool {
	all := u.blocks()
	return len(all) == 1 && strings.HasPrefix(all[0].Content.Text, ownFolder)
}

// result is what a call came to, as text.
func (u *update) result() string {
	var all []string
	for _, b := range u.blocks() {
		if text := strings.TrimSpace(b.Content.Text); text != "" {
			all = append(all, text)
		}
	}
	if len(all) > 0 {
		return strings.Join(all, "\n")
	}
	var out struct {
		Output string `json:"output"`
		Error  string `json:"error"`
	}
	stdio.Lenient(u.Output, &out)
	return strings.TrimSpace(out.Output + "\n" + out.Error)
}

// show shows a call. It needs the lock.
func (a *instance) show(id string, c *call) {
	c.shown = true
	name, input := c.name, c.input
	if c.runs() {
		input = marshal(object{"command": c.command()})
	}
	a.Stage.Show(event.Event{Kind: event.ToolUse, Tool: name, ToolID: id, Input: input})
}

// flush shows what came in pieces. It needs the lock.
func (a *instance) flush() {
	if a.speech.Flush(a.Stage) {
		a.Tell(news.Worked{})
	}
}

// permission answers a request for leave. It needs the lock.
func (a *instance) permission(m stdio.Message) {
	var p struct {
		Call    update                 `json:"toolCall"`
		Options []sdk.PermissionOption `json:"options"`
	}
	stdio.Lenient(m.Params, &p)
	c := a.calls[p.Call.ID]
	told := c
	c.take(p.Call)
	if told.whole {
		if c.runs() && c.command() == told.command() {
			c.input = told.input
		} else {
			c.whole = false
		}
	}
	c.whole = c.whole || a.program.asks == withRequest
	c.here = a.program.asks == inWords && p.Call.here()
	if !c.shown {
		a.show(p.Call.ID, &c)
	}
	a.calls[p.Call.ID] = c
	choose := func(ctx context.Context, kinds ...sdk.PermissionOptionKind) error {
		for _, k := range kinds {
			for _, o := range p.Options {
				if o.Kind == k {
					return a.Answer(ctx, m.ID, object{"outcome": object{"outcome": "selected", "optionId": o.OptionId}})
				}
			}
		}
		return a.Answer(ctx, m.ID, object{"outcome": object{"outcome": "cancelled"}})
	}
	judge := func(c call) {
		a.Permit(a.policy, stdio.Leave{
			ID: string(m.ID), Call: c.judged(a.Stage.Dir), What: c.asked(a.Stage.Dir),
			// Never for good: each call is judged by itself.
			Allow: func(ctx context.Context) error { return choose(ctx, sdk.PermissionOptionKindAllowOnce) },
			Refuse: func(ctx context.Context, why string) error {
				a.refusals.add(why)
				return choose(ctx, sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways)
			},
		})
	}
	if a.program.asks != beside || !c.runs() || c.whole {
		judge(c)
		return
	}
	command := c.command()
	a.unsure[p.Call.ID] = append(a.unsure[p.Call.ID], request{
		judge: func(now call) {
			if now.command() != command {
				now = c
			}
			judge(now)
		},
		cancel: func(ctx context.Context) { _ = choose(ctx) }, // the program is gone, or it was told
	})
	a.Go(func(ctx context.Context) {
		t := time.NewTimer(toldWithin)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.sure(p.Call.ID)
	})
}

// toldWithin bounds the wait for what a program tells of a call beside asking leave.
const toldWithin = 5 * time.Second

// sure answers the requests for leave that waited to know more of a call. It needs
// the lock.
func (a *instance) sure(id string) {
	waiting := a.unsure[id]
	delete(a.unsure, id)
	for _, r := range waiting {
		r.judge(a.calls[id])
	}
}

// request is one for leave.
type request struct {
	judge  func(call)            // as what is known of the call now
	cancel func(context.Context) // nobody decides it any more
}

// drop answers the requests that wait when their turn has ended: a person would be
// asked for nothing, and what they type next would be taken for the answer. It needs
// the lock.
func (a *instance) drop() {
	for _, waiting := range a.unsure {
		for _, r := range waiting {
			a.Go(r.cancel)
		}
	}
	clear(a.unsure)
}

// reasons are why calls were refused, of which the agent was not told yet.
type reasons struct {
	mu  sync.Mutex
	all []string
}

func (r *reasons) add(why string) {
	if why == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, why)
}

// take returns them, a line each, and forgets them.
func (r *reasons) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.all, "\n")
	r.all = nil
	return all
}
