package main

import "testing"

func TestIsOption(t *testing.T) {
	const two = "Which one?\n  1. Red: like fire\n  2. Blue"
	for _, c := range []struct {
		question, answer string
		ok               bool
	}{
		{two, "1", true},
		{two, " 2\n", true},
		{two, "3", false},
		{two, "0", false},
		{two, "-1", false},
		{two, "Blue", true},
		{two, "3 of them", true},
		{"blocked: how many pages?", "20", true},
		{"(1 of 2) Which one?\n  1. Red\n(2 of 2) How many?", "7", true},
	} {
		if err := isOption(c.question, c.answer); (err == nil) != c.ok {
			t.Errorf("%q to %q: %v", c.answer, c.question, err)
		}
	}
}
