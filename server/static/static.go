// Package static serves the built dashboard: its page, at / and at every path of the page's
// own routes, and the files that the page loads.
//
// Each answer with the page has a new nonce, which the editor and the terminal need to add
// their styles: the policy allows no other inline style and no inline script. Files with a
// hash in their names never change, and browsers cache them permanently; all others are
// revalidated by their ETag.
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
	// least is the size from which files are compressed.
	least = 1 << 10
)

// policy is the content security policy of the page: it may load from and connect to this
// server only. Its one verb is the nonce. Browsers treat websockets of the page's host as
// 'self'.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// types are the media types by extension. The system's table, which package mime uses,
// differs between machines.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".gif": "image/gif", ".html": "text/html; charset=utf-8", ".ico": "image/x-icon",
	".jpg": "image/jpeg", ".js": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json",
	".mjs": "text/javascript; charset=utf-8", ".png": "image/png", ".svg": "image/svg+xml", ".ttf": "font/ttf",
	".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm", ".webmanifest": "application/manifest+json",
	".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2",
}

// packed are the extensions of files that are already compressed.
var packed = map[string]bool{".gif": true, ".jpg": true, ".png": true, ".webp": true, ".woff": true, ".woff2": true}

// nonceMeta is the place of the nonce in the page.
var nonceMeta = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(<meta\s+name="csp-nonce"\s+content=")[^"]*(")`)
})

// hashed matches the names of files with a hash of their content, as vite writes them into
// a separate folder.
var hashed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^assets/[^/]+-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)
})

// Site serves a dashboard. It is an http.Handler for all paths except the API.
type Site struct {
	files   fs.FS
	page    []byte
	missing http.HandlerFunc

	mu   sync.Mutex
	made map[string]*file
}

// file is a file ready to send.
type file struct {
	kind        string
	plain, gzip []byte // gzip: nil if it is not smaller
	tag         string
}

// New serves the files of a dashboard; missing handles other paths.
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

// servePage answers with the page and a new nonce.
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

// file returns the file with a name; it is read and compressed once.
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

// compress returns b in gzip; nil if that is not smaller.
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

// serve answers with the file. Each encoding has its own ETag, so that they cannot be
// confused.
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

// takesGzip reports whether the client accepts gzip.
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
