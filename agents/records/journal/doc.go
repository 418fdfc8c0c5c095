// Package journal keeps what an organization remembers in words. Each day has a folder
// below .cmux/journal with its entries (journal.md), notes for later and for the next
// supervisor (reflection.md), files of agents (artifacts/) and long bodies of messages
// (attachments/). MEMORY.md at the project's root belongs to the person.
//
// All of it is Markdown that a person may edit and commit. So there is no index: entries
// are parsed from the text, and a person's text between them stays. Entries are only
// appended, by one write under the file's lock; reflection.md is replaced whole, under a
// lock on its folder.
//
// A text cannot imitate another author's entry: lines that would begin an entry are
// escaped.
package journal
