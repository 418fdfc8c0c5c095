// Package journal is what an organization remembers in words: a folder for each
// day below .cmux/journal, with the entries of the day (journal.md), what is to
// be thought about and handed on (reflection.md), files that agents made
// (artifacts/) and long bodies of messages (attachments/); and MEMORY.md at the
// project's root, which is a person's.
//
// All of it is Markdown that a person may edit and commit. So nothing is kept
// beside it: entries are read back out of the text, and what a person wrote
// between them is theirs. Entries are only appended, by one write under the
// file's lock; reflection.md is replaced whole, under a lock of its folder.
//
// A text cannot pass for an entry of somebody else's: a line of it that would
// begin one is escaped.
package journal
