package tool

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible returns a context that ends with SIGINT, SIGTERM or SIGHUP, for the
// few programs that have children to end before they end themselves.
func Interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// Chatter returns standard error, for what children say to people.
func (c *Call) Chatter() io.Writer { return os.Stderr }
