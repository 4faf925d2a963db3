package gateway

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// statuses are the HTTP statuses of refusals.
var statuses = map[fault.Code]int{
	fault.Usage: http.StatusBadRequest, fault.BadInput: http.StatusBadRequest, fault.InvalidName: http.StatusBadRequest,
	fault.UnknownParticipant: http.StatusNotFound, fault.UnknownThread: http.StatusNotFound, fault.UnknownEntry: http.StatusNotFound,
	fault.NotInThread: http.StatusForbidden, fault.NotModerator: http.StatusForbidden, fault.Denied: http.StatusForbidden,
	fault.Exists: http.StatusConflict, fault.Stale: http.StatusConflict, fault.NotEnded: http.StatusConflict,
	fault.Ended: http.StatusGone, fault.NotYourTurn: http.StatusLocked, fault.TooLarge: http.StatusRequestEntityTooLarge,
	fault.Busy: http.StatusServiceUnavailable, fault.Timeout: http.StatusGatewayTimeout,
}

// Public returns an error as participants may see it. What has to do with the
// host's files is told to the host alone.
func (g *Gateway) Public(err error) *fault.Error {
	f := fault.From(err)
	code := f.Code
	if _, known := statuses[code]; errors.Is(f, tooMany) || known && code != fault.Busy && !g.ofHost(f) {
		return f
	} else if known && code != fault.Busy {
		code = fault.IO // no participant's business, and no fault of his
	}
	if !left(err) {
		g.Odd(f)
	}
	told := fault.New(code, "the host has trouble with this").WithHint("try again later, or tell the host")
	told.Thread = f.Thread
	return told
}

// left reports whether an error is only that the client went away.
func left(err error) bool {
	var connection *net.OpError
	return errors.Is(err, context.Canceled) || errors.As(err, &connection)
}

// ofHost reports whether an error is one of the host's files, whatever its code:
// the permission of a file that is missing, say, or a path that is too long.
func (g *Gateway) ofHost(f *fault.Error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	return errors.As(f, &path) || errors.As(f, &link) || errors.As(f, &call) || strings.Contains(f.Message+f.Hint, g.Space)
}

// Status returns the HTTP status of an error.
func Status(f *fault.Error) int {
	switch {
	case errors.Is(f, tooMany):
		return http.StatusTooManyRequests
	case errors.Is(f, errNotJSON):
		return http.StatusUnsupportedMediaType
	case errors.Is(f, noVersion):
		return http.StatusPreconditionRequired
	}
	if status, ok := statuses[f.Code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// Fail answers with an error record. An answer that has begun is broken off, so
// that its reader does not take it for a whole one.
func (g *Gateway) Fail(w http.ResponseWriter, err error) {
	f := g.Public(err)
	if a, ok := w.(*answer); ok && a.wrote {
		panic(http.ErrAbortHandler)
	}
	Refuse(w, Status(f), f)
}

// Refuse answers with an error record and a status of its own.
func Refuse(w http.ResponseWriter, status int, err error) {
	send(w, status, record.ErrorOf(fault.From(err)))
}

// send answers with one record.
func send(w http.ResponseWriter, status int, v any) error {
	line, err := record.Encode(v)
	if err != nil {
		return err
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(1))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(line)))
	w.WriteHeader(status)
	_, err = w.Write(line)
	return err
}

// Refusals that HTTP has a status of its own for.
var (
	errNotJSON = errors.New("not application/json")

	tooMany   = fault.New(fault.Busy, "too many requests").WithHint("slow down")
	noVersion = fault.New(fault.BadInput, "version is missing").
			WithHint("send the version of the room that you have seen")
)

func noRoom(name string) error {
	name = record.Clip(name, 64)
	return fault.New(fault.UnknownThread, "no such room: %q", name).In(name)
}

// hidden makes every way in which a room can be absent look the same.
func hidden(err error, name string) error {
	if fault.Is(err, fault.UnknownThread) {
		return noRoom(name)
	}
	return err
}
