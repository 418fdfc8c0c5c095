package dag

import (
	"fmt"
	"slices"
)

var (
	outcomes   = []string{"", "done", "override", "failed", "cancelled"}
	activities = []string{"working", "checking", "needs input", "taken over", "limited", "setting up", "idle"}
)

func (o Outcome) String() string { return outcomes[o] }

// MarshalText returns the outcome's name, as in records.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(outcomes[o]), nil }

func (o *Outcome) UnmarshalText(b []byte) error {
	i := slices.Index(outcomes, string(b))
	if i < 0 {
		return fmt.Errorf("unknown outcome %q", b)
	}
	*o = Outcome(i)
	return nil
}

func (a Activity) String() string { return activities[a] }

// MarshalText returns the activity's name, as in records.
func (a Activity) MarshalText() ([]byte, error) { return []byte(activities[a]), nil }

func (a *Activity) UnmarshalText(b []byte) error {
	i := slices.Index(activities, string(b))
	if i < 0 {
		return fmt.Errorf("unknown activity %q", b)
	}
	*a = Activity(i)
	return nil
}
