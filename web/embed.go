// Package web is the dashboard: a page in TypeScript (src/), which npm builds
// into dist/, and which the binary carries. Without Node the binary builds too,
// and has no dashboard.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is the dashboard as it was built: index.html, and what it loads. It is
// nil, and reports false, when the binary was built without.
func Files() (fs.FS, bool) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, false
	}
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil, false
	}
	return files, true
}
