package control

import (
	"cmux/agents/platform/settings"
)

// TrustedHosts is the origins of the hosts that the person's own file lists. A file
// that cannot be read lists none.
func TrustedHosts() (origins []string) {
	user, err := settings.Read()
	if err != nil {
		return nil
	}
	for _, h := range user.Hosts {
		if origin, err := settings.HostOrigin(h); err == nil {
			origins = append(origins, origin)
		}
	}
	return origins
}
