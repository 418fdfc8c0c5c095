// Package calls is what agents and their programs call of cmux, for programs
// that stand in for it in tests.
package calls

import (
	"context"
	"fmt"
	"os"

	"cmux/agents/runs/mcp"
	"cmux/agents/runs/wrapper"
)

// Answer carries out what os.Args say and ends the process. It returns when
// they say nothing that agents call.
func Answer() {
	if len(os.Args) < 2 {
		return
	}
	ctx := context.Background()
	switch os.Args[1] {
	case "done":
		exit(wrapper.Done(ctx, os.Getenv, os.Args[len(os.Args)-1]))
	case "blocked":
		exit(wrapper.Blocked(ctx, os.Getenv, os.Args[len(os.Args)-1]))
	case "mcp":
		exit(mcp.Serve(ctx, os.Getenv, os.Stdin, os.Stdout, "test"))
	case "hook":
		out, code, err := wrapper.Hook(ctx, os.Getenv, os.Args[2], os.Stdin)
		fmt.Print(out)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
