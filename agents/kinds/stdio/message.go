package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Message is one line of JSON-RPC: with ID and Method a request, with a Method
// alone a notification, with an ID alone the answer to a request.
type Message struct {
	Version string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Error is what a request was refused with.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Refused is what the program answered a call with that it refused; nil: it did
// not.
func Refused(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}

// Codes of JSON-RPC.
const (
	InvalidRequest = -32600
	MethodNotFound = -32601
)

var errNoMessage = errors.New("a line that is no JSON-RPC message")

// Parse reads one line. Of an answer exactly one of Result and Error is set.
func Parse(line []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		return Message{}, err
	}
	if bytes.Equal(m.ID, []byte("null")) {
		m.ID = nil
	}
	if m.ID == nil && m.Method == "" {
		return Message{}, errNoMessage
	}
	if m.IsAnswer() {
		if m.Error != nil {
			m.Result = nil
		} else if m.Result == nil {
			m.Result = json.RawMessage("null")
		}
	}
	return m, nil
}

// IsRequest reports whether the message waits for an answer.
func (m *Message) IsRequest() bool { return m.ID != nil && m.Method != "" }

// IsAnswer reports whether the message answers a request.
func (m *Message) IsAnswer() bool { return m.ID != nil && m.Method == "" }
