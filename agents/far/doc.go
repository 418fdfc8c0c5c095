// Package far is the protocol by which the home of a run has other machines carry out
// attempts. Home is the machine with the project, the run's folder and its runner; it stays
// the only writer of the run. A machine carries out attempts and decides nothing else.
//
// The input of a machine is a Job, and Entries that home puts into the attempt's journal.
// The output are Entries of the machine, numbered from 1 without a gap; the last is an End.
// A Carrier transports both. Between the two stands a lease: a machine runs the attempt's
// program only while home has lately accepted its heartbeat, and home gives the attempt up
// only when the lease is over for certain. So two programs never work on one node. Both
// sides measure durations on their own clock and compare no times.
//
// The package is pure: it knows no network, no files and no processes.
package far
