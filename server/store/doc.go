// Package store is conversations.db: the events of a project, in one order, for queries.
//
// The files of the project are authoritative, and the database is derived from them: if it
// is deleted, cmux rebuilds it. Ingest reads everything in the files that was not ingested
// yet, exactly once, also after a kill: rows and the position in their file share a
// transaction. A file is identified by its inode and its first line, so that it may be
// renamed. A file that was replaced or cut is read again, without the lines already known.
// Only whole lines are ingested; one that is not JSON is stored as text. Rows stay when
// their file is removed.
//
// Each row has a number, seq, without gaps. A rebuilt store has other numbers and another
// epoch; a client with a position of another epoch must start from the beginning.
//
// One process opens the store at a time. A damaged database is set aside with a note, and
// rebuilt.
package store
