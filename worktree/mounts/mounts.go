// Package mounts finds what is mounted in a folder.
package mounts

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mountPoints are those that mountinfo lists at dir or below, the deepest first.
func mountPoints(mountinfo, dir string) (all []string) {
	for l := range strings.Lines(mountinfo) {
		f := strings.Fields(l) // ID PARENT MAJOR:MINOR ROOT MOUNTPOINT ...
		if len(f) < 5 {
			continue
		}
		point := unescapeMount(f[4])
		if rel, err := filepath.Rel(dir, point); err == nil && filepath.IsLocal(rel) {
			all = append(all, point)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return all
}

// unescapeMount puts back what the kernel writes as \ and three octal digits.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// otherDevices are the folders in dir that lie on another device, for systems
// that list no mounts.
func otherDevices(dir string) (all []string, err error) {
	top, err := os.Lstat(dir)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(full string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // what cannot be read is told by the snapshot
		}
		info, err := d.Info()
		if err == nil && device(info) != device(top) {
			all = append(all, full)
			return filepath.SkipDir
		}
		return nil
	})
	return all, err
}
