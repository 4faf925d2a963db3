package disk

import "path/filepath"

// Overwrite publishes data under path, not durable, for what its one writer writes again
// and again, always as many bytes: in place and in one write, which costs a third of what
// Refresh does. There is no moment at which the file is absent or cut; who reads it in
// the very moment of the write may find some bytes of one and some of the other, so they
// must mean something together. Where there is no regular file of that size it is
// ReplaceLoose.
func Overwrite(path string, data []byte) error {
	if rewrite(path, data, true) == nil {
		return nil
	}
	return ReplaceLoose(path, data)
}

// Refresh publishes data under path, whole but not durable, for what its one writer
// replaces again and again: making a file costs ten times
// what writing one does. It writes into a spare beside it, and the two change
// places in one step; a reader keeps the file that he has opened, which is written
// again at the refresh after the next. Where that cannot be done it is ReplaceLoose.
func Refresh(path string, data []byte) error {
	spare := spareOf(path)
	if err := rewrite(spare, data, false); err == nil && exchange(spare, path) == nil {
		return nil
	}
	if err := ReplaceLoose(path, data); err != nil {
		return err
	}
	// For the next time, if there is going to be one here.
	if canExchange {
		ReplaceLoose(spare, data)
	}
	return nil
}

// EndRefresh leaves the file that was published by Refresh last alone, as one that is
// not refreshed any more.
func EndRefresh(path string) error { return Remove(spareOf(path)) }

func spareOf(path string) string {
	return filepath.Join(filepath.Dir(path), TempPrefix+"spare-"+filepath.Base(path))
}
