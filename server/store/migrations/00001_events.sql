-- +goose Up
create table meta (
	key   text primary key,
	value text not null
) without rowid;

-- The names that rows are of: run:ID/NODE, agent:NAME, mailbox, ...
create table labels (
	id   integer primary key,
	name text not null unique
);

create table kinds (
	id   integer primary key,
	name text not null unique
);

-- Files, and how far each was taken in. A file is known by its inode and its
-- first line, wherever it is moved.
create table files (
	id     integer primary key,
	path   text not null,
	label  integer not null references labels (id),
	inode  integer not null,
	first  blob not null,    -- hash of the first line
	offset integer not null, -- behind the last line that was taken in
	length integer not null, -- how much of that line its hash is of
	last   blob not null,    -- hash of the end of that line
	again  integer not null  -- it is read again, and the rows that it has are known
);

create table events (
	seq   integer primary key, -- without gaps
	at    integer not null,    -- nanoseconds since 1970
	label integer not null references labels (id),
	file  integer not null, -- 0: none
	kind  integer not null references kinds (id),
	unverified integer not null,
	name  text not null,
	body  text not null
);

-- Messages that were taken in: each has one row, however often it stands in files.
create table messages (
	id text primary key
) without rowid;

create index events_label on events (label, seq);
create index events_kind on events (kind, seq);
create index events_label_kind on events (label, kind, seq);

-- What is said in events, by seq.
create virtual table said using fts5 (text, content = '', columnsize = 0, tokenize = "unicode61 remove_diacritics 2");

-- Files that a person edits, as they are now.
create table pages (
	id    integer primary key,
	path  text not null unique, -- from the project's root
	inode integer not null,
	size  integer not null,
	mtime integer not null
);

create table parts (
	id   integer primary key,
	page integer not null references pages (id),
	line integer not null, -- that it begins in
	text text not null
);

create index parts_page on parts (page);

create virtual table written using fts5 (text, content = 'parts', content_rowid = 'id', columnsize = 0, tokenize = "unicode61 remove_diacritics 2");

-- +goose Down
drop table written;
drop table parts;
drop table pages;
drop table said;
drop table messages;
drop table events;
drop table files;
drop table kinds;
drop table labels;
drop table meta;
