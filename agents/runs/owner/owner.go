// Package owner states how an agent differs from others, in the words of its owner: the
// runner, the organization or whoever else starts attempts. Conversation, attempt and
// wrapper act on these Terms. They do not ask whether the agent is a node, a worker or a
// supervisor.
package owner

import "cmux/agents/kinds/rights"

// Terms are what the owner of an agent asks of it, and what it lets the agent do.
type Terms struct {
	Stays      bool          `json:"stays,omitempty"`      // it is given one piece of work after the other, and messages in between
	Keeps      bool          `json:"keeps,omitempty"`      // it must commit or write down what it does, also without a task
	Replies    bool          `json:"replies,omitempty"`    // what each of its turns said is recorded before anything else is said to it
	Unattended bool          `json:"unattended,omitempty"` // nobody answers its questions
	Journals   bool          `json:"journals,omitempty"`   // a compaction of its conversation gets an entry in the journal
	Automatic  bool          `json:"automatic,omitempty"`  // its program decides itself what is safe
	Sits       bool          `json:"sits,omitempty"`       // it takes one of the person's places for agents (max_agents) while it works
	Group      string        `json:"group,omitempty"`      // of the commands by which a person reaches it: agents, workers
	Asks       string        `json:"asks,omitempty"`       // address for its questions, where its task names none; empty: they go to the person in front of it
	Documents  []string      `json:"documents,omitempty"`  // files that it is told to read; a name that ends in / is a folder
	Rights     rights.Holder `json:"rights,omitzero"`
}
