package mounts

import (
	"slices"
	"testing"
)

func TestMountPoints(t *testing.T) {
	const info = `22 1 8:1 / / rw - ext4 /dev/sda rw
30 22 8:1 /x /w/my\040tree/m rw - ext4 /dev/sda rw
31 22 8:1 /x /w/my\040tree/m/deep\134er rw shared:1 - ext4 /dev/sda rw
32 22 8:1 /x /w/my\040tree.found rw - ext4 /dev/sda rw
33 22 8:1 /x /w/my\040tree rw - ext4 /dev/sda rw
`
	want := []string{`/w/my tree/m/deep\er`, "/w/my tree/m", "/w/my tree"}
	if got := mountPoints(info, "/w/my tree"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
