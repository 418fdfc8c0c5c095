// Package store is conversations.db: what happened in a project, in one order,
// for queries.
//
// The files of the project are the truth, and this is derived from them: who
// deletes it has it rebuilt. Ingest takes in what the files hold beyond what was
// taken in, exactly once, from wherever a kill left it: rows and how far their
// file was read share a transaction. A file is known by its inode and its first
// line, so that it may be moved; one that was replaced or cut is read again, and
// the lines that are known are left out. Only whole lines are taken in; one that
// is no JSON is kept as text and holds nothing up. What was taken in stays when
// its file is removed.
//
// Each row has a number, seq, without gaps. A rebuilt store gives other numbers:
// its epoch is another, and who has a position of another epoch begins anew.
//
// One process has the store at a time. A damaged database is set aside with a
// note, and rebuilt.
package store
