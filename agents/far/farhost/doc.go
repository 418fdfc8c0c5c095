// Package farhost is a host.Host for runs of which some nodes are carried out by other
// machines, over a far.Carrier. All other nodes live on the Host that it is made with.
//
// The input of a far attempt is its run.Spec, its commits and the variables that travel;
// what comes back are records, events, output, messages, commits and the end. Home checks
// all of it: it takes records of known types only, moves the attempt's own branch forward
// and no other ref, and never acts on a path, process or pane of another machine.
//
// Nothing is kept that a successor would need: the records say how far the journal was
// taken in, and the attempt is opened again by its name.
package farhost
