package standing

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"cmux/agents/runs/run"
	"cmux/signals"
)

//go:embed templates
var texts embed.FS

const (
	rolesFolder    = "roles"           // in .cmux, of files that a person may edit
	contextsFolder = "worker-contexts" // likewise, of files that cmux writes
)

// Roles are the names of the roles that a project begins with.
func Roles() []string {
	return []string{"supervisor", "worker", "frontend", "backend", "infra", "tester", "sentry"}
}

// RolePath is the file of a role of the project at root.
func RolePath(root, role string) string {
	return filepath.Join(run.Folder(root), rolesFolder, role+".md")
}

// WriteRoles writes the roles that are not there yet: what a person made of
// them stays.
func WriteRoles(root string) error {
	dir := filepath.Join(run.Folder(root), rolesFolder)
	if err := signals.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, role := range Roles() {
		path := RolePath(root, role)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		b, err := texts.ReadFile("templates/" + role + ".md")
		if err != nil {
			return err
		}
		if err := signals.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// contextPath is the file that an agent reads first.
func (o *Org) contextPath(name string) string {
	return filepath.Join(o.folder(contextsFolder), name+"-context.md")
}

// WriteContext writes the file that an agent reads first: who it is, whom it
// works for and how it reports.
func (o *Org) WriteContext(m *run.Member) error {
	path := o.contextPath(m.Name)
	text, err := ContextText(m, o.Root(), o.Run.Plan.Session, o.Settings.Integration)
	if err != nil {
		return err
	}
	if err := signals.MkdirAll(o.folder(contextsFolder), 0o700); err != nil {
		return err
	}
	return signals.WriteFile(path, text, 0o600)
}

// ContextText is what the file says that an agent reads first.
func ContextText(m *run.Member, root, session, integration string) ([]byte, error) {
	t, err := template.ParseFS(texts, "templates/context.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"M": m, "Root": root, "Session": session, "Integration": integration,
		"Leads": m.Role == Supervisor || m.Role == ProjectSupervisor, "Area": area(m),
	})
	return b.Bytes(), err
}

// area returns what a permanent worker is for, as the name of its role says; "": its
// role is the worker's, which names none.
func area(m *run.Member) string {
	if role := strings.TrimSuffix(filepath.Base(m.RoleFile), ".md"); m.Permanent && m.RoleFile != "" && role != Worker {
		return role
	}
	return ""
}

// brief is what an agent is told first in a new conversation: where to read who
// it is. The files say the rest, so that it is the same after a reset.
func (o *Org) brief(m *run.Member) string {
	if m.Role == RoomMember {
		return "" // its first turn tells it
	}
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s, a %s of this project. Read %s: it says who you are, whom you work for and how you report.", m.Name,
		strings.ReplaceAll(m.Role, "-", " "), m.Context)
	if m.RoleFile != "" {
		fmt.Fprintf(&b, " Then read %s, which is your role.", m.RoleFile)
	}
	if _, err := os.Lstat(filepath.Join(o.Root(), "MEMORY.md")); err == nil {
		fmt.Fprintf(&b, " Then read %s, which holds what is to be remembered.", filepath.Join(o.Root(), "MEMORY.md"))
	}
	if m.Role == Supervisor {
		b.WriteString(" Then wait for what the person asks for.")
	} else {
		b.WriteString(" Then end your turn: your task comes as a message.")
	}
	return b.String()
}
