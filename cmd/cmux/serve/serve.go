// Package serve has the commands that serve the dashboard and open it, here and on
// the local network.
package serve

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/control/serving"
	"cmux/agents/kinds/agent"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/cmd/cmux/cli"
	"cmux/server"
	"cmux/web"
)

// Cmds are the commands of this package that stand at the root.
func Cmds(d *cli.Deps) []*cobra.Command {
	return []*cobra.Command{newServeCmd(d), newOpenCmd(d, nil)}
}

// newServeCmd is the server of the project, which the monitor starts, or cmux
// agents open on demand.
func newServeCmd(d *cli.Deps) *cobra.Command {
	var dir, stop string
	var idle time.Duration
	cmd := &cobra.Command{
		Use:    "serve",
		Hidden: true,
		Short:  "Serve the project's API (for cmux itself)",
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			var root string
			if idle > 0 {
				p, err := d.Project(ctx)
				if err != nil {
					return err
				}
				root = p.Root
			} else {
				r, err := run.OpenPlan(dir)
				if err != nil {
					return err
				}
				root = r.Plan.Root
				go func() { // ends with the process
					_, _ = io.Copy(io.Discard, d.In) // the monitor writes nothing, and holds it open
					cancel()
				}()
			}
			caller := d.Caller()
			caller.Memory = new(project.Memory)
			caller.Dir, caller.Person, caller.Start, caller.Choose, caller.Note = root, true, true, nil, nil
			p := &control.Project{Project: project.Project{Caller: caller, Root: root}}
			port, err := p.Serving().Port(idle > 0)
			if err != nil {
				return err
			}
			if idle > 0 && stop != "" {
				if _, err := p.StopOrg(ctx, stop == "true"); err != nil {
					return err
				}
			}
			dashboard, _ := web.Files() // nil where it was built without
			return server.Serve(ctx, server.Options{Project: p, Port: port, Idle: idle, Dashboard: dashboard, Log: commands.RunnerLogger(d.Err)})
		},
	}
	cmd.Flags().StringVar(&dir, "run", "", "folder of the organization")
	cmd.Flags().DurationVar(&idle, "idle", 0, "serve on demand, and end after so long without page and run")
	cmd.Flags().StringVar(&stop, "stop", "", "first stop the organization; true: and the runs")
	return cmd
}

type openOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Print   bool
	LogOut  bool
	LAN     bool
	QR      bool
	Address string
	Browse  func(ctx context.Context, env []string, path string) error
}

func newOpenCmd(d *cli.Deps, runF func(context.Context, *openOptions) error) *cobra.Command {
	o := &openOptions{IO: &d.IO, Project: d.Project, Browse: browse}
	cmd := &cobra.Command{
		Use:     "open",
		GroupID: "main",
		Short:   "Open the project's dashboard in the browser",
		Long: `Open the dashboard of the project in your browser. The link that open makes logs the
browser in. It works once, and for a minute. Where there is no browser, open prints it.

The server listens on this machine alone. On a machine that you are logged in to by
ssh, forward its port and open the link at home:
  ssh -L 8420:127.0.0.1:8420 HOST

With --lan, the server also listens on the local network until the command ends, for a
phone: with TLS, by a certificate of its own, whose fingerprint is printed. --qr prints
a QR code that leads to the page there. A browser is let in by the code that the
terminal shows, which pairs one browser within two minutes, for 12 hours or until the
command ends.`,
		Example: "  cmux open\n  cmux open --print\n  cmux open --lan --qr\n  cmux open --logout-all",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runOpen)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.LogOut, "logout-all", false, "log every browser out instead")
	o.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("print", "logout-all", "lan")
	return cmd
}

func (o *openOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Print, "print", false, "print the link and open no browser")
	cmd.Flags().BoolVar(&o.LAN, "lan", false, "open it on the local network, until the command ends")
	cmd.Flags().BoolVar(&o.QR, "qr", false, "with --lan, print a QR code that leads there")
	cmd.Flags().StringVar(&o.Address, "address", "", "with --lan, the private `IP` address of this machine to listen at")
}

func (o *openOptions) checkLAN() error {
	if !o.LAN && (o.QR || o.Address != "") {
		return project.Usage("", "--qr and --address are for --lan")
	}
	return nil
}

func runOpen(ctx context.Context, o *openOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if err := o.checkLAN(); err != nil {
		return err
	}
	if o.LAN {
		return o.openLAN(ctx, p)
	}
	if o.LogOut {
		if err := p.Serving().EndLogins(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintln(o.Out, "Every browser is logged out. To log in again: cmux open")
		return err
	}
	link, err := p.Serving().OpenLink(ctx)
	if err != nil {
		return err
	}
	return o.show(ctx, p, &serving.Opened{Link: link})
}

// show opens a link in the browser, or prints it.
func (o *openOptions) show(ctx context.Context, p *control.Project, opened *serving.Opened) error {
	link := opened.Link
	if !o.Print {
		path, err := p.Serving().LinkFile(link)
		if err != nil {
			return err
		}
		err = o.Browse(ctx, o.Env, path)
		if err == nil {
			_, err = fmt.Fprintln(o.Out, "The dashboard opens in your browser.")
			return err
		}
		fmt.Fprintf(o.Err, "note: no browser was opened (%v). Open this link yourself, within %s:\n", err, time.Duration(link.Seconds)*time.Second)
	}
	if at, err := url.Parse(link.URL); err == nil && o.Getenv("SSH_CONNECTION") != "" {
		fmt.Fprintf(o.Err, "note: this is a login by ssh. To open the link at home, call there first: ssh -L %s:127.0.0.1:%[1]s HOST\n", at.Port())
	}
	for _, at := range link.Others {
		fmt.Fprintf(o.Err, "note: the same link at a host of yours: %s\n", at)
	}
	_, err := fmt.Fprintln(o.Out, link.URL)
	return err
}

type agentsOpenOptions struct {
	openOptions
	Idle time.Duration
}

// idleShort is the shortest that a server on demand stays without a page: one that
// is reloaded is away for a moment.
const idleShort = time.Second

// NewAgentsOpenCmd builds cmux agents open.
func NewAgentsOpenCmd(d *cli.Deps, runF func(context.Context, *agentsOpenOptions) error) *cobra.Command {
	o := &agentsOpenOptions{openOptions: openOptions{IO: &d.IO, Project: d.Project, Browse: browse}}
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the dashboard of the project's runs in the browser",
		Long: `Open the dashboard of the project in your browser, by a link that works once, and for
a minute. It needs no organization: where none runs, a server is started in the
background. It ends by itself when no page is open and no run is under way for --idle.
While cmux start runs, its server is used, and it takes over from one that is there.

Where there is no browser, open prints the link. --lan opens it on the local network,
for a phone, as cmux open --lan does. To log every browser out: cmux open --logout-all`,
		Example: "  cmux agents open\n  cmux agents open --print\n  cmux agents open --idle 10m\n  cmux agents open --lan --qr",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runAgentsOpen)(cmd.Context(), o) },
	}
	o.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("print", "lan")
	cmd.Flags().DurationVar(&o.Idle, "idle", time.Minute, "how long a started server stays when no page is open and no run is under way")
	return cmd
}

func runAgentsOpen(ctx context.Context, o *agentsOpenOptions) error {
	if o.Idle < idleShort {
		return project.Usage("cmux agents open --idle 1m", "--idle is %s, and %s at least", o.Idle, idleShort)
	}
	if err := o.checkLAN(); err != nil {
		return err
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the path of this program: %w", err)
	}
	opened, err := p.Serving().OpenOnDemand(ctx, serving.OnDemand{Binary: binary, Idle: o.Idle})
	if err != nil {
		return err
	}
	if opened.Started {
		fmt.Fprintf(o.Err, "Started a server. It ends when no page is open and no run is under way for %s.\n", say.Span(o.Idle))
	}
	if !opened.Runs {
		fmt.Fprintln(o.Err, "note: the project has no run yet. Start one in the page, or with cmux agents start")
	}
	if o.LAN {
		return o.openLAN(ctx, p)
	}
	return o.show(ctx, p, opened)
}

// browse opens a file in the person's browser.
func browse(ctx context.Context, env []string, path string) error {
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case (&cli.IO{Env: env}).Getenv("DISPLAY") == "" && (&cli.IO{Env: env}).Getenv("WAYLAND_DISPLAY") == "":
		return fmt.Errorf("there is no display")
	}
	program, err := agent.LookPath(name, env)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, path)
	cmd.Env, cmd.Stderr = env, os.Stderr
	return cmd.Run()
}
