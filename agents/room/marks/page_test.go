package marks

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"cmux/agents/testkit/agenttest/golden"
)

// TestPage holds the page's list of marks against the table.
func TestPage(t *testing.T) {
	const path = "../../../web/src/rooms/marks.gen.ts"
	var b strings.Builder
	b.WriteString("// The marks of rooms: made by go test ./agents/room/marks -run TestPage -update\n\n")
	b.WriteString("export interface Mark {\n  label: string; // as it is written\n  tone: \"info\" | \"ok\" | \"warn\" | \"bad\";\n  help: string; // what it does, a clause\n}\n\n")
	b.WriteString("export const marks: readonly Mark[] = [\n")
	quoted := func(s string) string {
		var out strings.Builder
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	for _, m := range Table() {
		fmt.Fprintf(&b, "  { label: %s, tone: %s, help: %s },\n", quoted(m.Form), quoted(m.Tone), quoted(m.Help))
	}
	b.WriteString("];\n")
	if golden.Updates() {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(is) != b.String() {
		t.Fatalf("%s is not what the table says; go test ./agents/room/marks -run TestPage -update rewrites it", path)
	}
}
