// Package task keeps the tasks and the backlog of an organization in
// .cmux/tasks.jsonl.
//
// The file is the only record of the tasks. A line is a change of one task. It names
// the version of the task that its writer saw, and it holds a code made with the
// person's key. The writer appends it under the file's lock, after it has checked that
// version again. So if two writers change a task at once, the second one gets an
// error, and a copied or forged line does not count. A List folds the changes. A table
// says which state may follow which; a verdict enters once, by task and attempt.
//
// cmux reports a line that does not count. Before the next change it copies such a
// file aside as a whole, and the lines that count stay as they are.
package task
