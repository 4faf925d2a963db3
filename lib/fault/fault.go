// Package fault holds the error codes of substrate-records(5), the exit status
// each maps to, and the one error type that carries them.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Code says what kind of refusal or failure an error is. Codes are part of the
// record format: they may be added, never renamed.
type Code string

// The codes of spec/commands.md.
const (
	Usage              Code = "usage"
	BadInput           Code = "bad_input"
	Corrupt            Code = "corrupt"
	InvalidName        Code = "invalid_name"
	NotASpace          Code = "not_a_space"
	UnknownParticipant Code = "unknown_participant"
	UnknownThread      Code = "unknown_thread"
	UnknownEntry       Code = "unknown_entry"
	Exists             Code = "exists"
	NotInThread        Code = "not_in_thread"
	NotYourTurn        Code = "not_your_turn"
	NotModerator       Code = "not_moderator"
	Ended              Code = "ended"
	NotEnded           Code = "not_ended"
	Stale              Code = "stale"
	TooLarge           Code = "too_large"
	Denied             Code = "denied"
	Timeout            Code = "timeout"
	Busy               Code = "busy"
	IO                 Code = "io"
	Unreachable        Code = "unreachable"
)

// The exit statuses of every program; see substrate(7).
const (
	StatusOK    = 0
	StatusNo    = 1   // answered no
	StatusAgain = 99  // timed out, ask again
	StatusFix   = 100 // fix something first
	StatusLater = 111 // try again later, nothing half done
)

// Status returns the exit status of a program that ends with this code.
func (c Code) Status() int {
	switch c {
	case Usage, BadInput, Corrupt, InvalidName, NotASpace, TooLarge:
		return StatusFix
	case Timeout:
		return StatusAgain
	case Busy, IO, Unreachable:
		return StatusLater
	}
	return StatusNo
}

// Error is a refusal or a failure with its code and the facts an error record
// carries besides the message. Zero fields are left out of the record.
type Error struct {
	Code    Code
	Message string // what failed, then the quoted subject; lower case, no full stop
	Hint    string // what to do about it; one line
	Thread  string // the room it happened in
	Current string // who holds the floor there
	Version *int   // the room's version, in entries
	Err     error  // what caused it, for errors.Is and errors.As
}

// New returns an error with a formatted message. A %w verb records the cause.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.Err }

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// In sets the room an error is about and returns e.
func (e *Error) In(thread string) *Error {
	e.Thread = thread
	return e
}

// At sets where a room's floor and version stood and returns e.
func (e *Error) At(current string, version int) *Error {
	e.Current, e.Version = current, &version
	return e
}

// From returns err as an *Error, which is the caller's to add to: many may share the
// one it is made from. One that wraps an Error keeps its own text and takes over the
// rest. An error of the file system keeps its text and gets the
// code io, or denied where permission is what is missing. A nil err gives nil.
func From(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		own := *e
		own.Message, own.Err = err.Error(), err
		return &own
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &Error{Code: Denied, Message: err.Error(), Err: err}
	case errors.Is(err, syscall.ENOSPC):
		return (&Error{Code: IO, Message: err.Error(), Err: err}).WithHint("free some space and run it again")
	}
	return &Error{Code: IO, Message: err.Error(), Err: err}
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool {
	return err != nil && From(err).Code == code
}
