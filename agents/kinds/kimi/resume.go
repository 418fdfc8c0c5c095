package kimi

// Reopen returns the command that resumes a conversation in the terminal program, by its
// documentation. The place of the conversation's file is unknown; the program creates a
// missing conversation.
func Reopen(_ []string, conversation string) ([]string, error) {
	return []string{"kimi", "--session", conversation}, nil
}
