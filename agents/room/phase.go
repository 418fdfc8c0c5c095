package room

import (
	"fmt"
	"slices"
	"strings"
)

// Phase is where a room stands.
type Phase string

// The phases.
const (
	AtRest     Phase = "at rest"
	InGather   Phase = "gathering"
	InFirst    Phase = "first answers"
	InTalk     Phase = "talking"
	Waits      Phase = "waits"
	IsPaused   Phase = "paused"
	IsCapped   Phase = "capped"
	IsClosed   Phase = "closed"
	Cancelling Phase = "cancelling"
)

// Way is where a phase goes, and when.
type Way struct {
	To   Phase
	When string
}

// Phases says what each phase is, and where it goes from there. From every one the room
// closes when a person closes it, and where turns are under way it cancels them first.
var Phases = []struct {
	Phase Phase
	Is    string
	Ways  []Way
}{
	{AtRest, "Nothing is under way. No message wakes anybody.", []Way{
		{InGather, "a direct message, or one of a guest, wakes a member: more may follow it"},
		{InFirst, "the person writes to several members that are idle, and first answers are blind"},
		{InTalk, "a message of the person wakes members"},
		{Waits, "it wakes only members that cannot take a turn now"},
		{IsPaused, "a person pauses it"},
		{IsCapped, "a message wakes a member, and no budget has tokens for its turn, or only guests have kept the room going"},
	}},
	{InGather, "A message wakes a member, which begins with all that came for it half a second after the newest.", []Way{
		{InTalk, "it begins"},
		{InFirst, "the person writes to several members"},
		{Waits, "it cannot take a turn any more"},
		{AtRest, "it left, was skipped, or the message wakes nobody any more"},
		{IsPaused, "a person pauses it"},
		{IsCapped, "no budget has tokens for its turn, or only guests have kept the room going"},
	}},
	{InFirst, "Members answer the person, and none of them sees another's answer.", []Way{
		{InTalk, "all have answered, the person writes, or five minutes are over: the answers go to the others"},
		{AtRest, "all have passed, or nobody wakes by what was said: the round is settled"},
		{IsCapped, "all have answered, and turns or tokens are used up"},
		{Waits, "all have answered, and who wakes cannot take a turn now"},
		{InGather, "the first answers are over, and a member gathers"},
		{IsPaused, "a person pauses or stops it"},
		{Cancelling, "a person cancels the round"},
	}},
	{InTalk, "Members are in a turn.", []Way{
		{AtRest, "no turn is under way, and no message is left that wakes a member: the round is settled"},
		{InFirst, "the person writes to several members that are idle"},
		{InGather, "no turn is under way, and a member gathers what comes for it"},
		{Waits, "no turn is under way, and who wakes cannot take a turn now"},
		{IsCapped, "no turn is under way, and who wakes has used up its turns or the room its tokens"},
		{IsPaused, "a person pauses or stops it"},
		{Cancelling, "a person cancels the round"},
	}},
	{Waits, "A message wakes a member that is limited, needs input, is taken over or down.", []Way{
		{InTalk, "it is back"},
		{InFirst, "the person writes to several members that are idle"},
		{InGather, "it is back, and gathers"},
		{AtRest, "it was skipped or left: the round is settled"},
		{IsCapped, "it is back, and its turns or the room's tokens are used up"},
		{IsPaused, "a person pauses it"},
	}},
	{IsPaused, "No turn begins. What is under way ends.", []Way{
		{AtRest, "a person resumes it, and no message wakes a member"},
		{InGather, "a person resumes it, and a member gathers"},
		{InFirst, "a person resumes it, and first answers are collected"},
		{InTalk, "a person resumes it"},
		{Waits, "a person resumes it, and who wakes cannot take a turn now"},
		{IsCapped, "a person resumes it, and turns or tokens are used up"},
		{Cancelling, "a person cancels the round"},
	}},
	{IsCapped, "The round ended because its turns or tokens are used up. Nothing is lost.", []Way{
		{InTalk, "a person continues it, or writes"},
		{InFirst, "the person writes to several members"},
		{InGather, "the person writes to one member"},
		{Waits, "the same, and who wakes cannot take a turn now"},
		{AtRest, "a person continues it, and nobody wakes any more"},
		{IsPaused, "a person pauses it"},
	}},
	{Cancelling, "A person has cancelled the round, and its turns are broken off.", []Way{
		{AtRest, "their ends were seen"},
		{InTalk, "the same, and the person has written"},
		{InFirst, "the same, to several members"},
		{InGather, "the same, to one member"},
		{Waits, "the same, and who wakes cannot take a turn now"},
		{IsCapped, "the same, and no budget has tokens"},
		{IsPaused, "a person pauses it"},
	}},
	{IsClosed, "Its programs have ended. Everything is kept.", []Way{
		{AtRest, "a person reopens it"},
		{InTalk, "a person reopens it, and a message came in the meantime"},
		{InFirst, "the same, to several members"},
		{InGather, "the same, to one member"},
		{Waits, "the same, and who wakes cannot take a turn now"},
		{IsCapped, "the same, and no budget has tokens; or its round was capped"},
		{Cancelling, "a person reopens it, and its turns have not ended yet"},
	}},
}

// Phase is where the room stands.
func (s State) Phase() Phase {
	switch {
	case s.Closed:
		return IsClosed
	case s.Round.cancelling != "":
		return Cancelling
	case s.Paused:
		return IsPaused
	case s.Blind.On:
		return InFirst
	case len(s.Open) > 0:
		return InTalk
	}
	waits := false
	for i := range s.Members {
		who := &s.Members[i]
		if who.Guest || who.Gone || len(s.waking(who)) == 0 {
			continue
		}
		if m := (&move{State: s}); m.ready(who) && m.left(who) > 0 {
			return InGather
		}
		waits = true
	}
	switch {
	case waits && s.Round.On:
		return Waits
	case s.Round.State == Capped && !s.Round.On && !waits:
		return IsCapped
	case waits:
		return Waits
	}
	return AtRest
}

// Label says in a few words where the room stands, and on whom it waits.
func (s State) Label() string {
	phase := s.Phase()
	switch phase {
	case InTalk, InFirst:
		var names []string
		for _, t := range s.Open {
			names = append(names, t.Member)
		}
		if len(names) == 0 {
			return string(phase)
		}
		return fmt.Sprintf("%s (%s)", phase, strings.Join(names, ", "))
	case Waits:
		var all []string
		for i := range s.Members {
			who := &s.Members[i]
			if who.Guest || who.Gone || len(s.waking(who)) == 0 {
				continue
			}
			switch {
			case who.Fails >= mostFails:
				all = append(all, who.Name+" is down")
			case who.Stand.Is == Limited && !who.Stand.Until.IsZero():
				all = append(all, who.Name+" limited until "+who.Stand.Until.Format("15:04"))
			default:
				all = append(all, who.Name+" "+who.Stand.Is.String())
			}
		}
		return "waits (" + strings.Join(all, ", ") + ")"
	case IsCapped:
		return "capped: " + s.Round.Why
	case AtRest:
		if s.Round.N == 0 {
			return "new"
		}
		if !slices.Contains([]Mark{Began, ""}, s.Round.State) {
			return string(s.Round.State)
		}
	}
	return string(phase)
}
