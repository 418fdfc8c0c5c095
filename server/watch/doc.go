// Package watch decides what is done about agents that stop, freeze or fill up,
// when nobody asked for it.
//
// Step is all of it, and it is pure: what was seen before, what is seen now and
// the time go in, actions come out. Rules is the one table of what it may do:
// for each rule the evidence, the threshold, the action, its bound and its
// switch. docs/watch.md is made of it.
//
// What every rule keeps:
//   - An action has evidence, and is taken once for one cause.
//   - Time is what was watched. A clock that jumps, or a machine that slept,
//     makes nobody look idle or frozen.
//   - On an agent that a person has taken over, typed in of late or left a draft
//     in, only telling is allowed.
//   - A limit, a question to a person, a spent budget and a deliberate stop are
//     states, not faults: nothing is relaunched into them.
//   - An idle organization causes no action.
//
// Whoever carries the actions out writes each down before it, with its ID and
// Seen, and what came of it after it. The Seen of the last action that took place
// is all of an agent's state that must not be lost: see State.Restore.
package watch
