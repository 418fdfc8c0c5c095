package rooms

import "cmux/agents/room"

// Change are settings of which some are given. What is missing stays.
type Change struct {
	Topic     *string       `json:"topic,omitempty" maxLength:"10000" doc:"What the room is about"`
	Policy    *room.Policy  `json:"policy,omitempty" doc:"Who answers whom"`
	Blind     *bool         `json:"blind,omitempty" doc:"Members answer first without reading the answers of others"`
	Turns     *int          `json:"turns,omitempty" minimum:"1" doc:"Turns of a member in a round, since your last message"`
	Tokens    *TokensOver   `json:"tokens,omitempty" doc:"Budgets"`
	Tagged    *bool         `json:"tagged,omitempty" doc:"Share only what stands in <Share>"`
	Moderator *string       `json:"moderator,omitempty" doc:"Member, for the policy moderator"`
	Judge     *string       `json:"judge,omitempty" doc:"Member, for the policy debate"`
	Decide    *string       `json:"decide,omitempty" enum:"moderator," doc:"Who decides on proposals; empty: you"`
	Rebuttals *int          `json:"rebuttals,omitempty" minimum:"0" doc:"Answers to the positions of a debate"`
	Timeouts  *TimeoutsOver `json:"timeouts,omitempty"`
	Dir       *string       `json:"dir,omitempty" doc:"Folder in the project; empty: its root"`
	About     *string       `json:"about,omitempty" maxLength:"200" doc:"node:NAME, task:ID or merge:ID, whose facts a member gets when it begins; empty: nothing that exists"`
}

// TokensOver are budgets of which some are given; 0 is none.
type TokensOver struct {
	Round *int64 `json:"round,omitempty" minimum:"0" doc:"Tokens that a round may use"`
	Day   *int64 `json:"day,omitempty" minimum:"0" doc:"Tokens that the room may use in a day"`
}

// TimeoutsOver are timeouts of which some are given, in seconds; 0 is none.
type TimeoutsOver struct {
	Idle  *int  `json:"idle,omitempty" minimum:"0" doc:"Seconds of a turn without any event, output or file change"`
	Parse *int  `json:"parse,omitempty" minimum:"0" doc:"Seconds that a turn works, without limits and questions"`
	Send  *int  `json:"send,omitempty" minimum:"0" doc:"Seconds from the begin of a turn until its program has it"`
	Hard  *int  `json:"hard,omitempty" minimum:"0" doc:"Seconds of a turn"`
	Stops *bool `json:"stops,omitempty" doc:"Interrupt a turn at parse, without a question"`
}

// Over returns the settings s with what c gives.
func (c *Change) Over(s room.Settings) room.Settings {
	give(&s.Topic, c.Topic)
	give(&s.Policy, c.Policy)
	give(&s.Blind, c.Blind)
	give(&s.Turns, c.Turns)
	give(&s.Tagged, c.Tagged)
	give(&s.Moderator, c.Moderator)
	give(&s.Judge, c.Judge)
	give(&s.Decide, c.Decide)
	give(&s.Rebuttals, c.Rebuttals)
	give(&s.Dir, c.Dir)
	give(&s.About, c.About)
	if t := c.Tokens; t != nil {
		give(&s.Tokens.Round, t.Round)
		give(&s.Tokens.Day, t.Day)
	}
	if t := c.Timeouts; t != nil {
		give(&s.Timeouts.Idle, t.Idle)
		give(&s.Timeouts.Parse, t.Parse)
		give(&s.Timeouts.Send, t.Send)
		give(&s.Timeouts.Hard, t.Hard)
		give(&s.Timeouts.Stops, t.Stops)
	}
	return s
}

func give[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
