package stage

import (
	"reflect"
	"testing"
)

// What Words writes is read back, whatever the paths and the program's arguments are.
func TestParse(t *testing.T) {
	want := Plan{Hide: []string{"/a", "/-"}, Show: []string{"/a/b"}, Own: []string{"/c"}, Plain: []string{"/d"}, Copies: []string{"/f"}, Env: []string{"LD_X=1", "-"}, Ruleset: "3", Powers: true, Terminals: true}
	argv := []string{"x", "-", "h", ""}
	words := want.Words("/bin/x", argv)
	got, path, args, ok := parse(words[1:])
	if !ok || words[0] != Name || path != "/bin/x" || !reflect.DeepEqual(args, argv) || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %q, %q, %v", got, path, args, ok)
	}
	for _, bad := range [][]string{nil, {"-"}, {""}, {"x/a", "-", ""}, {"h/a"}} {
		if _, _, _, ok := parse(bad); ok {
			t.Errorf("%q is a command line of the stage", bad)
		}
	}
}
