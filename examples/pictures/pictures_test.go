package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func TestConstant(t *testing.T) {
	for shown, want := range map[string]string{
		"run 20261122-202857.595-299f32: running, 53s":  "run 20261101-120000.000-c0ffee: running, 24s",
		"attempt 1, 2026-12-31 20:26:27":                "attempt 1, 2026-11-01 12:00:00",
		"failed since 23:59":                            "failed since 12:00",
		"#1 20:26 +0s done":                             "#1 12:00 +3s done",
		"shop/api 0.41s, shop/web 12.50s":               "shop/api 0.41s, shop/web 12.50s",
		"5fdb9de design; uncommitted: 5fdb9de16628":     "c0ffee1 design; uncommitted: c0ffee123456",
		"p99 480 ms, 2 templates, 1.2M tokens, 3 steps": "p99 480 ms, 2 templates, 1.2M tokens, 3 steps",
	} {
		// Colors divide what is replaced.
		rows := constant(screen("\x1b[32m" + shown[:4] + "\x1b[2m" + shown[4:]))
		if got := text(rows[0]); got != want {
			t.Errorf("constant(%q) = %q, want %q", shown, got, want)
		}
	}
}

func TestScreen(t *testing.T) {
	rows := screen("a\x1b[1;31mb\x1b[0mc\n\x1b[38;5;214md\x1b[48;2;1;2;3me\x1b(B\x1b[mf")
	if len(rows) != 2 || len(rows[0]) != 3 || len(rows[1]) != 3 {
		t.Fatalf("rows: %v", rows)
	}
	for _, c := range []struct {
		row, col int
		want     cell
	}{
		{0, 0, cell{'a', style{}}},
		{0, 1, cell{'b', style{bold: true, fg: palette[1]}}},
		{0, 2, cell{'c', style{}}},
		{1, 0, cell{'d', style{fg: "#ffaf00"}}},
		{1, 1, cell{'e', style{fg: "#ffaf00", bg: "#010203"}}},
		{1, 2, cell{'f', style{}}},
	} {
		if got := rows[c.row][c.col]; got != c.want {
			t.Errorf("row %d, column %d: %+v, want %+v", c.row, c.col, got, c.want)
		}
	}
}

// A picture is XML whatever a program prints, and has every word of its screen.
func TestDraw(t *testing.T) {
	picture := draw("a <b> & c", screen("┌── <one>  two ──┐\n│ \x1b[7m&amp;\x1b[0m │"), 40)
	var text strings.Builder
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, picture)
		}
		if s, ok := token.(xml.CharData); ok {
			text.Write(s)
			text.WriteByte(' ')
		}
	}
	for _, want := range []string{"a <b> & c", "<one>", "two", "&amp;"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the picture does not show %q: %q", want, text.String())
		}
	}
	if strings.ContainsAny(text.String(), "┌─│┐") {
		t.Errorf("lines are drawn as text: %q", text.String())
	}
}
