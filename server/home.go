package server

import (
	"bytes"
	"html/template"
	"net/http"
	"path/filepath"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/control/overview"
	"cmux/agents/control/tasks"
	"cmux/agents/platform/say"
	"cmux/server/login"
	"cmux/worktree/hint"
)

const homeStyle = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8884;vertical-align:top}
th{font-weight:600}h2{margin-top:2rem}.dim{opacity:.7}code{background:#8883;padding:.1em .3em;border-radius:3px}`

// plainPath is the path of the page without scripts.
const plainPath = "/plain"

// homeText is the page for a binary without a dashboard and for browsers without scripts.
// It shows the organization's status. It needs no script, and all text of agents and
// messages is escaped.
const homeText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>cmux: {{.Name}}</title>
<style>` + homeStyle + `</style></head><body>
<h1>{{.Name}}</h1>
<p>You are logged in. The organization: <strong>{{.Org.State}}</strong>{{with .Org.Session}}, session {{.}}{{end}}{{with .Org.Integration}}, integration branch {{.}}{{end}}.</p>
{{if .Bare}}<p>This cmux was built without its dashboard. To build it with the dashboard, install Node and call <code>make</code> in the source of cmux.</p>
{{end}}<h2>Agents</h2>
{{if .Org.Agents}}<table><tr><th>Name<th>Role<th>Kind<th>State<th>Since<th>Task<th>Branch</tr>
{{range .Org.Agents}}<tr><td>{{.Name}}<td>{{.Role}}<td>{{.Kind}}<td>{{.Explained}}<td>{{span .Since}}<td>{{.Task}}<td>{{.Branch}}</tr>
{{end}}</table>{{else}}<p class="dim">None. Begin with <code>cmux start</code>.</p>{{end}}
<h2>Tasks</h2>
{{if .Tasks.Tasks}}<table><tr><th>Task<th>Title<th>State<th>Priority<th>Agent</tr>
{{range .Tasks.Tasks}}<tr><td>{{.ID}}<td>{{.Title}}<td>{{.Label}}<td>{{.Priority}}<td>{{.Agent}}</tr>
{{end}}</table>{{else}}<p class="dim">{{if .Tasks.Over}}No open tasks.{{else}}None.{{end}}</p>{{end}}
<h2>Messages</h2>
{{if .Mail}}<table><tr><th>At<th>From<th>To<th>Message</tr>
{{range .Mail}}<tr><td>{{.TS.Local.Format "2006-01-02 15:04:05"}}<td>{{.From}}{{if not .Verified}} <span class="dim">(unverified)</span>{{end}}<td>{{.To}}<td>{{.Subject}}</tr>
{{end}}</table>{{else}}<p class="dim">None.</p>{{end}}
</body></html>
`

// homeMessages is how many messages the page shows.
const homeMessages = 50

// homePage is the data of the page.
type homePage struct {
	Name  string
	Org   *overview.OrgReport
	Tasks *tasks.Listing
	Mail  []letters.Mail
	Bare  bool // there is no dashboard
}

func (s *site) home(w http.ResponseWriter, r *http.Request) {
	b, err := s.renderHome(r)
	if err != nil {
		s.log.Error("the page could not be made", "err", err)
		text, _ := hint.Explain(err)
		login.Refuse(w, r, http.StatusInternalServerError, "the page could not be made: "+text, "")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	login.AllowStyle(w.Header(), homeStyle)
	w.Write(b)
}

func (s *site) renderHome(r *http.Request) ([]byte, error) {
	p := homePage{Name: filepath.Base(s.project.Root), Bare: s.dashboard == nil}
	var err error
	if p.Org, err = s.project.Overview().Organization(r.Context()); err != nil {
		return nil, err
	}
	if p.Tasks, err = s.project.Tasks().List(tasks.TaskQuery{}); err != nil {
		return nil, err
	}
	if p.Mail, _, err = s.project.Letters().Page(r.Context(), letters.MailQuery{}, "", homeMessages); err != nil {
		return nil, err
	}
	now := s.project.Now()
	t, err := template.New("home").Funcs(template.FuncMap{"span": func(since *time.Time) string {
		if since == nil {
			return ""
		}
		return say.Span(now.Sub(*since))
	}}).Parse(homeText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, p)
	return out.Bytes(), err
}
