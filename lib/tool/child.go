package tool

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the end of a context by a signal.
type interrupted struct{ syscall.Signal }

func (i interrupted) Error() string { return i.String() }

// Interruptible returns a context that ends with SIGINT, SIGTERM or SIGHUP, for the
// few programs that have children to end before they end themselves. A signal that
// was ignored when the program was started, by nohup for example, stays so.
func Interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			cancel(interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// Chatter returns standard error, for what children say to people.
func (c *Call) Chatter() io.Writer { return os.Stderr }
