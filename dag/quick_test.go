package dag

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// alike reports whether quick accepts text, and fails if encoding/json reads it
// differently.
func alike(t rapid.TB, text []byte) bool {
	t.Helper()
	var quick, slow Graph
	if !quick.quick(text) {
		return false
	}
	if err := slow.slow(text); err != nil {
		t.Fatalf("taken in, but: %v\n%s", err, text)
	}
	if !reflect.DeepEqual(quick, slow) {
		t.Fatalf("%s\nread as  %+v\nand not %+v", text, quick, slow)
	}
	return true
}

// full fills every field of v, so that the test meets new fields.
func full(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				full(v.Field(i), n)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			full(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			full(key, n)
			full(value, n)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(*n)
	}
}

// quick reads every graph.
func TestQuickKnowsEveryField(t *testing.T) {
	var (
		g Graph
		n int64
	)
	full(reflect.ValueOf(&g).Elem(), &n)
	g.Nodes[1].Task = "a \"quoted\" <é>\n\x00\u2028 \xff"
	b, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !alike(t, b) {
		t.Errorf("left to encoding/json: %s", b)
	}
}

func TestQuickReadsAnyGraphAlike(t *testing.T) {
	var (
		g Graph
		n int64
	)
	full(reflect.ValueOf(&g).Elem(), &n)
	whole, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := whole
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "place")
			put := rapid.SampledFrom([]string{"", " ", `"`, `\`, "{", "}", "[", "]", ",", ":", "-", "0", "1e3", "null", "true", "false", `"x":1,`, `"name":"y",`, "\x80", "\n"}).Draw(t, "put")
			drop := rapid.IntRange(0, min(20, len(text)-at)).Draw(t, "drop")
			text = []byte(string(text[:at]) + put + string(text[at+drop:]))
			if len(text) == 0 {
				break
			}
		}
		alike(t, text)
	})
}

func BenchmarkDecode(b *testing.B) {
	g := &Graph{Session: "s"}
	for i := range 1000 {
		n := Node{Name: fmt.Sprint("n", i), Agent: KindCommand, Role: RoleReview, Task: "/bin/true", When: AllSuccess,
			VerifyTimeout: 6e11, VerifyAttempts: 3, OnLost: Redo, OnLimit: Wake, Account: "command", Line: i}
		if i > 1 {
			n.DependsOn = []string{fmt.Sprint("n", i-2), fmt.Sprint("n", i-1)}
		}
		g.Nodes = append(g.Nodes, n)
	}
	text, err := g.Encode()
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		read func([]byte) error
	}{
		{"quick", func(t []byte) error {
			if !new(Graph).quick(t) {
				return fmt.Errorf("left to encoding/json")
			}
			return nil
		}},
		{"json", func(t []byte) error { return new(Graph).slow(t) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := way.read(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
