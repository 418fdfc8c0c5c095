package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// shownCode is what a person reads at their terminal.
var shownCode = regexp.MustCompile(`Type ([0-9]{6}) to open it`)

// atTerminal is the script command
//
//	person TYPES PROGRAM ARGS...
//
// which runs a program in a terminal of its own, in which a person types the
// code that is shown there (TYPES: code), ^C (interrupt) or something else when
// one is; or without any terminal (none). What the terminal showed is in $WORK/terminal:
// output and errors of the program go elsewhere.
func atTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: person TYPES PROGRAM ARGS...")
	}
	ts.Check(ts.Exec("env", "-0"))
	env := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\x00"), "\x00")
	for _, e := range env { // as a shell finds it
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			for _, dir := range filepath.SplitList(path) {
				if at := filepath.Join(dir, args[1]); !strings.Contains(args[1], "/") && exec.Command("test", "-x", at).Run() == nil {
					args[1] = at
				}
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[1], args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), env
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var shown strings.Builder
	read := make(chan struct{})
	if args[0] == "none" {
		close(read)
		ts.Check(cmd.Start())
	} else {
		master, slave, err := pty.Open()
		ts.Check(err)
		defer master.Close()
		cmd.Stdin = slave
		cmd.SysProcAttr.Setctty = true
		ts.Check(cmd.Start())
		slave.Close()
		go func() { // ends when the last process that has the terminal does
			defer close(read)
			b := make([]byte, 4096)
			for typed := false; ; {
				n, err := master.Read(b)
				shown.Write(b[:n])
				if m := shownCode.FindStringSubmatch(shown.String()); m != nil && !typed {
					typed = true
					types := args[0] + "\n"
					switch args[0] {
					case "code":
						types = m[1] + "\n"
					case "interrupt":
						types = "\x03"
					}
					master.WriteString(types)
				}
				if err != nil {
					return
				}
			}
		}()
	}
	err := cmd.Wait()
	<-read
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "terminal"), []byte(shown.String()), 0o644))
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		ts.Fatalf("still there after %s; the terminal shows:\n%s", deadline, shown.String())
	case err != nil && (!errors.As(err, &exit) || !neg):
		ts.Fatalf("%v; the terminal shows:\n%s", err, shown.String())
	case err == nil && neg:
		ts.Fatalf("it succeeded; the terminal shows:\n%s", shown.String())
	}
}
