package top

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"cmux/agents/control/overview"
)

func orgOf(agents int) *overview.OrgReport {
	r := &overview.OrgReport{State: overview.OrgRunning, Session: "shop"}
	for i := range agents {
		a := overview.AgentReport{Name: fmt.Sprintf("w%d", i), State: "idle"}
		if i == 3 {
			a.State, a.Detail = "needs input", "which one?"
		}
		r.Agents = append(r.Agents, a)
	}
	return r
}

func orgScreen(width, height int, r *overview.OrgReport) orgModel {
	m := newOrgModel(OrgOptions{
		Table: func(r *overview.OrgReport, _ int) []string {
			lines := []string{"NAME  STATE"}
			for i := range r.Agents {
				lines = append(lines, r.Agents[i].Name+"  "+r.Agents[i].State)
			}
			return lines
		},
		Rest: func(*overview.OrgReport) (above, below []string) {
			return []string{"organization: running"}, []string{strings.Repeat("below ", 60)}
		},
		About: func(a *overview.AgentReport) []string { return []string{"name " + a.Name, "state " + a.Explained()} },
	})
	m, _ = m.step(tea.WindowSizeMsg{Width: width, Height: height})
	m, _ = m.step(orgSeen{r})
	return m
}

func (m orgModel) keys(all ...string) (orgModel, *orgEffect) {
	var e *orgEffect
	for _, k := range all {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		for typ, name := range map[tea.KeyType]string{tea.KeyEnter: "enter", tea.KeyEsc: "esc", tea.KeyUp: "up", tea.KeyDown: "down", tea.KeyEnd: "end", tea.KeyHome: "home"} {
			if name == k {
				msg = tea.KeyMsg{Type: typ}
			}
		}
		m, e = m.step(msg)
	}
	return m, e
}

// At every size the screen fits, the selected agent is on it, and so are the keys.
func TestOrgFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 45}, {40, 8}, {20, 4}} {
		for _, agents := range []int{0, 1, 5, 100} {
			m := orgScreen(size[0], size[1], orgOf(agents))
			for _, k := range []string{"down", "end", "up", "home", "?", "esc", "m", "esc"} {
				m, _ = m.keys(k)
				lines := m.frame()
				if len(lines) > size[1] {
					t.Errorf("%v, %d agents, %s: %d lines", size, agents, k, len(lines))
				}
				for _, l := range lines {
					if w := ansi.StringWidth(l); w > size[0] {
						t.Errorf("%v, %d agents, %s: %d columns: %q", size, agents, k, w, l)
					}
				}
				if text := strings.Join(lines, "\n"); size[0] >= 40 && agents > 0 && k != "?" && !strings.Contains(text, m.selected+"  ") {
					t.Errorf("%v, %d agents, %s: %s is not shown:\n%s", size, agents, k, m.selected, text)
				}
			}
		}
	}
}

// Each key gives the command that ? names beside it.
func TestOrgKeys(t *testing.T) {
	m := orgScreen(80, 24, orgOf(5))
	m, _ = m.keys("n")
	if m.selected != "w3" {
		t.Fatalf("n selects %s", m.selected)
	}
	help := strings.Join(orgHelp(), "\n")
	for _, c := range []struct{ key, want string }{
		{"enter", "cmux workers attach w3"}, {"l", "cmux workers logs w3"}, {"r", "cmux workers wake w3"},
		{"t", "cmux workers take w3"}, {"e", "cmux workers release w3"},
	} {
		if _, e := m.keys(c.key); e == nil || e.order.String() != c.want || e.key != c.key || e.name != "w3" {
			t.Errorf("%s gives %+v, want %s", c.key, e, c.want)
		}
		if !strings.Contains(help, strings.Replace(c.want, "w3", "NAME", 1)) {
			t.Errorf("? does not name %s", c.want)
		}
	}
	if _, e := m.keys("m", "h", "i", "enter"); e == nil || e.order.String() != "cmux workers send -- w3 hi" {
		t.Errorf("m gives %+v", e)
	}
	if _, e := m.keys("m", "-", "1", "enter"); e == nil || !slices.Equal(e.order.words, []string{"workers", "send", "--", "w3", "-1"}) {
		t.Errorf("a message with a dash gives %+v", e)
	}
	if _, e := m.keys("m", "enter"); e != nil {
		t.Errorf("an empty message gives %+v", e)
	}
	if m, e := m.keys("q"); e != nil || !strings.Contains(m.said, "cmux stop") {
		t.Errorf("q: %+v, %q", e, m.said)
	}
	busy, _ := m.keys("r")
	if _, e := busy.keys("t"); e != nil {
		t.Errorf("while an order is carried out: %+v", e)
	}
	done, _ := busy.step(did{said: "w3: started again"})
	if text := strings.Join(done.frame(), "\n"); !strings.Contains(text, "w3: started again") {
		t.Error(text)
	}
	// Who is selected stays so when agents come and go.
	r := orgOf(5)
	r.Agents = r.Agents[2:]
	if m, _ = m.step(orgSeen{r}); m.selected != "w3" {
		t.Errorf("%s is selected", m.selected)
	}
	r.Agents = r.Agents[2:]
	if m, _ = m.step(orgSeen{r}); m.selected != "w4" {
		t.Errorf("%s is selected", m.selected)
	}
}
