// Package standing keeps agents that stay: the supervisor and the workers of a
// project. Where a run ends, they go from one piece of work to the next, for as
// long as a person wants them.
//
// An agent's records are the truth about it, and State is their fold. A life is
// what one wrapper process carries of an agent; when it ends, whatever ended it,
// the next one goes on in its conversation, with its unfinished work. Who sees
// to that is the Keeper, which holds the organization's lock: it looks at what
// is there, starts what should be up, carries out what was asked for, and keeps
// nothing that it could not read again. Killed at any moment, another one goes
// on where it was.
package standing
