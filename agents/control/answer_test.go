package control

import (
	"reflect"
	"testing"
	"time"
)

func TestIsOption(t *testing.T) {
	const two = "Which one?\n  1. Red: like fire\n  2. Blue"
	for _, c := range []struct {
		question, answer string
		ok               bool
	}{
		{two, "1", true},
		{two, " 2\n", true},
		{two, "3", false},
		{two, "0", false},
		{two, "-1", false},
		{two, "Blue", true},
		{two, "3 of them", true},
		{"blocked: how many pages?", "20", true},
		{"(1 of 2) Which one?\n  1. Red\n(2 of 2) How many?", "7", true},
	} {
		if err := isOption(c.question, c.answer); (err == nil) != c.ok {
			t.Errorf("%q to %q: %v", c.answer, c.question, err)
		}
	}
}

func TestQuestionAndAnswer(t *testing.T) {
	s := begun(t, chain)
	_, err := s.Question(t.Context(), "look")
	refused(t, err, "look is a gate", "cmux agents approve look")
	_, err = s.Answer(t.Context(), Answer{Node: "api", Text: "x"})
	refused(t, err, "api is not running (ready)", "")

	s.record(started("api"))
	_, err = s.Question(t.Context(), "api")
	refused(t, err, "api asks nothing (running)", "cmux agents answer api TEXT, which tells it something all the same")
	if got, err := s.Answer(t.Context(), Answer{Node: "api", Text: "mind the gap"}); err != nil || got.Asked {
		t.Errorf("%+v, %v", got, err)
	}

	s.record(asking("api", "Which one?\n  1. Red\n  2. Blue"))
	s.clock(4 * time.Second)
	q, err := s.Question(t.Context(), "api")
	if want := (&Question{Node: "api", Text: "Which one?\n  1. Red\n  2. Blue", Parts: []Part{{"Which one?", []string{"Red", "Blue"}}}, Age: 4 * time.Second}); err != nil || !reflect.DeepEqual(q, want) {
		t.Errorf("%+v, %v; want %+v", q, err, want)
	}
	_, err = s.Answer(t.Context(), Answer{Node: "api", Text: "3"})
	refused(t, err, "there is no option 3: the question has 2 options", "")
	_, err = s.Answer(t.Context(), Answer{Node: "api", Text: " "})
	refused(t, err, "the answer is empty", "")
	if got, err := s.Answer(t.Context(), Answer{Node: "api", Text: "2"}); err != nil || !got.Asked {
		t.Errorf("%+v, %v", got, err)
	}
	if got := s.pending(); got != "answer api, answer api" {
		t.Errorf("left for the runner: %s", got)
	}
}

func TestParts(t *testing.T) {
	for question, want := range map[string][]Part{
		"":                  {{}},
		"blocked: why?":     {{Text: "blocked: why?"}},
		"Which?\n  1. A: a": {{"Which?", []string{"A: a"}}},
		"Which\n\nof these?\n  1. A\n  3. B\n  2. C":                    {{"Which\n\nof these?\n  3. B", []string{"A", "C"}}},
		"(1 of 2) Which?\n  1. A\n  2. B\n(2 of 2) How many?\n  1. One": {{"Which?", []string{"A", "B"}}, {"How many?", []string{"One"}}},
		"(1 of 3) Cut": {{Text: "Cut"}, {}, {}},
	} {
		if got := parts(question); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}
