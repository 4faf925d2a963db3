//go:build !linux

package spawn

// Unhurried is for a program that does little once a second, for ever. There is nothing
// to ask for here.
func Unhurried() {}
