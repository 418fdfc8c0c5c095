package commands

import (
	"testing"

	"cmux/agents/kinds/question"
)

func TestIsOption(t *testing.T) {
	two := question.New("Which one?", "Red: like fire", "Blue")
	pair := question.Question{Parts: append(two.Parts, two.Parts...)}
	for _, c := range []struct {
		question question.Question
		answer   string
		ok       bool
	}{
		{two, "1", true},
		{two, " 2\n", true},
		{two, "3", false},
		{two, "0", false},
		{two, "-1", false},
		{two, "Blue", true},
		{question.New("How many?", "10", "20"), "20", true},
		{question.New("How many?", "10: a few", "20: many"), "20", true},
		{question.New("How many?", "10", "20"), "30", false},
		{two, "3 of them", true},
		{question.New("blocked: how many pages?"), "20", true},
		{question.Question{Parts: []question.Part{{Text: "Which one?", Options: []string{"Red"}}, {Text: "How many?"}}}, "7", true},
		{pair, "7\n2", false},
		{pair, "2\n3", false},
		{pair, "2\n 1 ", true},
		{pair, "Red\n2", true},
		{pair, "2", true},
		{pair, "7", false},
		{pair, "7\n2\n1", true},
	} {
		if err := isOption(c.question, c.answer); (err == nil) != c.ok {
			t.Errorf("%q to %s: %v", c.answer, c.question, err)
		}
	}
}
