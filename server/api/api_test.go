package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"

	"github.com/charmbracelet/log"
	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control"
	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/seal/sealtest"
	"cmux/server/api"
	"cmux/server/login"
	"cmux/server/store"
)

var update = flag.Bool("update", false, "rewrite web/openapi.json")

const token = "abababababababababababababababababababababababababababababababab"

// world is a project with its routes.
type world struct {
	t     testing.TB
	root  string
	now   time.Time
	p     *control.Project
	keys  *login.Keys
	store *store.Store
	doc   *huma.OpenAPI
	gate  http.Handler
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, root: t.TempDir(), now: time.Now()}
	now := func() time.Time { return w.now }
	w.p = &control.Project{Project: project.Project{Caller: project.Caller{Dir: w.root, Now: now, Person: true}, Root: w.root}}
	w.keys = login.NewKeys(token, "p", now)
	var err error
	if w.store, err = store.Open(t.Context(), w.root, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	mux := http.NewServeMux()
	w.doc = api.New(mux, api.Options{Project: w.p, Place: endpoint.Place{Port: 8420, Project: "p", Instance: "i"}, Token: token, Keys: w.keys, Store: w.store, Log: log.New(io.Discard), Background: func(f func(context.Context)) bool {
		f(t.Context()) // at once, so that the test sees the result
		return true
	}, LogOut: func(context.Context) error { w.keys.SetLogins("others"); return nil }})
	w.gate = login.NewGate(w.keys, 8420, mux)
	return w
}

// ask sends a request with the token and returns the status and the answer.
func (w *world) ask(method, target, body string, headers ...string) (int, string) {
	w.t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8420"+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, kv := range headers {
		k, v, _ := strings.Cut(kv, ": ")
		r.Header.Set(k, v)
	}
	rec := httptest.NewRecorder()
	w.gate.ServeHTTP(rec, r)
	covered.note(w.doc, r, rec.Code)
	return rec.Code, rec.Body.String()
}

// must is ask for what is to succeed; the answer is read into out, which may be
// nil.
func (w *world) must(method, target, body string, out any) {
	w.t.Helper()
	code, text := w.ask(method, target, body)
	if code != http.StatusOK && code != http.StatusCreated {
		w.t.Fatalf("%s %s: %d %s", method, target, code, text)
	}
	w.valid(method, target, code, text)
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			w.t.Fatal(err)
		}
	}
}

// valid holds an answer against the document.
func (w *world) valid(method, target string, code int, answer string) {
	w.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	var op *huma.Operation
	for pattern, item := range w.doc.Paths {
		if ok, _ := filepath.Match(wild(pattern), path); ok && (op == nil || pattern == path) {
			switch method {
			case http.MethodGet:
				op = item.Get
			case http.MethodPost:
				op = item.Post
			case http.MethodPatch:
				op = item.Patch
			case http.MethodPut:
				op = item.Put
			case http.MethodDelete:
				op = item.Delete
			}
		}
	}
	if op == nil {
		w.t.Fatalf("%s %s is not in the document", method, target)
	}
	response := op.Responses[strconv.Itoa(code)]
	if response == nil {
		w.t.Fatalf("%s %s: the document has no answer %d", method, target, code)
	}
	schema := response.Content["application/json"].Schema
	var v any
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		w.t.Fatal(err)
	}
	var res huma.ValidateResult
	huma.Validate(w.doc.Components.Schemas, schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeReadFromServer, v, &res)
	for _, err := range res.Errors {
		w.t.Errorf("%s %s: the answer is not as documented: %v\n%s", method, target, err, answer)
	}
}

// wild is a pattern of the document as filepath.Match has it.
func wild(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// TestDocsOpenAPI keeps web/openapi.json what the server says of itself.
func TestDocsOpenAPI(t *testing.T) {
	const page = "../../web/openapi.json"
	w := newWorld(t)
	b, err := json.Marshal(w.doc)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, b, "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if code, text := w.ask("GET", "/api/openapi.json", ""); code != 200 || !strings.Contains(text, `"/api/tasks/{id}/assign"`) {
		t.Errorf("%d %.200s", code, text)
	}
	if *update {
		if err := os.WriteFile(page, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s is stale: go test ./server/api -run TestDocsOpenAPI -update", page)
	}
}

// covered is what the tests of this package asked with success.
var covered = tried{}

// TestMain fails when there is a route that no test asks with success, here or in a
// script of the command line.
func TestMain(m *testing.M) {
	code := sealtest.Main(m)
	all := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.list").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if code == 0 && all && covered.doc != nil {
		if err := covered.scripts(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		for _, op := range covered.untested() {
			fmt.Fprintf(os.Stderr, "no test asks %s with success: add it to a test here, or to api.txtar of cmd/cmux\n", op)
			code = 1
		}
	}
	os.Exit(code)
}
