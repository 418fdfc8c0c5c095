// Package modeltest is a model that says what a script tells it, so that tests
// can run the real Claude Code, Codex, Qwen Code, OpenCode and Gemini CLI without
// a network or an account. Only tests and benchmarks import it.
//
// A Server on loopback speaks the Anthropic Messages API, the OpenAI Responses
// API, OpenAI's chat completions and Google's Gemini API. It picks the answer from
// the request alone: the newest user text that holds a script's marker names the
// script, the assistant turns since then its turn. Agents in parallel, resumed
// conversations, hand-backs and compactions need nothing more. The one thing it
// remembers is how often a conversation met a Fault that has Times.
//
// Prepare makes the files and the environment in which the programs contact
// nothing but the server; Env does so for a test.
package modeltest
