package serve

import (
	"strings"
	"testing"

	"rsc.io/qr"
)

// Each half of a line is a row of the code, with four empty modules around it.
func TestDrawQR(t *testing.T) {
	const text = "https://192.168.1.5:8420/pair"
	c, err := qr.Encode(text, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := drawQR(&b, text); err != nil {
		t.Fatal(err)
	}
	drawn := strings.NewReplacer("\x1b[30;107m", "", "\x1b[0m", "").Replace(b.String())
	lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
	if len(lines) != (c.Size+9)/2 {
		t.Fatalf("%d lines for %d rows", len(lines), c.Size)
	}
	for n, line := range lines {
		row := []rune(line)
		if len(row) != c.Size+8 {
			t.Fatalf("line %d has %d modules", n, len(row))
		}
		for x, char := range row {
			if upper, lower := char == '█' || char == '▀', char == '█' || char == '▄'; upper != c.Black(x-4, 2*n-4) || lower != c.Black(x-4, 2*n-3) {
				t.Fatalf("line %d, module %d: %q", n, x, char)
			}
		}
	}
}
