// Package task is what an organization has to do: tasks and the backlog, as they
// stand in .cmux/tasks.jsonl.
//
// The file is the only memory of them. A line is a change of one task. It names
// the version of the task that its writer saw, is appended under the file's lock
// after that was looked at again, and holds the code of the person's key; so of
// two who change a task at once the second learns of it, and a copied or forged
// line counts for nothing. A List is the one fold of the changes. Which state
// follows which is a table; a verdict enters by task and attempt, once.
//
// A line that does not count is told of. Before the next change such a file is
// saved aside whole, and the lines that count stay as they are.
package task
