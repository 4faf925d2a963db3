package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	for status, codes := range map[int][]fault.Code{
		1: {
			"unknown_participant", "unknown_thread", "unknown_entry", "exists", "not_in_thread", "not_your_turn",
			"not_moderator", "ended", "not_ended", "stale", "denied",
		},
		99:  {"timeout"},
		100: {"usage", "bad_input", "corrupt", "invalid_name", "not_a_space", "too_large"},
		111: {"busy", "io", "unreachable"},
	} {
		for _, code := range codes {
			if got := code.Status(); got != status {
				t.Errorf("%s: status %d, want %d", code, got, status)
			}
		}
	}
}

func TestConstantsAreSpelledAsInRecords(t *testing.T) {
	for code, want := range map[fault.Code]string{
		fault.Usage: "usage", fault.BadInput: "bad_input", fault.Corrupt: "corrupt",
		fault.InvalidName: "invalid_name", fault.NotASpace: "not_a_space",
		fault.UnknownParticipant: "unknown_participant", fault.UnknownThread: "unknown_thread",
		fault.UnknownEntry: "unknown_entry", fault.Exists: "exists", fault.NotInThread: "not_in_thread",
		fault.NotYourTurn: "not_your_turn", fault.NotModerator: "not_moderator", fault.Ended: "ended",
		fault.NotEnded: "not_ended", fault.Stale: "stale", fault.TooLarge: "too_large", fault.Denied: "denied",
		fault.Timeout: "timeout", fault.Busy: "busy", fault.IO: "io", fault.Unreachable: "unreachable",
	} {
		if string(code) != want {
			t.Errorf("got %q, want %q", code, want)
		}
	}
}

func TestFromGivesForeignErrorsACode(t *testing.T) {
	at := func(err error) error { return &fs.PathError{Op: "open", Path: "/x", Err: err} }
	for _, c := range []struct {
		err  error
		code fault.Code
		hint string
	}{
		{at(syscall.EACCES), fault.Denied, ""},
		{at(syscall.EPERM), fault.Denied, ""},
		{at(fs.ErrPermission), fault.Denied, ""},
		{at(syscall.EROFS), fault.Denied, ""},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EROFS}, fault.Denied, ""},
		{at(syscall.ENOSPC), fault.IO, "free some space and run it again"},
		{at(syscall.EIO), fault.IO, ""},
		{at(syscall.ENOENT), fault.IO, ""},
		{context.Canceled, fault.IO, ""},
		{errors.New("odd"), fault.IO, ""},
	} {
		f := fault.From(fmt.Errorf("while testing: %w", c.err))
		if f.Code != c.code || f.Hint != c.hint {
			t.Errorf("%v: got %s with hint %q, want %s with %q", c.err, f.Code, f.Hint, c.code, c.hint)
		}
		if want := "while testing: " + c.err.Error(); f.Message != want || f.Error() != want {
			t.Errorf("got message %q, want %q", f.Message, want)
		}
		if !errors.Is(f, c.err) {
			t.Errorf("%v: the cause is lost", c.err)
		}
	}
}

// What is said about one use of a shared error is not said about the next.
func TestFromLeavesASharedErrorAlone(t *testing.T) {
	shared := fault.New(fault.Corrupt, "not a space")
	f := fault.From(shared).In("one").At("ann", 3).WithHint("look")
	if f.Message += "!"; shared.Thread != "" || shared.Version != nil || shared.Hint != "" || shared.Message != "not a space" {
		t.Errorf("%+v", shared)
	}
	if !errors.Is(f, shared) || f.Code != fault.Corrupt {
		t.Errorf("%+v is another error", f)
	}
}

func TestFromNilIsNil(t *testing.T) {
	if f := fault.From(nil); f != nil {
		t.Errorf("got %v", f)
	}
	if fault.Is(nil, fault.IO) {
		t.Error("no error has a code")
	}
}

func TestCodeIsFoundThroughWrapping(t *testing.T) {
	inner := fault.New(fault.Stale, "stale")
	for _, err := range []error{
		inner, fmt.Errorf("a: %w", inner), errors.Join(errors.New("b"), inner), fmt.Errorf("c: %w", fmt.Errorf("d: %w", inner)),
	} {
		if !fault.Is(err, fault.Stale) || fault.Is(err, fault.IO) {
			t.Errorf("%v: got code %s", err, fault.From(err).Code)
		}
	}
}

func TestNewKeepsItsCause(t *testing.T) {
	err := fault.New(fault.Corrupt, "%q: %w", "f", fs.ErrInvalid)
	if err.Message != `"f": invalid argument` || !errors.Is(err, fs.ErrInvalid) || err.Code != fault.Corrupt {
		t.Errorf("got %#v", err)
	}
	if plain := fault.New(fault.Usage, "what?"); plain.Unwrap() != nil {
		t.Errorf("a cause from nowhere: %v", plain.Unwrap())
	}
}

func TestAnOuterCodeHidesTheInnerOne(t *testing.T) {
	err := fault.New(fault.Corrupt, "%w", fault.New(fault.IO, "x"))
	if !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %s", fault.From(err).Code)
	}
}

func TestFactsAreAdded(t *testing.T) {
	err := fault.New(fault.Stale, "x").WithHint("try %d", 2).In("r").At("dan", 0)
	if err.Hint != "try 2" || err.Thread != "r" || err.Current != "dan" || err.Version == nil || *err.Version != 0 {
		t.Errorf("got %#v", err)
	}
	if fault.New(fault.Stale, "x").Version != nil {
		t.Error("a version nobody has set")
	}
}

func TestWhatWrapsAFaultIsSaid(t *testing.T) {
	inner := fault.New(fault.InvalidName, "invalid").WithHint("h").In("r")
	f := fault.From(fmt.Errorf("participants.yaml:4: %w", inner))
	if f.Message != "participants.yaml:4: invalid" || f.Code != fault.InvalidName || f.Hint != "h" || f.Thread != "r" {
		t.Errorf("got %+v", f)
	}
	if inner.Message != "invalid" {
		t.Errorf("the fault that was wrapped became %+v", inner)
	}
}
