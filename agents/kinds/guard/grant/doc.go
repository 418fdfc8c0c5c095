// Package grant vouches for what is so surely harmless that nobody need be asked.
//
// A text of the shell is read by a lexer that knows nothing but what every shell
// reads alike, each of its commands must be one of a table, and git is asked
// whether it would start anything else.
package grant
