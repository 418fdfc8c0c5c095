package say

import "testing"

func TestShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1k", 1049: "1k", 1050: "1.1k", 12_345: "12.3k", 999_949: "999.9k", 999_950: "1M",
		2_000_000: "2M", 12_345_678: "12.3M", 999_999_999: "1G", 1_234_567_890: "1.2G", 12_345_678_901_234: "12345.7G"} {
		if got := Short(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
