// Package mailbox is the file by which agents, people and cmux write to each
// other: .cmux/mailbox, a line of JSON for each message, and beside it
// mailbox.deliveries, a line for each thing that became of one.
//
// Both only grow. Who appends holds the file's lock and writes once, behind the
// end of a line that a killed writer left torn. A file that has become long is
// set aside under a number (mailbox.000001) and kept. So a reader's Place is a
// file, an offset in it and the hash of the line before it: where these do not
// fit together any more, as after a restored backup, all is read again from the
// oldest file on, and who reads leaves out what it knows by its id.
//
// Anybody can write to a file. A message counts as its sender's where the line
// holds the code of the person's key; every other one is shown as unverified,
// and what became of messages is believed of coded lines alone. A line that is
// no message is reported, kept and skipped.
//
// This package knows neither agents nor how a message reaches one.
package mailbox
