package disk

import "path/filepath"

// Refresh publishes data under path, whole but not durable, for what its one writer
// replaces again and again, a heartbeat for example: making a file costs ten times
// what writing one does. It writes into a spare beside it, and the two change
// places in one step; a reader keeps the file that he has opened, which is written
// again at the refresh after the next. Where that cannot be done it is ReplaceLoose.
func Refresh(path string, data []byte) error {
	spare := spareOf(path)
	if err := rewrite(spare, data); err == nil && exchange(spare, path) == nil {
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

// RemoveRefreshed removes a file that was published by Refresh, and its spare.
func RemoveRefreshed(path string) error {
	EndRefresh(path)
	return Remove(path)
}

func spareOf(path string) string {
	return filepath.Join(filepath.Dir(path), TempPrefix+"spare-"+filepath.Base(path))
}
