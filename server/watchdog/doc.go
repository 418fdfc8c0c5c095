// Package watchdog carries out what package watch decides: it gathers the facts,
// asks watch.Step, and does what comes of it.
//
// It is the server's, and nothing depends on it. What it has done stands in
// .cmux/watch.jsonl: a line before each action, which names it, and a line after
// it with what came of it. So whatever is killed when, the next one finds out
// what took place, finishes it, and never does it twice.
//
// It does nothing by itself to an agent's program. Messages go through the
// mailbox, which hands them over when that is safe; the rest are requests to the
// keeper of the organization.
package watchdog
