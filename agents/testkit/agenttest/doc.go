// Package agenttest tests kinds of agent. Run takes a kind through the list of
// what each must do, with its real program or a stand-in; a Fixture is one node
// with its real wrapper, for what only some kinds do.
package agenttest
