package conversation

// Way is where a phase goes, and when.
type Way struct {
	To   Phase
	When string
}

// Phases says what each phase is, and where it goes from there. From every one
// the conversation closes when its node or run is cancelled or stopped, and
// where it is not judged already when a budget is used up; from every one with
// a program it goes to Halting when the agent is stuck.
var Phases = [phases]struct {
	Is   string
	Ways []Way
}{
	Preparing: {"Its program is not there yet.", []Way{
		{Working, "the program has started"},
		{Limited, "its account has a limit"},
		{Closing, "a person has decided meanwhile"},
	}},
	Working: {"The agent works, or a person in it. What was heard is acted on in this order: the program's end after an override, a report, the program's end, a limit, a failed call of the model, a question, what is to be handed over, the end of a turn. While a person has it only a report and the program's end count; when its node is overridden its report ends it.", []Way{
		{Settling, "it has reported that it is done"},
		{Asking, "it has reported that it cannot go on, asks a person, ended too many turns without a report, or the model refuses what it is asked"},
		{Handing, "something is to be handed over, and it is safe"},
		{AwaitingTurn, "the same, and the end of its turn will take it"},
		{Limiting, "it met a limit"},
		{BackingOff, "a call of the model failed"},
		{Examining, "its program has ended"},
		{Closing, "its node is overridden and it has reported, the model failed too often, or nobody is there to be asked"},
	}},
	Handing: {"Something is on its way to it: as the answer to the hook or the call that waits, else by its own way.", []Way{
		{Working, "it was taken, or a person, a question or the program's end came in between: then it is kept"},
		{Handing, "nobody waited for the answer any more: it goes another way"},
		{Hindered, "it is to be typed, and the screen is not safe: a person has begun a line, a dialog is open, the pane is in copy mode, or what it shows is not known"},
		{AwaitingTurn, "the same, and the end of its turn will take it"},
		{Regaining, "it was taken after a person had cleared the way"},
		{Parting, "the agent was told that its report is good, and will say when it has taken that in"},
		{Closing, "the agent was told that its report is good, or it took no message"},
	}},
	Hindered: {"What is to be typed waits until the screen shows an empty prompt, or the message itself in it. After ten seconds it needs input, and says what is in the way.", []Way{
		{Handing, "the screen is safe"},
		{Working, "it was taken after all, or a person or the program's end came in between: then it is kept"},
		{Regaining, "it was taken after all, and needed input"},
		{Closing, "it took no message"},
	}},
	AwaitingTurn: {"What is to be handed over waits for the end of the turn under way.", []Way{
		{Handing, "the turn has ended"},
		{Working, "a person, a question, a limit, a failed call or the program's end came in between: it is kept"},
	}},
	Asking: {"It waits for a person, without a slot.", []Way{
		{Regaining, "a person has answered, it goes on by itself, has reported, or its node is overridden"},
		{Working, "a person is at work in it, it met a limit, its program has ended, or another question can be answered from outside"},
		{Limited, "it asks whether to go on after a limit, and may"},
		{Closing, "nobody answered in time"},
	}},
	Limiting: {"It met a limit, and until when that lasts is being found out.", []Way{
		{Limited, "that is known"},
		{Asking, "that is known, and `on_limit: ask` has a person say whether it goes on"},
		{Closing, "the same, and nobody is there to be asked"},
	}},
	Limited: {"It waits for the end of a limit, without a slot.", []Way{
		{Regaining, "the limit is over, or it goes on before that"},
		{Working, "a person is at work in it, it met another limit, or its program has ended"},
	}},
	Regaining: {"It waits for a slot, as long as there is a runner to grant one.", []Way{
		{Working, "it has one, and nothing is to be handed over; or a limit or the program's end came first"},
		{Handing, "it has one: a person's words or the end of the limit are handed over"},
		{AwaitingTurn, "the same, and the end of its turn will take it"},
		{Preparing, "its program may start, or start again"},
		{Closing, "a program that has ended is not started again, as its node is overridden"},
	}},
	BackingOff: {"It waits to try a failed call of the model again.", []Way{
		{Handing, "the wait is over: it is sent on"},
		{AwaitingTurn, "the same, and the end of its turn will take it"},
		{Working, "something else came first"},
	}},
	Settling: {"It has reported, and its sub-agents still work: what they write belongs to what is judged.", []Way{
		{Judging, "they have ended"},
		{Handing, "it had not been told what a person had said: that comes first"},
		{AwaitingTurn, "the same, and the end of its turn will take it"},
		{Working, "the same, and a question is open"},
	}},
	Judging: {"It has reported, and whether that is so is being found out.", []Way{
		{Handing, "it is good, and the agent waits to be told; or what is not good, or what a person said, is handed over"},
		{AwaitingTurn, "what is handed over waits for the end of its turn"},
		{Working, "a person has told it something meanwhile, or a question is open: that comes first"},
		{Closing, "it is good, or failed for good"},
	}},
	Parting: {"Its report is good, and it is to take that in.", []Way{
		{Closing, "it has, its turn or its program has ended, or time is up"},
	}},
	Examining: {"Its program has ended without a report, and what is left is being found out.", []Way{
		{Left, "a person is to decide"},
		{Closing, "its node is overridden, nobody is there to decide, or its exit code was its report"},
	}},
	Halting: {"Its program is being ended, as it must not go on as it is.", []Way{
		{Left, "it has ended"},
		{Closing, "its node is overridden, or nobody is there to decide"},
	}},
	Left: {"Its program is gone, and a person is to decide.", []Way{
		{Regaining, "it is to go on in its conversation"},
		{Closing, "its node is overridden, or nobody decided in time"},
	}},
	Closing: {"The conversation is over.", nil},
}
