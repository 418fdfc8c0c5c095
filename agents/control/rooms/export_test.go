package rooms

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cmux/agents/room"
)

// What somebody said is a quotation whatever it is, and HTML in it is text, but for code.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"Hello":                               "> Hello\n",
		"## Round 9\n### user (r#1)":          "> ## Round 9\n> ### user (r#1)\n",
		"a\r\n\r\nb\n\n":                      "> a\n>\n> b\n",
		"```go\nif a < b && List<T> {\n":      "> ```go\n> if a < b && List<T> {\n",
		"```\n<b>\n```\n<i>":                  "> ```\n> <b>\n> ```\n> &lt;i>\n",
		"````\n```\n<b>\n````\n<i>":           "> ````\n> ```\n> <b>\n> ````\n> &lt;i>\n",
		"~~~\n```\n<b>\n   ~~~~ \n<i>":        "> ~~~\n> ```\n> <b>\n>    ~~~~\n> &lt;i>\n",
		"```\n<b>\n    ```\n<i>":              "> ```\n> <b>\n>     ```\n> <i>\n", // that closes nothing
		"``` a` <b>":                          "> ``` a` &lt;b>\n",                // no fence
		"a < b, <script>x</script> <!-- <?":   "> a < b, &lt;script>x&lt;/script> &lt;!-- &lt;?\n",
		"`List<T>` and ``a`<b>`` <i>":         "> `List<T>` and ``a`<b>`` &lt;i>\n",
		"`a\n` <b> `":                         "> `a\n> ` &lt;b> `\n", // the span ends at the second backtick
		"`a\n\n`<b>` <i>":                     "> `a\n>\n> `<b>` &lt;i>\n",
		"\\`<b>`":                             "> \\`&lt;b>`\n",
		"- ```\n  ```\n<b>\n```\n<i>":         "> - ```\n>   ```\n> &lt;b>\n> ```\n> &lt;i>\n", // a list's own code
		"text\n    ```\n<b>":                  "> text\n>     ```\n> &lt;b>\n",
		"<https://x.y> [a](javascript:run())": "> &lt;https://x.y> [a](javascript:run())\n",
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q:\n%q; want\n%q", text, got, want)
		}
	}
}

func TestExport(t *testing.T) {
	p := newRooms(t)
	b := p.made(t, "r")
	hostile := "```\n<script>x</script>\n### user (r#1)\n# Room other"
	const most = 3000
	_, _, err := b.Append(t.Context(), func([]room.Line) (all []room.Line, _ error) {
		set := room.Defaults()
		set.Topic = "## Sessions\n<img src=x>"
		all = append(all, room.Line{Kind: room.KindSet, Settings: &set}, room.Line{Kind: room.KindSaid, By: room.User, Text: hostile, Aside: "<b>doubt"}, room.Line{Kind: room.KindSaid, By: "ann", To: room.User, Text: strings.Repeat("long ", 20_000) + "end"})
		for i := range most {
			all = append(all, room.Line{Kind: room.KindSaid, By: room.User, Text: fmt.Sprintf("message %d of many", i)})
		}
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Export("r", Markdown)
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Room r\n\n> ## Sessions\n> &lt;img src=x>\n\n- ann: scripted\n\n### user (r#4)\n\n> ```\n> <script>x</script>\n> ### user (r#1)\n> # Room other\n\n*For the person alone:*\n\n> &lt;b>doubt\n\n### ann (r#5, to user alone)\n\n> long "; !strings.HasPrefix(text, want) {
		t.Errorf("%.400s; want\n%s", text, want)
	}
	if !strings.Contains(text, "long end\n") { // it is a file of its own
		t.Error("the long text is cut")
	}
	at := 0
	for i := range most {
		next := strings.Index(text[at:], fmt.Sprintf("\n> message %d of many\n", i))
		if next < 0 {
			t.Fatalf("message %d is not there", i)
		}
		at += next
	}
	if n := strings.Count(text, "\n### "); n != most+2 {
		t.Errorf("%d messages; want %d", n, most+2)
	}
	text, err = p.Export("r", JSON)
	if err != nil {
		t.Fatal(err)
	}
	facts := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(facts) != most+5 {
		t.Fatalf("%d facts; want %d", len(facts), most+5)
	}
	for i, fact := range facts {
		var l room.Line
		if err := json.Unmarshal([]byte(fact), &l); err != nil || l.N != int64(i+1) {
			t.Fatalf("fact %d: %v: %.200s", i+1, err, fact)
		}
		if i == 3 && l.Text != hostile {
			t.Errorf("%q", l.Text)
		}
	}
	if _, err := p.Export("r", "pdf"); err == nil {
		t.Error("a format that there is not")
	}
}
