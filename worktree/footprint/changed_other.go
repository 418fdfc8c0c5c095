//go:build !linux

package footprint

import "io/fs"

func changed(fs.FileInfo) string { return "" }
