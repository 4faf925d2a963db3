package body

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// DefaultThreshold is how old a heartbeat is that no longer counts as alive.
const DefaultThreshold = 10 * time.Second

// Lookup is how the environment is read; os.LookupEnv is one.
type Lookup func(name string) (value string, set bool)

// Env is what the environment decides here. It is read once, by the program.
type Env struct {
	Threshold time.Duration // a heartbeat that is this old is no longer alive
}

// ReadEnv reads the environment.
func ReadEnv(look Lookup) Env {
	return Env{Threshold: look.Seconds("AGENT_ALIVE_THRESHOLD_SEC", DefaultThreshold)}
}

// Get returns a setting that goes by SUBSTRATE_<name> and by LINGTAI_<name>, of
// which the first wins. One that is set to nothing counts as not set.
func (look Lookup) Get(name string) string {
	if value, _ := look("SUBSTRATE_" + name); value != "" {
		return value
	}
	value, _ := look("LINGTAI_" + name)
	return value
}

// Seconds returns a setting that is a number of seconds, or otherwise where it is
// not set or is no positive, finite number.
func (look Lookup) Seconds(name string, otherwise time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(look.Get(name)), 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return otherwise
	}
	if d := n * float64(time.Second); d < math.MaxInt64 {
		return max(time.Duration(d), 1)
	}
	return math.MaxInt64
}

// Switch returns a setting that is on or off: on when it is 1, true, yes or on, in
// letters of either case, off when it is anything else, and otherwise where it is
// not set.
func (look Lookup) Switch(name string, otherwise bool) bool {
	switch value := strings.ToLower(strings.TrimSpace(look.Get(name))); value {
	case "":
		return otherwise
	case "1", "true", "yes", "on":
		return true
	}
	return false
}
