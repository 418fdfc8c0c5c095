package api

import (
	"encoding/base64"
	"strconv"
	"strings"

	"cmux/agents/control/project"
)

// Paging selects a part of a list.
type Paging struct {
	Cursor string `query:"cursor" maxLength:"300" doc:"next of the previous page; empty: first page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of items"`
}

// List is a page of a list.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"Cursor of the next page; absent: this is the last page"`
}

// errCursor is the error for an invalid cursor.
func errCursor() error {
	return project.Usage("", "the cursor does not belong to this list, or its item is gone: start without a cursor")
}

// page returns the requested page of all. A cursor is the key of a page's last item, so
// that items added elsewhere do not shift pages.
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

// seqCursor parses a cursor that is a number.
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

// toSeq returns the cursor of a number; 0: none.
func toSeq(n int64) string {
	if n == 0 {
		return ""
	}
	return "s" + strconv.FormatInt(n, 10)
}
