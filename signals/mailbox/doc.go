// Package mailbox reads and writes the file by which agents, people and cmux send messages:
// .cmux/mailbox, one line of JSON for each message, and mailbox.deliveries, one line for
// each change of a message's state for a recipient.
//
// Both files only grow. A writer holds the file's lock and appends by one write, after it
// has ended a torn line. A file that has grown long is set aside under a number
// (mailbox.000001) and kept. So a reader's Place is a file, an offset in it and the hash of
// the line before it. If these no longer match, for example after a restored backup, the
// reader reads everything again from the oldest file on, and leaves out messages by their
// id.
//
// Anybody can write to a file. A message counts as its sender's only if the line has the
// code of the person's key; all others are shown as unverified. Deliveries count only with
// a code. Lines that are not messages are reported, kept and skipped.
//
// This package knows neither agents nor how a message reaches one.
package mailbox
