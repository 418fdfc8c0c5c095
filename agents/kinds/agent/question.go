package agent

import (
	"encoding/json"
	"errors"
)

// QuestionVar is the environment variable that marks the processes of a question.
const QuestionVar = "CMUX_QUESTION"

// Question is asked once, outside of any conversation. The program has no tools for it, and none
// of the person's settings.
type Question struct {
	Rules  string // how it is to be answered
	Text   string
	Schema []byte // JSON Schema of the answer
	Model  string // empty: the program's own
	Env    []string
}

// Answer is what a program answers.
type Answer struct {
	JSON   json.RawMessage
	Tokens int64 // used, without those read from a cache
}

// ErrForm means that an answer does not have the form that the schema asks for.
var ErrForm = errors.New("the answer does not have the form that was asked for")
