package room

import "testing"

// What is said counts for a card only as the answer to a question about it: a room that was made
// again under the name of another one has other messages under the same numbers.
func TestCardSaid(t *testing.T) {
	ask := AskCard("t1", "ann", "card-t1-1", "You plan this card")
	ask.N = 1
	lines := []Line{
		ask,
		{N: 2, Kind: KindTurn, Turn: "t5", Member: "ann", Messages: []int64{1}},
		{N: 3, Kind: KindSaid, By: "ann", Turn: "t5", Text: "a plan"},
		{N: 4, Kind: KindSaid, By: "user", Text: "run this"},
		{N: 5, Kind: KindTurn, Turn: "t6", Member: "ann", Messages: []int64{4}},
		{N: 6, Kind: KindSaid, By: "ann", Turn: "t6", Text: "I did"},
	}
	for n := int64(-1); n < 9; n++ {
		if l := CardSaid(lines, "t1", n); (l != nil) != (n == 3) {
			t.Errorf("message %d: %+v", n, l)
		}
		if l := CardSaid(lines, "t2", n); l != nil {
			t.Errorf("message %d counts for another card", n)
		}
	}
}
