//go:build !linux

package mounts

// In returns the folders in dir that lie on another device.
func In(dir string) ([]string, error) { return otherDevices(dir) }
