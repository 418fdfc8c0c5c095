// Package top is the monitor: a program to work in, that shows a run as it goes
// on and gives a person's orders.
//
// It is a face. What stands in a view, what fits a node and what an order does
// is decided in agents/control; each order is given as the command of the same
// name, which whoever runs the monitor carries out. The program is pure: step
// takes a message and returns the next model with effects as data, and frame
// draws it. Nothing in it is on a clock but ages, and those are only redrawn
// when one of them reads differently.
package top
