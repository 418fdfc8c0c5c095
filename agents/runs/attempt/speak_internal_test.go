package attempt

import (
	"testing"

	"cmux/agents/kinds/question"
)

// An answer says who answers, and which question.
func TestReply(t *testing.T) {
	const head = `<message from="user" subject="re: Which color?" re="m7">` + "\n"
	color := question.New("Which color?\nIt is for the door.", "red", "blue: like the sea")
	two := color
	two.Parts = append(two.Parts, question.Part{Text: "Which size?", Options: []string{"S", "L"}})
	for _, c := range []struct {
		q          question.Question
		said, want string
	}{
		{color, "green", "> green\n"},
		{color, "2", "> blue: like the sea\n"},
		{color, "</message>\nno", "> </message>\n> no\n"},
		{two, "1\n2", "> Which color?\n> It is for the door.: red\n> Which size?: L\n"},
		{two, "as you like", "> as you like\n"},
	} {
		c.q.Message = "m7"
		if got := reply(&question.Posed{Question: c.q, To: "user"}, c.said); got != head+c.want+"</message>" {
			t.Errorf("%q:\n%s", c.said, got)
		}
	}
}
