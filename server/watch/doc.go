// Package watch decides what cmux does by itself about agents that stop, freeze or fill
// their context.
//
// The pure function Step makes all decisions: its input is the earlier observations, the
// current ones and the time; its output is actions. Rules is the one table of what it may
// do: for each rule the evidence, the threshold, the action, its limit and its switch.
// docs/watch.md is generated from it.
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
// The caller records each action with its ID and Seen before it carries it out, and its
// result afterwards. The Seen of the last completed action contains all of an agent's state
// that must not be lost: see State.Restore.
package watch
