package attempt

import (
	"cmp"
	"strings"

	"cmux/agents/records/mail"
	"cmux/agents/runs/conversation"
)

// maxReply bounds what is recorded of what a turn said.
const maxReply = 256 << 10

// looksRead finds out, where the owner wants replies, which messages the agent has read in
// a turn that ends now.
func looksRead(a *attempt) error {
	unsure := a.Unsure()
	if !a.spec.Terms.Replies || len(unsure) == 0 {
		return nil
	}
	for _, id := range a.lookBack(a.ctx, a.agent, unsure) {
		if err := a.feed(conversation.Seen{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// lastTurn returns the last turn that the agent's conversation holds, and whether it is
// over. The turn is empty if it is not over or said nothing.
func lastTurn(a *attempt) (turn conversation.Recalled, over bool) {
	given, said, over := a.kind.LastTurn(a.stage.Env, cmp.Or(a.end.Conversation, a.spec.Conversation))
	if over && said != "" {
		turn = conversation.Recalled{IDs: mail.Seen(strings.Join(given, "\n")), Said: said}
	}
	return turn, over
}

// recallReply looks, where the owner wants replies, at the last turn before the program
// starts: the program or the wrapper may have been lost between the end of a turn and its
// record. If that turn is over, its text is the missing reply. If it is not, the program is
// told to go on.
func recallReply(a *attempt) error {
	if !a.spec.Terms.Replies || a.kind.LastTurn == nil || a.spec.Dropped {
		return nil
	}
	var over bool
	a.recalled, over = lastTurn(a)
	if err := a.feed(a.recalled); err != nil {
		return err
	}
	if len(a.Answers) > 0 || !over {
		a.Midway = true
	}
	return nil
}

// hands passes a message to the conversation. If an earlier life got the message, its turn
// may be over: when the program started, or since.
func hands(a *attempt, tell conversation.Tell) error {
	if err := a.feed(tell); err != nil || !tell.Has {
		return err
	}
	if err := a.feed(a.recalled); err != nil || len(a.Answers) == 0 || a.Phase != conversation.Resting || a.kind.LastTurn == nil {
		return err
	}
	turn, _ := lastTurn(a)
	return a.feed(turn)
}
