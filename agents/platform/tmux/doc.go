// Package tmux drives a private tmux server in which agents have their panes.
//
// A [Server] names the server: its socket and cmux's own configuration file,
// so that a person's ~/.tmux.conf and running tmux are never touched. A
// [Client] is one control-mode connection on a hidden session of its own; it
// replaces a fork per command. Sessions, windows and panes are only ever
// addressed by the ids that tmux gave out ($0, @0, %0), which are never used
// twice in a server's life. A [Board] places the panes of a run's nodes, and
// reads its state back from tmux itself, so it can be dropped at any moment.
//
// Commands are passed to tmux as argument lists and executed without a shell.
// No value but names and paths should be among them: they are visible to every
// user of the machine.
//
// A pane outlives its process (remain-on-exit). tmux may lose the exit status
// of a command that ends at once: [Pane.DeadStatus] is for showing, the record
// that the pane's process leaves is the truth.
package tmux
