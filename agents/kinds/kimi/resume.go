package kimi

// Reopen is the command line that goes on with a conversation in the terminal
// program, by its documentation. Where the conversation is kept is not known,
// and the program begins one of that name where there is none.
func Reopen(_ []string, conversation string) ([]string, error) {
	return []string{"kimi", "--session", conversation}, nil
}
