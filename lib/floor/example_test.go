package floor_test

import (
	"fmt"

	"github.com/substrate-tools/substrate/lib/floor"
)

func Example() {
	registered := func(string) error { return nil }
	s, _ := floor.Open("which parser?", "2026-07-06T13:15:02.000Z", "dan", []string{"ann", "bob"}, registered)
	fmt.Println(s.Current(), "paused:", s.Paused())

	s, _ = s.Quiet("dan", "ann", 1)
	s, _ = s.Post("dan") // the floor passes over ann, once
	fmt.Println(s.Current(), s.Quieted)

	_, err := s.Post("ann")
	fmt.Println(err)

	s, _ = s.End("dan")
	s, _ = s.Resume("dan")
	fmt.Println(s.Current())
	// Output:
	// dan paused: true
	// bob map[]
	// not your turn: "bob" holds the floor
	// dan
}
