// Package acp are the kinds of agent that run a program which speaks the Agent
// Client Protocol on its standard input and output: Qwen Code, OpenCode and
// Gemini CLI by name, any other by its command.
//
// In a pane a person sees what the agent says and does as lines of text. A line
// typed there is a prompt of theirs and takes the agent over, ^C breaks its turn
// off, ^D ends it.
//
// A call of a tool is judged by package guard when the program asks leave for
// it, which it is told to do before commands and edits. What its own settings
// let it do without asking is not seen beforehand. The protocol knows no text
// for a turn that runs, and none to a refusal: both are said when it has ended.
package acp
