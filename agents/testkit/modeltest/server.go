package modeltest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Server answers requests of agent programs by scripts.
type Server struct {
	URL string // http://127.0.0.1:port

	scripts []Script
	http    *http.Server
	served  chan struct{}

	mu       sync.Mutex
	requests []Request
	strays   []string
	met      map[meeting]int          // how often a fault was met
	gates    map[string]chan struct{} // closed when released
	held     map[string]int           // requests at a gate
	changed  chan struct{}            // closed and replaced at every change of the above
}

// meeting is a fault in one conversation.
type meeting struct {
	session, script string
	turn, step      int
}

// New serves the scripts until the test ends.
func New(t testing.TB, scripts ...Script) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", scripts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Serve listens at the address, which must be a loopback one, until Close.
func Serve(addr string, scripts ...Script) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("modeltest: %s is not a loopback address; listen at 127.0.0.1", addr), l.Close())
	}
	s := &Server{URL: "http://" + l.Addr().String(), scripts: scripts, served: make(chan struct{}),
		met: map[meeting]int{}, gates: map[string]chan struct{}{}, held: map[string]int{}, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.handle(parseMessages))
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("POST /v1/responses", s.handle(parseResponses))
	mux.HandleFunc("POST /v1/chat/completions", s.handle(parseChat))
	mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	mux.HandleFunc("POST /gates/{gate}", func(_ http.ResponseWriter, r *http.Request) { s.Release(r.PathValue("gate")) }) // for another process
	mux.HandleFunc("/", s.stray)
	s.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect || r.URL.IsAbs() { // asked as a proxy
			s.stray(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})}
	go func() {
		defer close(s.served)
		s.http.Serve(l)
	}()
	return s, nil
}

// Close ends the server and every open answer.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// Requests are those that came so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Strays are the requests outside of the APIs, as in "GET /path" or, for
// another host, "CONNECT example.com:443". They got 404.
func (s *Server) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.strays...)
}

// patience is how long a test waits for a program. It ends only broken tests.
const patience = 2 * time.Minute

// WaitFor returns the first request that satisfies is, waiting for it. It fails
// the test when none comes within two minutes.
func (s *Server) WaitFor(t testing.TB, is func(Request) bool) Request {
	t.Helper()
	var found Request
	seen := 0
	s.wait(t, "the request", func() bool {
		for ; seen < len(s.requests); seen++ {
			if is(s.requests[seen]) {
				found = s.requests[seen]
				return true
			}
		}
		return false
	})
	return found
}

// WaitHeld waits until n answers are held at the gate at once.
func (s *Server) WaitHeld(t testing.TB, gate string, n int) {
	t.Helper()
	s.wait(t, fmt.Sprintf("%d answers held at %q", n, gate), func() bool { return s.held[gate] >= n })
}

// Release opens the gate, for good.
func (s *Server) Release(gate string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gate(gate)
	select {
	case <-g:
	default:
		close(g)
	}
}

// gate needs the lock.
func (s *Server) gate(name string) chan struct{} {
	g := s.gates[name]
	if g == nil {
		g = make(chan struct{})
		s.gates[name] = g
	}
	return g
}

// wait calls holds, with the lock, at every change until it is true.
func (s *Server) wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			for _, r := range s.Requests() {
				t.Logf("request %d: %s, script %q turn %d, %d messages", r.Seq, r.Protocol, r.Script, r.Turn, len(r.Messages))
			}
			t.Fatalf("%s did not come: %v", what, ctx.Err())
		}
	}
}

// note changes what wait looks at.
func (s *Server) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) stray(w http.ResponseWriter, r *http.Request) {
	s.note(func() { s.strays = append(s.strays, r.Method+" "+r.RequestURI) })
	http.NotFound(w, r)
}

func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(object{"input_tokens": len(body) / 4, "totalTokens": len(body) / 4}) // Anthropic's name, and Google's
}

// reply writes an answer in one of the protocols.
type reply interface {
	text(string) error
	thinking(string) error
	shell(command string) error
	tool(name string, input []byte) error
	fault(Fault) error
	finish(stop string, usedTool bool) error
}

func (s *Server) handle(parse func([]byte, http.Header) (Request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		body, err := io.ReadAll(hr.Body)
		if err != nil {
			return // the program went away
		}
		r, err := parse(body, hr.Header)
		if err != nil {
			http.Error(w, fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, "modeltest: "+err.Error()), http.StatusBadRequest)
			return
		}
		r.At, r.Header, r.Body = time.Now(), hr.Header.Clone(), body
		var script *Script
		turn := 0
		if !r.Aside {
			script, turn = choose(s.scripts, r)
		}
		if script != nil {
			r.Script, r.Turn = script.Name, turn
		}
		s.note(func() {
			r.Seq = len(s.requests) + 1
			s.requests = append(s.requests, r)
		})
		s.answer(hr.Context(), w, r, script)
	}
}

// answer plays the turn. What the program does not stay to hear is no error.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r Request, script *Script) {
	steps := expand(turnOf(script, r), r)
	usage := Usage{Input: 100, Output: 20}
	for _, step := range steps {
		if u, ok := step.(Usage); ok {
			usage = u
		}
	}
	st := &stream{w: w, id: rand.Text()[:12]}
	var out reply = &messagesReply{stream: st, model: r.Model, usage: usage, whole: !r.Stream, judges: script != nil && script.Judges && asksToJudge(r)}
	switch r.Protocol {
	case Responses:
		out = &responsesReply{stream: st, model: r.Model, usage: usage}
	case Chat:
		out = &chatReply{stream: st, model: r.Model, usage: usage, whole: !r.Stream, tools: r.Tools}
	case Gemini:
		out = &geminiReply{stream: st, model: r.Model, usage: usage, whole: !r.Stream}
	}
	stop, usedTool := "", false
	for i, step := range steps {
		var err error
		switch step := step.(type) {
		case Text:
			err = out.text(string(step))
		case Halved:
			st.halfway = func() error { return s.hold(ctx, step.Hold) }
			err = out.text(step.Text)
			st.halfway = nil
		case Thinking:
			err = out.thinking(string(step))
		case Shell:
			usedTool = true
			err = out.shell(string(step))
		case ToolUse:
			usedTool = true
			var input []byte
			if input, err = json.Marshal(step.Input); err == nil {
				err = out.tool(step.Name, input)
			}
		case StopReason:
			stop = string(step)
		case Hold:
			err = s.hold(ctx, string(step))
		case Fault:
			if !s.meets(meeting{r.Session, r.Script, r.Turn, i}, step.Times) {
				continue
			}
			if step.Status == 0 {
				panic(http.ErrAbortHandler) // net/http's way to cut a connection
			}
			out.fault(step)
			return
		}
		if err != nil {
			return
		}
	}
	out.finish(stop, usedTool)
}

// turnOf is what the script says to the request.
func turnOf(script *Script, r Request) Turn {
	switch {
	case r.Aside:
		return Turn{Text("a conversation")}
	case r.Compaction() && script != nil && script.Compact != nil:
		return script.Compact
	case r.Compaction():
		return summary(script, r)
	case script == nil:
		return Turn{Fault{Status: 400, Message: "modeltest: no script is marked in the conversation"}}
	case r.Turn >= len(script.Turns):
		return Turn{Text(fmt.Sprintf("(script %s has no turn %d)", script.Name, r.Turn))}
	}
	return script.Turns[r.Turn]
}

// expand replaces functions by what they return.
func expand(t Turn, r Request) Turn {
	var steps Turn
	for _, step := range t {
		if f, ok := step.(Func); ok {
			steps = append(steps, expand(f(r), r)...)
			continue
		}
		steps = append(steps, step)
	}
	return steps
}

func (s *Server) meets(m meeting, times int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met[m]++
	return times == 0 || s.met[m] <= times
}

func (s *Server) hold(ctx context.Context, name string) error {
	var gate chan struct{}
	s.note(func() {
		gate = s.gate(name)
		s.held[name]++
	})
	defer s.note(func() { s.held[name]-- })
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f Fault) headers() http.Header {
	h := http.Header{}
	for k, v := range f.Header {
		h.Set(k, v)
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((f.RetryAfter+time.Second-1)/time.Second), 10))
	}
	return h
}

type object map[string]any

// stream writes server-sent events.
type stream struct {
	w      http.ResponseWriter
	id     string // of the answer
	opened bool

	halfway func() error // waits between the pieces of a text; nil: they come at once
}

// piecewise sends the pieces of a text.
func (s *stream) piecewise(text string, send func(piece string) error) error {
	for i, p := range pieces(text) {
		if i > 0 && s.halfway != nil {
			if err := s.halfway(); err != nil {
				return err
			}
		}
		if err := send(p); err != nil {
			return err
		}
	}
	return nil
}

// open sends the headers and then what first says, once.
func (s *stream) open(first func() error) error {
	if s.opened {
		return nil
	}
	s.opened = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Request-Id", "req_"+s.id)
	s.w.WriteHeader(http.StatusOK)
	return first()
}

func (s *stream) event(name string, fields object) error {
	fields["type"] = name
	b, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, b); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// data sends an event without a name.
func (s *stream) data(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", b); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// json sends an answer in one piece.
func (s *stream) json(status int, header http.Header, body object) error {
	for k := range header {
		s.w.Header().Set(k, header.Get(k))
	}
	s.w.Header().Set("Content-Type", "application/json")
	s.w.Header().Set("Request-Id", "req_"+s.id)
	s.w.WriteHeader(status)
	return json.NewEncoder(s.w).Encode(body)
}

// pieces cuts a text into two, so that nobody gets by with the first.
func pieces(s string) []string {
	r := []rune(s)
	if len(r) < 2 {
		return []string{s}
	}
	return []string{string(r[:len(r)/2]), string(r[len(r)/2:])}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Held is how many answers are held at the gate.
func (s *Server) Held(gate string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[gate]
}
