package transcript

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // limits name time zones, and not every machine has the data
)

// Cause says what stands behind a failed request.
type Cause string

const (
	Other      Cause = "other"
	Limit      Cause = "limit"      // a usage or rate limit of the account
	Overloaded Cause = "overloaded" // the service is in trouble or out of reach, for now
	Auth       Cause = "auth"       // credentials or billing: a person must act
	Refused    Cause = "refused"    // the request itself: the same one will fail again
)

// Failure is a failed request as its text tells it.
type Failure struct {
	Cause Cause
	Until time.Time // when a Limit ends; zero: not stated, or not to be understood
	Sure  bool      // Refused: of the same request nothing else can come
}

// lazy compiles a pattern when it is first needed: every process of this binary
// would pay for it, and a hook has no use for it.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	statusRE    = lazy(`(?i)(?:api error|error|status(?: code)?|http(?:/[\d.]+)?)["']?[ :=(]+(\d{3})\b`)
	authRE      = lazy(`(?i)authentication_(?:error|failed)|invalid (?:api|x-api|auth|bearer)[ _-]?(?:key|token)|incorrect api key|api key (?:is )?(?:missing|not found|not valid|invalid|expired)|oauth (?:token )?(?:has )?(?:expired|revoked|been revoked)|token (?:has )?expired|please run /login|not logged in|run ["'` + "`" + `]?codex login|unauthorized|permission_error|billing_error|credit balance|insufficient_quota|exceeded your current quota|oauth_org_not_allowed|account_on_hold|cloud_credential_error`)
	keyRE       = lazy(`(?i)api key (?:is )?(?:not valid|invalid|expired)`) // Google says so with 400
	exhaustedRE = lazy(`(?i)\bresource_exhausted\b`)
	// Limits of one request's size are no limits of the account.
	sizeRE   = lazy(`(?i)(?:prompt|input|conversation) is too long|context (?:length|window|limit)|maximum context|(?:request|payload|content)(?:[_ ]entity)?(?:[_ ]is)?[_ ]too[_ ]large|request exceeds|token limit of|(?:image|pdf|document) (?:is |was )?too large|image exceeds`)
	modelRE  = lazy(`(?i)model[_ ]not[_ ]found|issue with the selected model|model .{0,80}(?:does not exist|may not exist)`)
	outputRE = lazy(`(?i)max_output_tokens|output token maximum`)
	limitRE  = lazy(`(?i)usage[ _]limit|rate[ _-]?limit|hit your (?:[\w-]+ ){0,5}limit|limit (?:was |has been )?reached|reached (?:your|the) (?:[\w-]+ ){0,5}limit|out of (?:extra )?usage|too many requests|\bresource[_ ]exhausted\b|exhausted your capacity|quota`)
	busyRE   = lazy(`(?i)overloaded|server_error|internal server error|bad gateway|service unavailable|gateway time-?out|at capacity|connection (?:error|refused|reset|closed)|unable to connect|fetch failed|stream (?:disconnected|closed|error)|econn(?:reset|refused|aborted)|etimedout|timed? ?out|socket hang up|api_error|timeout_error`)
)

// Classify reads the text of a failed request, such as "API Error: 529 …". It
// is not for what an agent says by itself: an agent may talk about limits. The
// location of now is that of times without a zone.
func Classify(text string, now time.Time) Failure {
	text = strings.Map(func(r rune) rune {
		if r == '\u00a0' || r == '\u202f' {
			return ' '
		}
		return r
	}, text)
	status := 0
	if m := statusRE().FindStringSubmatch(text); m != nil {
		status, _ = strconv.Atoi(m[1]) // three digits
	}
	limit := func() Failure { return Failure{Cause: Limit, Until: until(text, now)} }
	switch {
	case outputRE().MatchString(text):
		return Failure{Cause: Other} // of one answer, which goes on in the next
	case sizeRE().MatchString(text):
		return Failure{Cause: Refused, Sure: true}
	case status == 429:
		if exhaustedRE().MatchString(text) {
			return limit() // Google's, whatever it says of plan and billing
		}
		if authRE().MatchString(text) {
			return Failure{Cause: Auth} // no credit, which waiting does not bring
		}
		return limit()
	case status == 401 || status == 403 || status == 402:
		return Failure{Cause: Auth}
	case status == 404 || status == 410 || status == 413 || status == 414 || status == 431:
		return Failure{Cause: Refused, Sure: true}
	case status == 408 || status == 409 || status == 425 || status == 529 || status >= 500 && status <= 504:
		return Failure{Cause: Overloaded}
	case status == 400 && keyRE().MatchString(text):
		return Failure{Cause: Auth}
	case status >= 400 && status < 500:
		return Failure{Cause: Refused} // a gateway says so, too, of an answer that was no good
	case modelRE().MatchString(text):
		return Failure{Cause: Refused, Sure: true}
	case authRE().MatchString(text):
		return Failure{Cause: Auth}
	case limitRE().MatchString(text):
		return limit()
	case status == 0 && busyRE().MatchString(text):
		return Failure{Cause: Overloaded}
	}
	return Failure{Cause: Other}
}

const (
	// A limit lasts a month at most; what lies further off was misread.
	farthest = 35 * 24 * time.Hour
	// A time of day that has just passed is today's: the text is older than
	// the moment it names. It is then tried again shortly.
	justPassed = 10 * time.Minute
	shortly    = time.Minute
)

const (
	month = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`
	unit  = `(?:ms|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m|seconds?|secs?|sec|s)`
)

var (
	epochRE    = lazy(`\|\s*(\d{10}|\d{13})\b`)
	isoRE      = lazy(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)`)
	resetsAtRE = lazy(`(?i)resets?_?at["']?\s*[:=]\s*(\d{13}|\d{10})\b`)
	inSecsRE   = lazy(`(?i)resets?_?in_?seconds["']?\s*[:=]\s*(\d+)`)
	afterRE    = lazy(`(?i)retry[-_ ]after(-ms|_ms)?["']?\s*[:=]?\s*["']?(\d+(?:\.\d+)?)\s*(` + unit + `\b)?`)
	dateRE     = lazy(`(?i)retry-after["']?\s*[:=]\s*["']?(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT)`)
	inRE       = lazy(`(?i)\b(?:again|resets?|retry|available|wait)(?: in| for| after)?\s+(?:about |~)?((?:\d+(?:\.\d+)?\s*` + unit + `(?:\b[\s,]*(?:and\s+)?)?)+)`)
	partRE     = lazy(`(?i)(\d+(?:\.\d+)?)\s*(` + unit + `)`)
	clockRE    = lazy(`(?i)\b(?:resets?|again|until|available)(?:\s+(?:at|on|after))*\s+` +
		`(?:(?P<mon>` + month + `)\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{4}))?(?:\s*,)?(?:\s+at)?\s*)?` +
		`(?P<hour>\d{1,2})?(?::(?P<min>\d{2}))?(?:\s*(?P<half>[ap])\.?m\b\.?)?` +
		`(?:\s+on\s+(?P<day2>\d{1,2})\s+(?P<mon2>` + month + `))?` +
		`\s*(?:\(?(?P<zone>UTC|GMT|Z|[A-Z][A-Za-z_]+/[A-Za-z0-9_+\-/]+)\)?)?`)
)

// until is when the limit that text tells of ends; zero when it does not say.
func until(text string, now time.Time) time.Time {
	for _, read := range []func(string, time.Time) (time.Time, bool){epoch, iso, after, clock} {
		t, ok := read(text, now)
		switch {
		case !ok:
			continue
		case t.After(now.Add(farthest)):
			return time.Time{}
		case !t.After(now):
			if now.Sub(t) > justPassed {
				return time.Time{} // long over: the text is no guide
			}
			return now.Add(shortly)
		}
		return t
	}
	return time.Time{}
}

func epoch(text string, now time.Time) (time.Time, bool) {
	m := epochRE().FindStringSubmatch(text)
	if m == nil {
		m = resetsAtRE().FindStringSubmatch(text)
	}
	if m == nil {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	if len(m[1]) == 13 {
		return time.UnixMilli(n).In(now.Location()), true
	}
	return time.Unix(n, 0).In(now.Location()), true
}

func iso(text string, now time.Time) (time.Time, bool) {
	s := strings.Replace(isoRE().FindString(text), " ", "T", 1)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.In(now.Location()), true
		}
	}
	return time.Time{}, false
}

// after reads a length of time from now.
func after(text string, now time.Time) (time.Time, bool) {
	if m := dateRE().FindStringSubmatch(text); m != nil {
		if t, err := http.ParseTime(m[1]); err == nil {
			return t.In(now.Location()), true
		}
	}
	if m := afterRE().FindStringSubmatch(text); m != nil {
		u := m[3]
		if u == "" {
			u = "s"
		}
		if m[1] != "" {
			u = "ms"
		}
		return now.Add(length(m[2], u)), true
	}
	if m := inSecsRE().FindStringSubmatch(text); m != nil {
		return now.Add(length(m[1], "s")), true
	}
	m := inRE().FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	var d time.Duration
	for _, p := range partRE().FindAllStringSubmatch(m[1], -1) {
		d = min(d+length(p[1], p[2]), 2*farthest)
	}
	return now.Add(d), true
}

// length is a number of units, at most twice the farthest.
func length(number, unit string) time.Duration {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		n = 0
	}
	per := time.Second
	switch u := strings.ToLower(unit); {
	case u == "ms":
		per = time.Millisecond
	case u[0] == 'd':
		per = 24 * time.Hour
	case u[0] == 'h':
		per = time.Hour
	case u[0] == 'm':
		per = time.Minute
	}
	if n >= float64(2*farthest)/float64(per) {
		return 2 * farthest
	}
	return time.Duration(n * float64(per))
}

// clock reads a time of day, with or without a date and a zone.
func clock(text string, now time.Time) (time.Time, bool) {
	for _, m := range clockRE().FindAllStringSubmatch(text, -1) {
		part := func(name string) string { return m[clockRE().SubexpIndex(name)] }
		number := func(name string) int {
			n, _ := strconv.Atoi(part(name)) // digits, or nothing
			return n
		}
		mon, day := part("mon"), number("day")
		if mon == "" {
			mon, day = part("mon2"), number("day2")
		}
		hour, minute, half := number("hour"), number("min"), strings.ToLower(part("half"))
		timed := part("hour") != "" && (part("min") != "" || half != "")
		if !timed && (mon == "" || part("hour") != "") || hour > 23 || minute > 59 || half != "" && (hour > 12 || hour == 0) {
			continue
		}
		if half != "" {
			hour %= 12
			if half == "p" {
				hour += 12
			}
		}
		loc := now.Location()
		switch zone := part("zone"); zone {
		case "":
		case "UTC", "GMT", "Z":
			loc = time.UTC
		default:
			var err error
			if loc, err = time.LoadLocation(zone); err != nil {
				return time.Time{}, false
			}
		}
		here := now.In(loc)
		year, month, dom := here.Date()
		if mon != "" {
			t, err := time.Parse("Jan", strings.ToUpper(mon[:1])+strings.ToLower(mon[1:3]))
			if err != nil || day < 1 || day > 31 {
				continue
			}
			month, dom = t.Month(), day
			if y := number("year"); y != 0 {
				year = y
			}
		}
		at := time.Date(year, month, dom, hour, minute, 0, 0, loc)
		if now.Sub(at) > justPassed {
			switch {
			case mon == "":
				at = time.Date(year, month, dom+1, hour, minute, 0, 0, loc)
			case part("year") == "":
				at = time.Date(year+1, month, dom, hour, minute, 0, 0, loc)
			}
		}
		return at.In(now.Location()), true
	}
	return time.Time{}, false
}
