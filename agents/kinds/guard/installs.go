package guard

import "cmux/agents/kinds/guard/places"

// agentsOwn judges a command by which an agent's program writes those files.
func (s *shell) agentsOwn(name string, args []word) {
	words := plain(args, "")
	if len(words) < 2 || has(args, "h", "help") {
		return
	}
	sub, verb := words[0].text, words[1]
	if (sub == "mcp" || sub == "config" || sub == "plugin" || sub == "plugins" || sub == "features") && !verb.is("list", "get", "ls", "show") {
		s.refuse(places.GivesOrders(name + " " + sub + " " + verb.text))
	}
}

// installers are programs that write hooks of git's, and the words by which.
var installers = map[string][]string{
	"pre-commit": {"install", "uninstall", "init-templatedir"},
	"lefthook":   {"install", "uninstall", "add"},
	"husky":      {"", "install", "init", "add", "set", "uninstall"},
}
