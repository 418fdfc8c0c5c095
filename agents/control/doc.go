// Package control is all that a person or a client can ask of a project and
// order in it.
//
// Each question and each order is a value that says what is asked, and is
// answered with another: a command line makes tables and exit codes of them, a
// server JSON and status codes. What may be done, what is offered and what is
// shown is decided here and nowhere above. Nothing here prints, reads the
// arguments or the environment of this process, or knows a terminal: what a
// caller has of these it hands in.
//
// A Project opens what stands in packages of its own below.
//
// An error that a person can act on says how (see hint.Error); one that comes from
// how something was asked is a project.ErrUsage.
package control
