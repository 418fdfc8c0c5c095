package transcript_test

import (
	"fmt"
	"testing"
	"time"

	"cmux/agents/kinds/transcript"
	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestClassify(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 12, 30, 14, 20, 0, 0, berlin) // 13:20 UTC
	for _, c := range []struct {
		text  string
		cause transcript.Cause
		until string // RFC 3339 in UTC; empty: no time
	}{
		{"Claude AI usage limit reached|1767103200", transcript.Limit, "2025-12-30T14:00:00Z"},
		{"Claude AI usage limit reached|1767103200000", transcript.Limit, "2025-12-30T14:00:00Z"},
		{"Claude AI usage limit reached|1735689600", transcript.Limit, ""}, // long over
		{"Claude AI usage limit reached|9999999999", transcript.Limit, ""}, // too far off
		{"You've hit your limit · resets 3pm", transcript.Limit, "2025-12-30T14:00:00Z"},
		{"You've hit your session limit · resets 3:30pm (Europe/Berlin)", transcript.Limit, "2025-12-30T14:30:00Z"},
		{"You've hit your limit · resets 10pm (America/New_York)", transcript.Limit, "2025-12-31T03:00:00Z"},
		{"Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).", transcript.Limit, "2025-12-30T18:00:00Z"},
		{"Claude usage limit reached. Your limit will reset at 9am (America/Chicago).", transcript.Limit, "2025-12-30T15:00:00Z"},
		{"5-hour limit reached ∙ resets 2pm", transcript.Limit, "2025-12-31T13:00:00Z"},     // today's is over
		{"You've hit your limit · resets 2:15pm", transcript.Limit, "2025-12-30T13:21:00Z"}, // just over: shortly
		{"You've hit your limit · resets 12am", transcript.Limit, "2025-12-30T23:00:00Z"},   // midnight
		{"You've hit your limit · resets 12pm", transcript.Limit, "2025-12-31T11:00:00Z"},   // noon
		{"You've hit your limit · resets 3pm (Nowhere/None)", transcript.Limit, ""},         // unknown zone
		{"You've hit your limit · resets 13pm", transcript.Limit, ""},                       // no time
		{"You've hit your weekly limit · resets Jan 2, 9am (UTC)", transcript.Limit, "2026-01-02T09:00:00Z"},
		{"You've hit your Opus limit · resets Jan 2 at 9:05am", transcript.Limit, "2026-01-02T08:05:00Z"},
		{"You've hit your monthly spend limit · your weekly limit resets Dec 31 at 14:30 UTC", transcript.Limit, "2025-12-31T14:30:00Z"},
		{"spend limit reached · resets Jan 1", transcript.Limit, "2025-12-31T23:00:00Z"},
		{"You're out of extra usage · resets\u00a01pm (America/Los_Angeles)", transcript.Limit, "2025-12-30T21:00:00Z"},
		{"You’ve hit your limit for Claude messages. Limits will reset at 9:30 PM.", transcript.Limit, "2025-12-30T20:30:00Z"},
		{"You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 2 days 17 hours 14 minutes.", transcript.Limit, "2026-01-02T06:34:00Z"},
		{"You've hit your usage limit. … or try again at 6:44 PM.", transcript.Limit, "2025-12-30T17:44:00Z"},
		{"You've hit your usage limit. Try again at Jan 3rd, 2026 6:44 PM.", transcript.Limit, "2026-01-03T17:44:00Z"},
		{"Weekly limit reached (resets 16:21 on 2 Jan)", transcript.Limit, "2026-01-02T15:21:00Z"},
		{"You've hit your usage limit. Upgrade to Pro, or wait for limits to reset (every 5h and every week.).", transcript.Limit, ""},
		{`API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account's rate limit. Please try again later."}}`, transcript.Limit, ""},
		{"Rate limit reached for gpt-5. Please try again in 1.5s.", transcript.Limit, "2025-12-30T13:20:01Z"},
		{"exceeded retry limit, last status: 429 Too Many Requests; retry-after: 90", transcript.Limit, "2025-12-30T13:21:30Z"},
		{"429 too many requests retry-after-ms: 2000", transcript.Limit, "2025-12-30T13:20:02Z"},
		{"HTTP 429; Retry-After: Tue, 30 Dec 2025 14:00:00 GMT", transcript.Limit, "2025-12-30T14:00:00Z"},
		{`{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}`, transcript.Limit, "2025-12-30T14:20:00Z"},
		{`{"error":{"type":"usage_limit_reached","resets_at":1767103200}}`, transcript.Limit, "2025-12-30T14:00:00Z"},
		{"rate limited until 2025-12-30T15:00:00+01:00", transcript.Limit, "2025-12-30T14:00:00Z"},
		{"rate limit, reset at 2025-12-30 16:00Z", transcript.Limit, "2025-12-30T16:00:00Z"},
		{"rate_limit", transcript.Limit, ""},
		{"usage limit reached, retry after 999999999999999999999 days", transcript.Limit, ""},

		{`API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, transcript.Overloaded, ""},
		{"API Error: 500 Internal server error", transcript.Overloaded, ""}, {"API Error: Connection error.", transcript.Overloaded, ""},
		{"API Error (Request timed out)", transcript.Overloaded, ""}, {"overloaded", transcript.Overloaded, ""}, {"server_error", transcript.Overloaded, ""},
		{"stream disconnected before completion", transcript.Overloaded, ""}, {"unexpected status 503 Service Unavailable", transcript.Overloaded, ""},

		{`API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}} · Please run /login`, transcript.Auth, ""},
		{"Invalid API key · Fix external API key", transcript.Auth, ""}, {"Credit balance is too low", transcript.Auth, ""}, {"authentication_failed", transcript.Auth, ""}, {"billing_error", transcript.Auth, ""},
		{"API Error: 403 forbidden", transcript.Auth, ""}, {"status 429: You exceeded your current quota, please check your plan", transcript.Auth, ""},
		{"OAuth token has expired", transcript.Auth, ""},
		{"API error 400: INVALID_ARGUMENT API key not valid. Please pass a valid API key.", transcript.Auth, ""},
		{"API error 400: API key expired. Please renew the API key.", transcript.Auth, ""},
		{"API error 429: RESOURCE_EXHAUSTED You exceeded your current quota, please check your plan and billing details.", transcript.Limit, ""},
		{"You have exhausted your capacity on this model. Your quota will reset after 2h36m24s.", transcript.Limit, "2025-12-30T15:56:24Z"},

		{"Prompt is too long", transcript.Refused, ""}, {"API Error: 404 model: opus-9", transcript.Refused, ""}, {"API Error: 400 max_output_tokens limit reached", transcript.Other, ""},
		{"API Error: 400 invalid_request_error", transcript.Refused, ""}, {"context window limit reached", transcript.Refused, ""}, {"", transcript.Other, ""}, {"no such file", transcript.Other, ""},
	} {
		got := transcript.Classify(c.text, now)
		until := ""
		if !got.Until.IsZero() {
			until = got.Until.UTC().Format(time.RFC3339)
		}
		if got.Cause != c.cause || until != c.until {
			t.Errorf("%q: %s until %q, want %s until %q", c.text, got.Cause, until, c.cause, c.until)
		}
	}
}

// Whether a request that was refused is made once more, by the status and by
// what the programs write of it.
func TestClassifyRefusals(t *testing.T) {
	refused := func(sure bool) transcript.Failure { return transcript.Failure{Cause: transcript.Refused, Sure: sure} }
	auth, busy, limit := transcript.Failure{Cause: transcript.Auth}, transcript.Failure{Cause: transcript.Overloaded}, transcript.Failure{Cause: transcript.Limit}
	for status, want := range map[int]transcript.Failure{
		400: refused(false), 401: auth, 402: auth, 403: auth, 404: refused(true), 405: refused(false), 408: busy, 409: busy, 410: refused(true),
		413: refused(true), 414: refused(true), 415: refused(false), 418: refused(false), 422: refused(false), 425: busy, 429: limit, 431: refused(true), 451: refused(false),
		500: busy, 502: busy, 503: busy, 504: busy, 529: busy,
	} {
		for _, text := range []string{"API Error: %d", "unexpected status %d", `API Error: %d {"type":"error","error":{"type":"x","message":"y"}}`, "HTTP %d: no"} {
			text = fmt.Sprintf(text, status)
			if got := transcript.Classify(text, time.Now()); got != want {
				t.Errorf("%q: %+v, want %+v", text, got, want)
			}
		}
	}
	for text, want := range map[string]transcript.Failure{
		"Request too large (max 32MB). Run /compact, or double press esc to go back and remove attachments.":     refused(true),
		"Request too large. Double press esc to go back and try with a smaller file.":                            refused(true),
		"API Error: Request too large for the API's 32 MB request limit: 40 MB, and only 1 MB of it is images":   refused(true),
		`{"error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes"}}`: refused(true),
		"413 Payload Too Large":                              refused(true),
		"HTTP/1.1 413 Content Too Large":                     refused(true),
		"Request Entity Too Large":                           refused(true),
		"Prompt is too long":                                 refused(true),
		"prompt is too long: 210000 tokens > 200000 maximum": refused(true),
		"Input is too long for requested model.":             refused(true),
		"API Error: 400 input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000":                         refused(true),
		"Your input exceeds the context window of this model.":                                                               refused(true),
		"Image was too large. Double press esc to go back and try again with a smaller image.":                               refused(true),
		"There's an issue with the selected model (opus-9). It may not exist or you may not have access to it.":              refused(true),
		"The model `gpt-9` does not exist or you do not have access to it.":                                                  refused(true),
		"API Error: 400 {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1: bad\"}}": refused(false),
		"API Error: 429 the request was too large a part of your rate limit":                                                 limit,
	} {
		if got := transcript.Classify(text, time.Now()); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// A stated end is never before now, nor too far off, and only a limit has one.
func FuzzClassify(f *testing.F) {
	for _, s := range []string{"usage limit reached|1767103200", "hit your limit · resets Feb 30, 11:59pm (Asia/Kolkata)", "429 retry-after: 1e9", "limit reached resets in 3h 20m and 5s"} {
		f.Add(s, int64(1767100000))
	}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		now := time.Unix(at%(1<<33), 0).UTC()
		got := transcript.Classify(text, now)
		if got.Until.IsZero() {
			return
		}
		if got.Cause != transcript.Limit || !got.Until.After(now) || got.Until.Sub(now) > 35*24*time.Hour {
			t.Errorf("%+v at %s", got, now)
		}
	})
}
