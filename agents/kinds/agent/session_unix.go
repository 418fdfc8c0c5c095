package agent

import "syscall"

// session detaches a program from the terminal: keys typed there reach it only
// through its own pty.
func session() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
