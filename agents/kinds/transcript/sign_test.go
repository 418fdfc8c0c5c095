package transcript_test

import (
	"reflect"
	"testing"

	"cmux/agents/kinds/transcript"
)

// Lines as the real program writes them, shortened.
func TestSigns(t *testing.T) {
	for line, want := range map[string][]transcript.Sign{
		`{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}`:   {{What: transcript.Answered}, {What: transcript.Called, Tool: "Bash", ID: "t1"}},
		`{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`:                        nil,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok","is_error":false}]}}`:                                     {{What: transcript.Ran, ID: "t1", Text: "ok"}},
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 1\nx","is_error":true}]}}`:                          {{What: transcript.Ran, ID: "t1", Text: "Exit code 1\nx"}},
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"<tool_use_error>no</tool_use_error>","is_error":true}]}}`:     {{What: transcript.NotRun, ID: "t1", Text: "<tool_use_error>no</tool_use_error>"}},
		`{"type":"user","message":{"role":"user","content":"do it"}}`:                                                                                           {{What: transcript.Read, Text: "do it"}},
		`{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"before"}}`:                                                                  nil,
		`{"type":"attachment","attachment":{"type":"queued_command","prompt":"and this"}}`:                                                                      {{What: transcript.Read, Text: "and this"}},
		`{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"and this"}]}}`:                                             {{What: transcript.Read, Text: "and this"}},
		`{"type":"attachment","attachment":{"type":"hook_additional_context","content":["[a] b (message m1)","c"],"hookEvent":"PostToolUse"}}`:                  {{What: transcript.Carried, Text: "[a] b (message m1)\nc"}},
		`{"type":"attachment","isSidechain":true,"attachment":{"type":"hook_additional_context","content":["x"]}}`:                                              nil,
		`{"type":"attachment","attachment":{"type":"other","prompt":7}}`:                                                                                        nil,
		`{"type":"queue-operation","operation":"enqueue","content":"and this"}`:                                                                                 {{What: transcript.Queued, Text: "and this"}},
		`{"type":"queue-operation","operation":"remove","content":"and this","reason":"absorbed_mid_turn"}`:                                                     {{What: transcript.Unqueued, Text: "and this"}},
		`{"type":"queue-operation","operation":"dequeue"}`:                                                                                                      {{What: transcript.Unqueued}},
		`{"type":"system","subtype":"turn_duration","durationMs":5}`:                                                                                            {{What: transcript.TurnOver}},
		`{"type":"system","subtype":"informational","content":"UserPromptSubmit operation blocked by hook:\n[sh x]: not today\n\n\nOriginal prompt: do it"}`:    {{What: transcript.PromptRefused, Text: "[sh x]: not today", Said: "do it"}},
		`{"type":"system","subtype":"informational","content":"Operation stopped by hook: not now","promptSubmitEnding":{"ending":{"kind":"stopped_by_hook"}}}`: {{What: transcript.PromptRefused, Text: "not now"}},
		`{"type":"system","subtype":"informational","content":"Operation stopped by hook: after a tool"}`:                                                       nil,
		`{"type":"system","subtype":"informational","content":"something else"}`:                                                                                nil,
	} {
		got, err := transcript.ParseLine([]byte(line))
		if err != nil || !reflect.DeepEqual(got.Signs, want) {
			t.Errorf("%s\n%+v, %v\nwant %+v", line, got.Signs, err, want)
		}
	}
}
