package conversation

// Way is where a phase goes, and when.
type Way struct {
	To   Phase
	When string
}

// Phases says what each phase is, and where it goes from there. From every one
// the conversation closes when its node or run is cancelled or stopped, and
// where it is not judged already when a budget is used up; from every one with
// a program it goes to Halting when the agent is stuck. Where one that stays
// would close for another reason than an order, it goes to Tallying, or without a
// piece of work asks a person.
var Phases = [phases]struct {
	Is   string
	Ways []Way
}{
	Preparing: {"The program has not started yet.", []Way{
		{Working, "the program has started"},
		{Limited, "its account has a limit"},
		{Reviving, "it stays, and its program could not be started: that is tried again"},
		{Left, "its program had ended before its wrapper was started again, or could not be started too often: a person must decide"},
		{Closing, "a person has decided in the meantime, or nobody can decide"},
	}},
	Working: {"The agent works, or a person works in it. Events are handled in this order: the program's end after an override, a report, the program's end, a limit, a failed call of the model, a question, a pending message, the end of a turn. While a person has it only a report and the program's end count; when its node is overridden its report ends it.", []Way{
		{Settling, "it has reported that it is done"},
		{Asking, "it has reported that it is blocked, asks a person, ended too many turns without a report, or the model refuses the request"},
		{Handing, "a message is pending, and it is safe to send"},
		{AwaitingTurn, "the same, and the end of its turn will deliver it"},
		{Limiting, "it reached a limit"},
		{BackingOff, "a call of the model failed"},
		{Examining, "its program has ended"},
		{Closing, "its node is overridden and it has reported, the model failed too often, or nobody can be asked"},
		{Tallying, "it stays, and its work is over: it failed, was taken back, or the agent cannot continue it"},
		{Resting, "it stays, its turn has ended, and there is nothing to do"},
	}},
	Handing: {"A message is on its way: as the answer to a waiting hook or call, else through the kind's own way.", []Way{
		{Working, "it was delivered, or a person, a question or the program's end came first: then it stays pending"},
		{Handing, "nothing waits for the answer any more: it goes another way"},
		{Hindered, "it must be typed, and the screen is not safe: a person has begun a line, a dialog is open, the pane is in copy mode, or the screen is unknown"},
		{AwaitingTurn, "the same, and the end of its turn will deliver it"},
		{Regaining, "it was delivered after a person had cleared the screen"},
		{Parting, "the agent was told that its report is accepted, and will confirm this"},
		{Closing, "the agent was told that its report is accepted, or it accepts no messages"},
		{Tallying, "it stays, and was told that its report is accepted, or its work cannot be begun"},
		{Halting, "it stays, and accepts no messages"},
		{Asking, "it answers a question, which a dialog of the program keeps it from: that question is open again; or it stays, has no work, and what it was handed cannot be handed over"},
	}},
	Hindered: {"The message waits until the screen shows an empty prompt, or a prompt with the message in it. After ten seconds it needs input, and says what is in the way.", []Way{
		{Handing, "the screen is safe"},
		{Working, "it was delivered after all, or a person or the program's end came first: then it stays pending"},
		{Regaining, "it was delivered after all, and needed input"},
		{Closing, "it accepts no messages"},
		{Halting, "it stays, and accepts no messages"},
		{Tallying, "it stays, and it cannot continue its work"},
		{Asking, "a dialog of the program keeps an answer from its question, which is open again; or it stays, and what it was handed without work cannot be handed over"},
	}},
	AwaitingTurn: {"The message waits for the end of the current turn.", []Way{
		{Handing, "the turn has ended"},
		{Working, "a person, a question, a limit, a failed call or the program's end came first: the message stays pending"},
	}},
	Asking: {"It waits for a person, without a slot.", []Way{
		{Regaining, "a person has answered, it continues by itself, has reported, or its node is overridden"},
		{Working, "a person works in it, it reached a limit, its program has ended, or another question can be answered from outside"},
		{Limited, "it asks whether to continue after a limit, and may"},
		{Closing, "nobody answered in time"},
	}},
	Limiting: {"It reached a limit, and cmux finds out how long that lasts.", []Way{
		{Limited, "that is known"},
		{Asking, "that is known, and with `on_limit: ask` a person decides whether it continues"},
		{Closing, "the same, and nobody can be asked"},
	}},
	Limited: {"It waits for the end of a limit, without a slot.", []Way{
		{Regaining, "the limit has ended, or it continues before that"},
		{Working, "a person works in it, it reached another limit, or its program has ended"},
	}},
	Regaining: {"It waits for a slot, as long as there is a runner to grant one.", []Way{
		{Working, "it has one, and no message is pending; or a limit or the program's end came first"},
		{Handing, "it has one, and gets a person's words or the end of the limit"},
		{AwaitingTurn, "the same, and the end of its turn will deliver it"},
		{Preparing, "its program may start, or start again"},
		{Closing, "its program has ended, and does not start again because its node is overridden"},
	}},
	BackingOff: {"It waits to try a failed call of the model again.", []Way{
		{Handing, "the wait is over: it is told to continue"},
		{AwaitingTurn, "the same, and the end of its turn will deliver it"},
		{Working, "something else came first"},
	}},
	Settling: {"It has reported, and its sub-agents still work: their work is part of what cmux examines.", []Way{
		{Judging, "they have ended"},
		{Handing, "a message of a person is pending: that comes first"},
		{AwaitingTurn, "the same, and the end of its turn will deliver it"},
		{Working, "the same, and a question is open"},
	}},
	Judging: {"It has reported, and cmux examines its work.", []Way{
		{Handing, "it is accepted, and the agent waits to be told; or problems, or a person's words, go to the agent"},
		{AwaitingTurn, "the message waits for the end of its turn"},
		{Working, "a person has told it something in the meantime, or a question is open: that comes first"},
		{Closing, "it is accepted, or failed for good"},
		{Tallying, "it stays, and its work is accepted, or failed for good"},
	}},
	Parting: {"Its report is accepted, and cmux waits until the agent knows.", []Way{
		{Closing, "it knows, its turn or its program has ended, or time is up"},
		{Tallying, "the same, and it stays"},
	}},
	Examining: {"Its program has ended without a report, and cmux examines what it left.", []Way{
		{Left, "a person must decide"},
		{Preparing, "it refused its conversation: it begins a new one"},
		{Closing, "its node is overridden, nobody can decide, or its exit code was its report"},
		{Reviving, "it stays: its program starts again"},
	}},
	Halting: {"cmux ends its program, because it must not continue as it is.", []Way{
		{Left, "it has ended"},
		{Closing, "its node is overridden, or nobody can decide"},
		{Reviving, "it stays: its program starts again"},
	}},
	Left: {"Its program is gone, and a person must decide.", []Way{
		{Regaining, "it continues its conversation"},
		{Closing, "its node is overridden, or nobody decided in time"},
	}},
	Resting: {"A standing agent is at its prompt, and waits for work, a message or a person.", []Way{
		{Working, "a message or work is pending, a person has typed, or anything else happens"},
		{Closing, "it is ended"},
	}},
	Reviving: {"The program of a standing agent has ended, and starts again in a moment.", []Way{
		{Preparing, "the moment is over"},
	}},
	Tallying: {"The work of a standing agent is over, and cmux records how it ended.", []Way{
		{Working, "that is recorded"},
		{Halting, "the same, and the agent is stuck"},
	}},
	Closing: {"The conversation is over.", nil},
}
