package marks

import (
	"testing"
	"unicode/utf8"
)

func TestReadVote(t *testing.T) {
	for text, want := range map[string]Vote{
		"AGREE":                        {Side: For},
		"**Agree.**":                   {Side: For, Why: ""},
		"I agree: it is simple.":       {Side: For, Why: "it is simple."},
		"+1 bob":                       {Side: For, Why: "bob"},
		"[AGREE] but pin it":           {Side: For, Why: "but pin it"},
		"Agreed, with a test":          {Side: For, Why: "with a test"},
		"DISSENT: two programs write.": {Side: Against, Why: "two programs write."},
		"I disagree — locks.\nNot examined: Windows": {Side: Against, Why: "locks.", Unseen: "Windows"},
		"**Not examined:** load\nAGREE":              {Side: For, Unseen: "load"},
		"I do not agree":                             {Side: Unclear, Why: "I do not agree"},
		"Agreement is nice":                          {Side: Unclear, Why: "Agreement is nice"},
		"+10 points":                                 {Side: Unclear, Why: "+10 points"},
		"":                                           {Side: Unclear},
		"not examined: all of it":                    {Side: Unclear, Unseen: "all of it"},
	} {
		if got := ReadVote(text); got != want {
			t.Errorf("%q reads as %+v, and not %+v", text, got, want)
		}
	}
}

func FuzzReadVote(f *testing.F) {
	f.Add("I disagree — locks.\nNot examined: Windows")
	f.Fuzz(func(t *testing.T, text string) {
		v := ReadVote(text)
		if utf8.ValidString(text) && !(utf8.ValidString(v.Why) && utf8.ValidString(v.Unseen)) {
			t.Errorf("%q reads as %+q", text, v)
		}
		if len(v.Why)+len(v.Unseen) > len(text) {
			t.Errorf("%q says more than it did: %+q", text, v)
		}
	})
}
