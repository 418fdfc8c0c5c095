package conversation

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
)

// format is an event or an effect in a line: its name, and what is set of it.
// What the agent's program did goes by the name of the news.
func format(v any) string {
	var b strings.Builder
	did, is := v.(Did)
	if is {
		v = did.Event
	}
	b.WriteString(reflect.TypeOf(v).Name())
	formatFields(&b, reflect.ValueOf(v))
	if did.Hook != 0 {
		fmt.Fprintf(&b, " Hook=%d", did.Hook)
	}
	return b.String()
}

func formatFields(b *strings.Builder, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	for i := range v.NumField() {
		field, is := v.Field(i), v.Type().Field(i)
		if !is.IsExported() {
			continue
		}
		if field.IsZero() {
			if kind := field.Type().Name(); kind != "Activity" && kind != "Clock" || is.Name == "Urgency" {
				continue
			}
		}
		switch x := field.Interface().(type) {
		case question.Question:
			formatQuestion(b, x)
		case *question.Question:
			formatQuestion(b, *x)
		case *question.Posed:
			fmt.Fprintf(b, " %s=%q", is.Name, x.Parts[0].Text)
		case time.Time:
			fmt.Fprintf(b, " %s=%s", is.Name, x.UTC().Format("15:04:05"))
		case bool:
			fmt.Fprintf(b, " %s", is.Name)
		case fmt.Stringer, Clock, Why, Ending, Ref, int:
			fmt.Fprintf(b, " %s=%v", is.Name, x)
		case []string:
			fmt.Fprintf(b, " %s=%s", is.Name, strings.Join(x, "|"))
		default:
			if field.Kind() == reflect.Struct || field.Kind() == reflect.Pointer {
				formatFields(b, field)
			} else {
				fmt.Fprintf(b, " %s=%q", is.Name, x)
			}
		}
	}
}

func formatQuestion(b *strings.Builder, q question.Question) {
	fmt.Fprintf(b, " Text=%q", q.Parts[0].Text)
	if o := q.Parts[0].Options; len(o) > 0 {
		fmt.Fprintf(b, " Options=%s", strings.Join(o, "|"))
	}
	if q.InPane {
		b.WriteString(" InPane")
	}
	if q.Message != "" {
		b.WriteString(" Message=" + q.Message)
	}
}

var events = typesOf(
	Started{}, Ended{}, Knocked{}, Gone{}, Reported{}, Inquired{}, Begin{}, Cancel{}, Stop{}, Break{}, Overspent{}, EndTurn{},
	Override{}, Answer{}, Release{}, Retry{}, Granted{}, NoRunner{}, Rang{}, Delivered{}, Answered{}, Judged{},
	LimitKnown{}, LeftBehind{}, Refused{}, Give{}, Tell{}, Withdraw{}, Take{}, Wrote{}, Kept{}, Compact{}, Seen{}, Looked{}, Recalled{}, BrokenOff{}, Passed{}, Tallied{}, Unfit{},
	news.TurnEnded{}, news.Prompted{}, news.TookOver{}, news.Asked{}, news.WentOn{}, news.Worked{}, news.Delegated{},
	news.LimitMet{}, news.Faltered{}, news.Stuck{}, news.Concluded{},
	news.EmptyPrompt{}, news.OwnDraft{}, news.Draft{}, news.Dialog{}, news.CopyMode{}, news.UnknownScreen{},
)

func typesOf(events ...any) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, e := range events {
		t := reflect.TypeOf(e)
		all[t.Name()] = t
	}
	return all
}

// parse reads a line that format made of an event; times are of the day of at.
func parse(line string, at time.Time) (What, error) {
	name, rest, _ := strings.Cut(line, " ")
	t, ok := events[name]
	if !ok {
		return nil, fmt.Errorf("no event is called %q", name)
	}
	did := Did{}
	v := reflect.New(t).Elem()
	if asked := v.FieldByName("Question"); asked.IsValid() {
		asked.Set(reflect.ValueOf(question.New("")))
	}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		var key, value string
		key, rest = rest, ""
		if i := strings.IndexAny(key, " ="); i >= 0 {
			key, rest = key[:i], key[i:]
		}
		if after, has := strings.CutPrefix(rest, "="); has {
			if strings.HasPrefix(after, `"`) {
				quoted, err := strconv.QuotedPrefix(after)
				if err != nil {
					return nil, err
				}
				value, _ = strconv.Unquote(quoted)
				rest = after[len(quoted):]
			} else {
				value, rest, _ = strings.Cut(after, " ")
			}
		}
		if key == "Hook" {
			hook, err := strconv.Atoi(value)
			if err != nil {
				return nil, err
			}
			did.Hook = Ref(hook)
			continue
		}
		if t.Name() == "Judged" && v.Field(0).IsNil() {
			v.Field(0).Set(reflect.ValueOf(&Fault{}))
		}
		into := v
		if t.Name() == "Judged" {
			into = v.Field(0).Elem()
		}
		if v.FieldByName("Parts").IsValid() && (key == "Text" || key == "Options") {
			into = v.FieldByName("Parts").Index(0)
		}
		if err := set(into.FieldByName(key), key, value, at); err != nil {
			return nil, err
		}
	}
	if e, is := v.Interface().(news.Event); is {
		did.Event = e
		return did, nil
	}
	return v.Interface().(What), nil
}

func set(field reflect.Value, key, value string, at time.Time) error {
	if !field.IsValid() {
		return fmt.Errorf("it has no %s", key)
	}
	switch field.Interface().(type) {
	case Urgency:
		for u := range Breaking + 1 {
			if u.String() == value {
				field.SetUint(uint64(u))
				return nil
			}
		}
		return fmt.Errorf("no urgency is called %q", value)
	case time.Time:
		day, err := time.Parse("15:04:05", value)
		if err != nil {
			return err
		}
		field.Set(reflect.ValueOf(at.Truncate(24 * time.Hour).Add(day.Sub(day.Truncate(24 * time.Hour)))))
		return nil
	case Clock:
		for c := range clocks {
			if c.String() == value {
				field.SetUint(uint64(c))
				return nil
			}
		}
		return fmt.Errorf("no clock is called %q", value)
	case []string:
		field.Set(reflect.ValueOf(strings.Split(value, "|")))
		return nil
	}
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		field.SetInt(int64(n))
		return err
	case reflect.String:
		field.SetString(value)
	default:
		return fmt.Errorf("%s cannot be given", key)
	}
	return nil
}
