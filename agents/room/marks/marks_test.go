package marks

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

var members = []string{"claude", "Ada", "Ada-L", "codex"}

// brief writes pieces on one line: kind=name(words) of those that are not text.
func brief(pieces []Piece) string {
	var all []string
	for _, p := range pieces {
		switch p.Kind {
		case Text:
			continue
		case Code:
			all = append(all, "code")
			continue
		}
		s := string(p.Kind) + "=" + p.Name + p.Mark
		if p.Words != "" {
			s += "(" + p.Words + ")"
		}
		if p.Alone {
			s += "!"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		// Who is meant.
		"@claude look":                   "mention=claude",
		"@CLAUDE, look":                  "mention=claude",
		"(@claude)":                      "mention=claude",
		"_@ada_":                         "mention=Ada",
		"@Ada-L and @ada":                "mention=Ada-L mention=Ada",
		"@ada-x":                         "mention=Ada",
		"@claude2, @claudeß, @cla, @eve": "",
		"@all":                           "mention=all",
		"me@claude, /@claude, @@claude":  "",
		"https://x.y/@claude":            "",
		"+1 claude":                      "agree=claude",
		"+1 @Claude, all of it":          "agree=claude",
		"a+1 claude, ++1 claude, +1claude, +12 claude, +1\nclaude": "",
		"+1 all": "",
		// What is handed over.
		"[HANDOFF:codex] check the tests. Then rest.":   "handoff=codex(check the tests)",
		"[HANDOFF: @CODEX] look at v1.2 of\nit, please": "handoff=codex(look at v1.2 of it, please)",
		"[HANDOFF:eve] look\n\nmore":                    "handoff=eve(look)",
		"[HANDOFF:codex] " + strings.Repeat("é", 120):   "handoff=codex(" + strings.Repeat("é", 100) + ")",
		"[HANDOFF:] x [HANDOFF:a b] y [handoff:codex]":  "",
		// How it stands.
		"[EXPLORE] the parser":              "status=EXPLORE",
		"[STATUS: running tests]":           "status=STATUS(running tests)!",
		"[STATUS: DONE]":                    "status=DONE!",
		"**[DONE]**.":                       "status=DONE!",
		"it is [DONE] now":                  "status=DONE",
		"[DECISION] we use\nSQLite\n\nnext": "status=DECISION(we use SQLite)",
		"[BLOCKED] no key":                  "status=BLOCKED(no key)",
		"- [TODO] one\n- [TODO] two":        "status=TODO(one) status=TODO(two)",
		"1. [TODO] one\n2. two":             "status=TODO(one)",
		"[QUESTION] why? [TODO] this":       "status=QUESTION(why?) status=TODO(this)",
		"[done] [DONE](x) \\[DONE] [DONE: x] [STATUS:] [STATUS] [X] [DO\nNE]": "",
		// What does not count.
		"`@claude` and @codex":                  "code mention=codex",
		"``a ` @claude``":                       "code",
		"a ` b @claude":                         "mention=claude",
		"` a\n\n@claude `":                      "mention=claude",
		"```\n@claude\n```\n@codex":             "code mention=codex",
		"~~~sh\n@claude":                        "code",
		"> ```\n> @claude\n> ```\n@codex":       "code mention=codex",
		"````\n```\n@claude\n```\n````\n@codex": "code mention=codex",
		"<Thinking>@claude</thinking> @codex":   "mention=codex",
		"<thinking>@claude":                     "",
		"[BLOCKED] no key `[DONE]` here":        "status=BLOCKED(no key `[DONE]` here) code",
		"":                                      "",
	} {
		pieces := Pieces(text, members)
		if got := brief(pieces); got != want {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
	}
	if got := brief(Pieces("@anybody, +1 eve [HANDOFF:x] y", nil)); got != "mention=anybody agree=eve handoff=x(y)" {
		t.Errorf("in no room: %s", got)
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]Answer{
		"[PASS]":                               {Pass: true},
		" **[pass].** \n":                      {Pass: true},
		"_[Pass]_.":                            {Pass: true},
		"<share>[PASS]</SHARE>":                {Tagged: true, Pass: true},
		"<Share>\n[PASS].\n</Share>\n[PASS]":   {Tagged: true, Pass: true},
		"I agree.\n\n[PASS]":                   {Pass: true, Aside: "I agree."},
		"I agree.\n<Share></Share>":            {Tagged: true, Pass: true, Aside: "I agree."},
		"I agree.\n<Share>[PASS]</Share>":      {Tagged: true, Pass: true, Aside: "I agree."},
		"":                                     {Pass: true},
		"[PASS] but":                           {Shared: "[PASS] but"},
		"`[PASS]`":                             {Shared: "`[PASS]`"},
		"```\n[PASS]\n```":                     {Shared: "```\n[PASS]\n```"},
		"<Share>a</Share>\n[PASS]":             {Tagged: true, Shared: "a", Aside: "[PASS]"},
		"one":                                  {Shared: "one"},
		"x <Share> one </Share> y <SHARE>two":  {Tagged: true, Shared: "one\n\ntwo", Aside: "x\n\ny"},
		"`<Share>` one":                        {Shared: "`<Share>` one"},
		"<Share>```\n</Share>\n```</Share>\nz": {Tagged: true, Shared: "```\n</Share>\n```", Aside: "z"},
		"<thinking><Share>no</Share></thinking>yes": {Shared: "<thinking><Share>no</Share></thinking>yes"},
		"a</Share>b": {Tagged: true, Pass: true, Aside: "a\n\nb"},
	} {
		got := Read(text, members, false)
		if got.Pieces = nil; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v\nwant %+v", text, got, want)
		}
	}
	if a := Read("one", members, true); !a.Pass || a.Shared != "" || a.Aside != "one" {
		t.Errorf("tagged: %+v", a)
	}
	a := Read("@ada and @Ada, +1 codex. [HANDOFF:claude] go on. [STATUS: at it] [DECISION] so", members, false)
	if !slices.Equal(a.Mentions(), []string{"Ada"}) || !slices.Equal(a.Agreements(), []string{"codex"}) ||
		!slices.Equal(a.Handoffs(), []Handed{{"claude", "go on"}}) || !slices.Equal(a.Statuses(), []string{"STATUS: at it", "DECISION"}) {
		t.Errorf("%+v", a)
	}
}

func TestOnlyAgrees(t *testing.T) {
	for text, want := range map[string]bool{
		"+1 claude": true, " +1 @claude, +1 codex.": true, "+1 claude but": false, "": false, "+1 claude `x`": false, "+1 eve": false,
	} {
		if got := OnlyAgrees(Pieces(text, members)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Every form of the table is read as a mark.
func TestTable(t *testing.T) {
	for _, m := range Table() {
		form := strings.NewReplacer("NAME", "claude").Replace(m.Form)
		a := Read(form, members, false)
		if marked := len(a.Pieces) > 0 && a.Pieces[0].Kind != Text; !marked && !a.Pass && a.Shared == form {
			t.Errorf("%s is read as text", m.Form)
		}
	}
}

// words makes texts of what the reader looks at.
func words() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"@", "claude", "all", "+1 ", "[HANDOFF:", "]", "[DONE]", "[PASS]", "[STATUS: ", "[DECISION] ", "`", "```", "~~~", "\n", "\n\n", " ", ".", "/",
			"<Share>", "</share>", "<thinking>", "</thinking>", "> ", "- ", "é", "\\", "\xff", "*", "(",
		}), 0, 30).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

// checkRead checks what holds for every text: the pieces together are what is shared, nothing
// is shared of one that passes, and of what is shared alone the same is read.
func checkRead(t interface{ Fatalf(string, ...any) }, text string) {
	var back strings.Builder
	for _, p := range Pieces(text, members) {
		if p.Text == "" {
			t.Fatalf("%q: an empty piece", text)
		}
		back.WriteString(p.Text)
	}
	if back.String() != text {
		t.Fatalf("%q: the pieces are %q", text, back.String())
	}
	a := Read(text, members, false)
	if a.Pass != (a.Shared == "") || a.Pass && len(a.Pieces) > 0 {
		t.Fatalf("%q: %+v", text, a)
	}
	for _, part := range strings.Fields(a.Shared + " " + a.Aside) {
		if !strings.Contains(text, part) {
			t.Fatalf("%q: %q is not in it", text, part)
		}
	}
}

func TestReadsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkRead(t, words().Draw(t, "text")) })
}

func FuzzRead(f *testing.F) {
	f.Add("@claude `x` [DECISION] y\n<Share>+1 codex</Share> [PASS]")
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, text) })
}
