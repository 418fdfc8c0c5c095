// Package static serves the built dashboard: its page, at / and at every path
// that the page itself knows, and the files that the page loads.
//
// The page is made anew for each answer, as it holds a nonce: what the editor and
// the terminal need to add their styles under a policy that allows no other inline
// style and no inline script. Files whose names hold a hash never change, and
// browsers keep them for good; all others are asked for again, by their ETag.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	index = "index.html"
	// least is the size from which a file is worth compressing.
	least = 1 << 10
)

// policy is what browsers may do with the page: load what this server serves, and
// speak to it. Its one verb is the nonce. A browser counts the websockets of the
// page's own host as 'self'.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// types are the media types by extension. The machine's own table, which package
// mime goes by, differs from one to the next.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".gif": "image/gif", ".html": "text/html; charset=utf-8", ".ico": "image/x-icon",
	".jpg": "image/jpeg", ".js": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json",
	".mjs": "text/javascript; charset=utf-8", ".png": "image/png", ".svg": "image/svg+xml", ".ttf": "font/ttf",
	".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm", ".webmanifest": "application/manifest+json",
	".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2",
}

// packed are the extensions of files that are compressed as they are.
var packed = map[string]bool{".gif": true, ".jpg": true, ".png": true, ".webp": true, ".woff": true, ".woff2": true}

// nonceMeta is where the page is told its nonce.
var nonceMeta = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(<meta\s+name="csp-nonce"\s+content=")[^"]*(")`)
})

// hashed are the names of files that hold a hash of what is in them, as vite gives
// them; nothing else is in the folder.
var hashed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^assets/[^/]+-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)
})

// Site serves a dashboard. It is an http.Handler for all paths but those of the API.
type Site struct {
	files   fs.FS
	page    []byte
	missing http.HandlerFunc

	mu   sync.Mutex
	made map[string]*file
}

// file is a file as it is sent.
type file struct {
	kind        string
	plain, gzip []byte // gzip: nil where that is no smaller
	tag         string
}

// New serves the files of a dashboard, with missing for what is none of them.
func New(files fs.FS, missing http.HandlerFunc) (*Site, error) {
	page, err := fs.ReadFile(files, index)
	if err != nil {
		return nil, fmt.Errorf("the dashboard has no page: %w", err)
	}
	return &Site{files: files, page: page, missing: missing, made: make(map[string]*file)}, nil
}

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name != "" && name != index {
		f, err := s.file(name)
		if err == nil {
			f.serve(w, r, hashed().MatchString(name))
			return
		}
		if !errors.Is(err, fs.ErrNotExist) || strings.HasPrefix(name, "assets/") || name == "api" || strings.HasPrefix(name, "api/") || !wantsPage(r) {
			s.missing(w, r)
			return
		}
	}
	s.servePage(w, r)
}

// wantsPage reports whether a request is a browser's that opens a page.
func wantsPage(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
			return true
		}
	}
	return false
}

// servePage answers with the page and a nonce of its own.
func (s *Site) servePage(w http.ResponseWriter, r *http.Request) {
	var raw [18]byte
	rand.Read(raw[:]) // never fails
	nonce := base64.StdEncoding.EncodeToString(raw[:])
	b := nonceMeta().ReplaceAll(s.page, []byte("${1}"+nonce+"${2}"))
	h := w.Header()
	h.Set("Content-Type", types[".html"])
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, nonce))
	h.Set("Cache-Control", "no-store") // a nonce is used once
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// file is the file of a name, which is read and compressed once.
func (s *Site) file(name string) (*file, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.made[name]; f != nil {
		return f, nil
	}
	info, err := fs.Stat(s.files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	b, err := fs.ReadFile(s.files, name)
	if err != nil {
		return nil, err
	}
	ext := path.Ext(name)
	sum := sha256.Sum256(b)
	f := &file{kind: types[ext], plain: b, tag: hex.EncodeToString(sum[:12])}
	if f.kind == "" {
		f.kind = "application/octet-stream"
	}
	if len(b) >= least && !packed[ext] {
		if f.gzip, err = compress(b); err != nil {
			return nil, err
		}
	}
	s.made[name] = f
	return f, nil
}

// compress is b in gzip; nil where that is no smaller.
func compress(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(b)
		err = errors.Join(err, z.Close())
	}
	if err != nil || out.Len() >= len(b) {
		return nil, err
	}
	return out.Bytes(), nil
}

// serve answers with the file. Neither of its forms is taken for the other: each
// has an ETag of its own.
func (f *file) serve(w http.ResponseWriter, r *http.Request, forever bool) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "private, no-cache")
	if forever {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	b, tag := f.plain, f.tag
	if f.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r) {
			h.Set("Content-Encoding", "gzip")
			b, tag = f.gzip, f.tag+"-gzip"
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// takesGzip reports whether who asks can read gzip.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, q, _ := strings.Cut(part, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		q = strings.TrimLeft(strings.TrimPrefix(strings.ReplaceAll(q, " ", ""), "q="), "0.")
		return !strings.Contains(part, "q=") || q != ""
	}
	return false
}
