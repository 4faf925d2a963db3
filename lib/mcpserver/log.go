package mcpserver

import (
	"fmt"
	"os"
	"time"

	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// Log returns a function that adds a line to a file among this machine's logs, nil
// on a machine without a home.
func Log(file string) func(format string, args ...any) {
	machine, err := home.Open()
	if err != nil {
		return nil
	}
	log := machine.Log(file, 1<<20)
	return func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(log, "%s %d %.2000s\n", stamp.Record(time.Now()), os.Getpid(), text)
	}
}
