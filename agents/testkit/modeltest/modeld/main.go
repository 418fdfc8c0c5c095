// Command modeld serves scripts of package modeltest until it is interrupted:
//
//	modeld -scripts FILE [-addr 127.0.0.1:0] [-addr-file F]
//	       [-home DIR -env-file F [PROJECT...]]
//
// The address (host:port) is written to the file of -addr-file, and to standard
// output, once the server listens. With -home it makes a home folder for the
// agent programs that trusts the projects, and -env-file gets its environment,
// one shell assignment a line. Files appear whole.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"cmux/agents/testkit/modeltest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "modeld:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("modeld", flag.ContinueOnError)
	scripts := f.String("scripts", "", "YAML or JSON `file` of scripts")
	addr := f.String("addr", "127.0.0.1:0", "loopback `address` to listen at")
	addrFile := f.String("addr-file", "", "`file` that gets the address")
	home := f.String("home", "", "`directory` to make a home of the agent programs in")
	envFile := f.String("env-file", "", "`file` that gets that home's environment")
	if err := f.Parse(args); err != nil {
		return err
	}
	list, err := modeltest.Load(*scripts)
	if err != nil {
		return err
	}
	s, err := modeltest.Serve(*addr, list...)
	if err != nil {
		return err
	}
	defer s.Close()
	if *home != "" {
		dir, err := filepath.Abs(*home)
		if err != nil {
			return err
		}
		h, err := modeltest.Prepare(dir, s.URL, os.Getenv("PATH"), f.Args()...)
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, e := range h.Env {
			name, value, _ := strings.Cut(e, "=")
			fmt.Fprintf(&b, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
		}
		if err := write(*envFile, b.String()); err != nil {
			return err
		}
	}
	at := strings.TrimPrefix(s.URL, "http://") + "\n"
	if err := write(*addrFile, at); err != nil {
		return err
	}
	fmt.Print(at)
	<-ctx.Done()
	return nil
}

// write makes the file appear whole, or does nothing without a name.
func write(name, content string) error {
	if name == "" {
		return nil
	}
	tmp := name + ".new"
	if err := os.WriteFile(tmp, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}
