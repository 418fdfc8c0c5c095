package static

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

const page = `<!doctype html><meta name="csp-nonce" content=""><script type="module" src="/assets/index-AbCd1234.js"></script>`

func site(t *testing.T) *Site {
	t.Helper()
	s, err := New(fstest.MapFS{
		"index.html":                 {Data: []byte(page)},
		"favicon.svg":                {Data: []byte("<svg/>")},
		"assets/index-AbCd1234.js":   {Data: []byte(strings.Repeat("let cmux = 1;\n", 200))},
		"assets/noise-Zz_9-aaa.js":   {Data: []byte("let a")},
		"assets/font-12345678.woff2": {Data: bytes.Repeat([]byte("font"), 1000)},
		"assets/plain.css":           {Data: []byte("a{}")},
		"odd.xyz":                    {Data: []byte("?")},
	}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask asks for METHOD PATH with headers KEY: VALUE.
func ask(s *Site, line string, headers ...string) *http.Response {
	method, target, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, "http://x"+target, nil)
	for _, kv := range headers {
		k, v, _ := strings.Cut(kv, ": ")
		r.Header.Add(k, v)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func TestPaths(t *testing.T) {
	s := site(t)
	const html = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
	const forever, again = "private, max-age=31536000, immutable", "private, no-cache"
	for _, c := range []struct {
		line, accept string
		status       int
		kind, cache  string
	}{
		{"GET /", html, 200, "text/html; charset=utf-8", "no-store"},
		{"GET /", "Accept: */*", 200, "text/html; charset=utf-8", "no-store"},
		{"HEAD /", html, 200, "text/html; charset=utf-8", "no-store"},
		{"GET /index.html", html, 200, "text/html; charset=utf-8", "no-store"},
		{"GET /runs/20260301-120000/nodes/api.v2", html, 200, "text/html; charset=utf-8", "no-store"},
		{"GET /runs", "Accept: TEXT/HTML", 200, "text/html; charset=utf-8", "no-store"},
		{"GET /runs", "Accept: application/json", 404, "", ""},
		{"GET /runs", "Accept: */*", 404, "", ""},
		{"GET /api/none", html, 404, "", ""},
		{"GET /api", html, 404, "", ""},
		{"GET /x/../api/none", html, 404, "", ""},
		{"GET /assets", html, 200, "text/html; charset=utf-8", "no-store"},
		{"GET /assets/", html, 200, "text/html; charset=utf-8", "no-store"},
		{"GET /assets/index-old12345.js", html, 404, "", ""},
		{"GET /assets/index-AbCd1234.js", "", 200, "text/javascript; charset=utf-8", forever},
		{"GET /assets/noise-Zz_9-aaa.js", "", 200, "text/javascript; charset=utf-8", forever},
		{"GET /assets/font-12345678.woff2", "", 200, "font/woff2", forever},
		{"GET /assets/plain.css", "", 200, "text/css; charset=utf-8", again},
		{"GET /favicon.svg", "", 200, "image/svg+xml", again},
		{"GET /odd.xyz", "", 200, "application/octet-stream", again},
		{"GET /../../favicon.svg", "", 200, "image/svg+xml", again},
		{"POST /", html, 405, "", ""},
	} {
		r := ask(s, c.line, c.accept)
		if r.StatusCode != c.status {
			t.Errorf("%s (%s): %d, want %d", c.line, c.accept, r.StatusCode, c.status)
			continue
		}
		if c.status == 200 && (r.Header.Get("Content-Type") != c.kind || r.Header.Get("Cache-Control") != c.cache) {
			t.Errorf("%s: %v", c.line, r.Header)
		}
	}
}

func TestCompression(t *testing.T) {
	s := site(t)
	const big = "GET /assets/index-AbCd1234.js"
	plain := ask(s, big)
	want, _ := io.ReadAll(plain.Body)
	for accept, zipped := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "*": true, "GZIP": true, "identity": false, "br": false, "gzip;q=0": false, "gzip; q=0.000": false, "": false,
	} {
		r := ask(s, big, "Accept-Encoding: "+accept)
		if got := r.Header.Get("Content-Encoding") == "gzip"; got != zipped || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", accept, r.Header)
			continue
		}
		b, _ := io.ReadAll(r.Body)
		if zipped {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			b, _ = io.ReadAll(z)
		}
		if !bytes.Equal(b, want) {
			t.Errorf("%q: %d bytes of %d", accept, len(b), len(want))
		}
		tag := r.Header.Get("ETag")
		if same := ask(s, big, "Accept-Encoding: "+accept, "If-None-Match: "+tag); same.StatusCode != http.StatusNotModified {
			t.Errorf("%q: asked again with %s: %d", accept, tag, same.StatusCode)
		}
		if zipped == (tag == plain.Header.Get("ETag")) {
			t.Errorf("%q: both forms have the ETag %s", accept, tag)
		}
	}
	for _, line := range []string{"GET /assets/font-12345678.woff2", "GET /assets/plain.css"} {
		if r := ask(s, line, "Accept-Encoding: gzip"); r.Header.Get("Content-Encoding") != "" || r.Header.Get("ETag") == "" {
			t.Errorf("%s: %v", line, r.Header)
		}
	}
}

// The page's nonce is that of its policy, another one each time, and nothing
// else inline is allowed.
func TestPolicy(t *testing.T) {
	s := site(t)
	seen := map[string]bool{}
	for range 10 {
		r := ask(s, "GET /")
		b, _ := io.ReadAll(r.Body)
		csp := r.Header.Get("Content-Security-Policy")
		meta := regexp.MustCompile(`<meta name="csp-nonce" content="([^"]{20,})">`).FindSubmatch(b)
		if meta == nil || !strings.Contains(csp, "style-src 'self' 'nonce-"+string(meta[1])+"';") || seen[string(meta[1])] {
			t.Fatalf("%s\n%s", csp, b)
		}
		seen[string(meta[1])] = true
		if strings.Contains(csp, "unsafe") || strings.Count(csp, "nonce-") != 1 || !strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") {
			t.Error(csp)
		}
	}
}

func TestNoPage(t *testing.T) {
	if _, err := New(fstest.MapFS{}, nil); err == nil {
		t.Error("a dashboard without a page is served")
	}
}

// What browsers keep for good holds a hash of what is in it: vite names all that is in
// assets so, and nothing is put there as it is.
func TestHashedFiles(t *testing.T) {
	const web = "../../web"
	if _, err := os.Stat(filepath.Join(web, "public", "assets")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is in public/assets is copied into assets without a hash: %v", err)
	}
	built, err := os.ReadDir(filepath.Join(web, "dist", "assets"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the dashboard is not built")
	} else if err != nil {
		t.Fatal(err)
	}
	for _, f := range built {
		if !hashed().MatchString("assets/" + f.Name()) {
			t.Errorf("%s has no hash in its name", f.Name())
		}
	}
	for _, name := range []string{"favicon.svg", "index.html", "assets/plain.css", "assets/foo-component.js", "other/index-AbCd1234.js"} {
		if hashed().MatchString(name) {
			t.Errorf("%s would be kept for good", name)
		}
	}
}
