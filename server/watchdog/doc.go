// Package watchdog carries out the decisions of package watch: it collects the facts, calls
// watch.Step, and carries out the actions.
//
// It runs in the server, and nothing depends on it. It records its actions in
// .cmux/watch.jsonl: a line before each action, and a line with the result after it. So
// whichever process is killed at any time, the next watchdog finds out which actions were
// completed, finishes them, and never repeats one.
//
// It does nothing to an agent's program directly. It sends messages through the mailbox,
// which delivers them when that is safe; all other actions are requests to the keeper of
// the organization.
package watchdog
