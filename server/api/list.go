package api

import (
	"encoding/base64"
	"strconv"
	"strings"

	"cmux/agents/control/project"
)

// Paging is how much of a list is asked for, and from where on.
type Paging struct {
	Cursor string `query:"cursor" maxLength:"300" doc:"next of the page before; empty: from the beginning"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many at most"`
}

// List is a page of a list.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page; absent: this is the last"`
}

// errCursor says that a cursor is none of a list's.
func errCursor() error {
	return project.Usage("", "the cursor is none of this list, or what it points at is gone: begin without one")
}

// page is what is asked for of all. A cursor is the key of the item that a page
// ends with, so that what is added elsewhere moves nothing.
func page[T any](all []T, p Paging, key func(*T) string) (List[T], error) {
	from := 0
	if p.Cursor != "" {
		last, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		if err != nil {
			return List[T]{}, errCursor()
		}
		from = -1
		for i := range all {
			if key(&all[i]) == string(last) {
				from = i + 1
				break
			}
		}
		if from < 0 {
			return List[T]{}, errCursor()
		}
	}
	out := List[T]{Items: append([]T{}, all[from:min(len(all), from+p.Limit)]...)}
	if n := from + len(out.Items); n > 0 && n < len(all) {
		out.Next = base64.RawURLEncoding.EncodeToString([]byte(key(&all[n-1])))
	}
	return out, nil
}

// seqCursor reads a cursor that is a number.
func seqCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(cursor, "s"), 10, 64)
	if err != nil || n < 1 || cursor[0] != 's' {
		return 0, errCursor()
	}
	return n, nil
}

// toSeq is the cursor of a number; 0: there is none.
func toSeq(n int64) string {
	if n == 0 {
		return ""
	}
	return "s" + strconv.FormatInt(n, 10)
}
