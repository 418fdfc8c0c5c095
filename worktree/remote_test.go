package worktree

import (
	"errors"
	"strings"
	"testing"

	"cmux/worktree/common"
)

func TestPushRemote(t *testing.T) {
	for _, c := range []struct{ name, config, want, says string }{
		{"none", "", "", "no remote"},
		{"the only one", "remote.upstream.url=u", "upstream", ""},
		{"origin of several", "remote.a.url=u remote.origin.url=u", "origin", ""},
		{"where the base goes", "remote.a.url=u remote.b.url=u branch.main.remote=b", "b", ""},
		{"where the base is pushed", "remote.a.url=u remote.b.url=u branch.main.remote=b branch.main.pushremote=a", "a", ""},
		{"several", "remote.b.url=u remote.a.pushurl=u", "", "a, b"},
		{"pushDefault", "remote.origin.url=u remote.b.url=u remote.pushdefault=b", "b", ""},
		{"the branch's", "remote.origin.url=u remote.b.url=u remote.pushdefault=origin branch.s/x.pushremote=b", "b", ""},
		{"the repository itself", "remote.origin.url=u branch.s/x.remote=.", "origin", ""},
		{"a name without a remote", "remote.origin.url=u remote.pushdefault=gone", "", "gone"},
		{"a URL", "remote.pushdefault=https://example.com/x.git", "https://example.com/x.git", ""},
		{"a name with dots", "remote.my.host.url=u", "my.host", ""},
	} {
		s := new(common.State)
		for kv := range strings.FieldsSeq(c.config) {
			key, value, _ := strings.Cut(kv, "=")
			s.Config = append(s.Config, common.Setting{Scope: "local", Key: key, Value: value})
		}
		got, err := s.PushRemote("s/x", "main")
		if got != c.want || (err != nil) != (c.says != "") || err != nil && (!errors.Is(err, common.ErrNoRemote) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %q, %v; want %q, an error with %q", c.name, got, err, c.want, c.says)
		}
	}
}
