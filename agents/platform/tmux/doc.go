// Package tmux drives a private tmux server with the agents' panes.
//
// A [Server] identifies the server by its socket and cmux's own configuration file; it
// never uses the person's ~/.tmux.conf or running tmux. A [Client] is one control-mode
// connection in a hidden session; it replaces a process per command. Sessions, windows and
// panes are addressed only by tmux's ids ($0, @0, %0), which tmux never reuses. A [Board]
// places the panes of a run's nodes. It reads its state back from tmux, so a new one can
// replace it at any time.
//
// Commands are passed to tmux as argument lists and executed without a shell. Pass only
// names and paths: every user of the machine can see the arguments.
//
// A pane outlives its process (remain-on-exit). tmux may lose the exit status of a command
// that ends at once: use [Pane.DeadStatus] for display only, and the record of the pane's
// process as the truth.
package tmux
