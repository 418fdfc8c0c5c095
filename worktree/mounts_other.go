//go:build !linux

package worktree

// mountsIn are the folders in dir that lie on another device.
func mountsIn(dir string) ([]string, error) { return otherDevices(dir) }
