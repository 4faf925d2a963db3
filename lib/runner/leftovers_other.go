//go:build !linux

package runner

func session() int { return 0 }

// endLeftovers cannot tell here which processes were a mind's.
func endLeftovers(string, int) (int, error) { return 0, nil }
