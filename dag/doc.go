// Package dag is the pure heart of cmux: it turns .cmux-agents.yml into a
// Graph, decides with Step what may happen next, and says with Status how every
// node stands, in parts that Label words.
//
// Nothing in it reads a clock, a file (but for what Parse's caller hands it)
// or a process. Rebuild computes from recorded Facts the same State that Step
// reaches one Change at a time. It imports no other room.
package dag
