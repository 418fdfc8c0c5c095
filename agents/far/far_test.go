package far

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// A name that ParseRef takes is a path of four folders, and String gives it back.
func FuzzParseRef(f *testing.F) {
	for _, seed := range []string{"p/r/n/1", "p/r/n/01", "p/r/n/0", "p/r/n/-1", "p/r/n/+1", "p/../n/1", "p/r/-n/1", "p//n/1", "p/r/n", "p/r/n/1/2", "p/r/n\x00/1", "p/r\\x/n/1", "p/r/n/99999999999999999999", "ü/r/ n /2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			return
		}
		if r.String() != s {
			t.Errorf("%q became %q", s, r)
		}
		if again, err := ParseRef(r.String()); err != nil || again != r {
			t.Errorf("%q became %q, %v", s, again, err)
		}
		parts := strings.Split(s, "/")
		if len(parts) != 4 {
			t.Errorf("%q has %d parts", s, len(parts))
		}
		for _, part := range parts {
			if part == "" || part == "." || part == ".." || part[0] == '.' || part[0] == '-' || len(part) > maxPart || strings.ContainsAny(part, "\x00\n\\") {
				t.Errorf("%q has the part %q", s, part)
			}
		}
	})
}

func TestRefCheck(t *testing.T) {
	good := Ref{Project: "p-1", Run: "2026-01-02-x", Node: "api.v2", N: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	if r, err := ParseRef("p-1/2026-01-02-x/api.v2/1"); err != nil || r != good {
		t.Error(r, err)
	}
	for name, change := range map[string]func(*Ref){
		"no project": func(r *Ref) { r.Project = "" },
		"a parent":   func(r *Ref) { r.Run = ".." },
		"hidden":     func(r *Ref) { r.Run = ".git" },
		"a slash":    func(r *Ref) { r.Node = "a/b" },
		"a flag":     func(r *Ref) { r.Node = "-rf" },
		"a control":  func(r *Ref) { r.Node = "a\x1b[m" },
		"too long":   func(r *Ref) { r.Node = strings.Repeat("x", maxPart+1) },
		"number 0":   func(r *Ref) { r.N = 0 },
	} {
		r := good
		change(&r)
		if r.Check() == nil {
			t.Errorf("%s: %q is taken", name, r)
		}
	}
}

// Parts of data make the data again, also after a first try that was broken off.
func TestPartsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 3*maxData+1), rapid.SampledFrom([]int{maxData - 1, maxData, maxData + 1, 2 * maxData})).Draw(t, "size")
		data := bytes.Repeat([]byte(rapid.StringN(1, 7, -1).Draw(t, "text")), size/7+1)
		data = data[:min(size, len(data))]
		parts := Parts(Code, "id", data)
		ids := map[string]bool{}
		for i, e := range parts {
			if e.Kind != Code || e.Part != i || e.Parts != len(parts) || len(e.Data) > maxData || ids[e.ID] {
				t.Fatalf("part %d of %d: %+v", i, len(parts), Entry{ID: e.ID, Kind: e.Kind, Part: e.Part, Parts: e.Parts})
			}
			ids[e.ID] = true
		}
		var w Whole
		for i := range parts[:rapid.IntRange(0, len(parts)-1).Draw(t, "broken off")] {
			if _, done, err := w.Add(&parts[i]); done || err != nil {
				t.Fatal(done, err)
			}
		}
		for i := range parts {
			got, done, err := w.Add(&parts[i])
			switch {
			case err != nil:
				t.Fatal(err)
			case done != (i == len(parts)-1):
				t.Fatalf("done with part %d of %d: %v", i, len(parts), done)
			case done && !bytes.Equal(got, data):
				t.Fatalf("%d bytes became %d", len(data), len(got))
			}
		}
		if len(parts) > 1 { // one that does not come next is refused, and nothing is whole
			k := rapid.IntRange(1, len(parts)-1).Draw(t, "first")
			if _, done, err := w.Add(&parts[k]); done || err == nil {
				t.Fatalf("part %d came first: %v %v", k, done, err)
			}
		}
	})
}

func TestWholeRefuses(t *testing.T) {
	for _, e := range []Entry{{Part: 1, Parts: 2}, {Part: -1, Parts: 2}, {Part: 0, Parts: 0}, {Part: 2, Parts: 2}, {Parts: 1, Data: make([]byte, 2*maxData+1)}} {
		var w Whole
		if _, done, err := w.Add(&e); done || err == nil {
			t.Errorf("part %d of %d with %d bytes is taken", e.Part, e.Parts, len(e.Data))
		}
	}
}

// However often the entries of a journal are delivered again, each is taken once, in order.
func TestCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 20
		var c Cursor
		var taken []uint64
		for range rapid.IntRange(0, 30).Draw(t, "deliveries") {
			from := rapid.Uint64Range(0, most).Draw(t, "from")
			to := rapid.Uint64Range(from, most).Draw(t, "to")
			for seq := from; seq <= to; seq++ {
				at := c.At
				next, err := c.Take(seq)
				switch {
				case seq == 0 || seq > at+1:
					if err == nil || next || c.At != at {
						t.Fatalf("entry %d behind %d: %v %v, and the cursor is at %d", seq, at, next, err, c.At)
					}
				case err != nil:
					t.Fatal(err)
				case next:
					taken = append(taken, seq)
				}
			}
		}
		for i, seq := range taken {
			if seq != uint64(i+1) {
				t.Fatalf("taken: %v", taken)
			}
		}
		if c.At != uint64(len(taken)) {
			t.Errorf("at %d after %v", c.At, taken)
		}
	})
}

// However a stream is cut into pieces, and pieces come again, what is missing of them makes
// the stream.
func TestMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte(rapid.StringN(0, 60, -1).Draw(t, "stream"))
		var have []byte
		for range rapid.IntRange(0, 40).Draw(t, "pieces") {
			from := rapid.IntRange(0, len(stream)).Draw(t, "from")
			to := rapid.IntRange(from, len(stream)).Draw(t, "to")
			got, err := Missing(stream[from:to], int64(from), int64(len(have)))
			if (err != nil) != (from > len(have)) {
				t.Fatalf("a piece from %d, with %d bytes there: %v", from, len(have), err)
			}
			have = append(have, got...)
		}
		if !bytes.HasPrefix(stream, have) {
			t.Errorf("%q became %q", stream, have)
		}
		rest, err := Missing(stream, 0, int64(len(have)))
		if err != nil || !bytes.Equal(slices.Concat(have, rest), stream) {
			t.Errorf("%q and %q, want %q", have, rest, stream)
		}
	})
}
