package transcript

// Newest returns how many entries from the end fit into limit bytes of transcript
// text, given the size of each, and how many bytes they take. Entries are whole or
// left out; 0 means no limit.
func Newest(sizes []int, limit int) (taken, bytes int) {
	for i := len(sizes) - 1; i >= 0; i-- {
		if limit > 0 && bytes+sizes[i] > limit {
			break
		}
		bytes += sizes[i]
		taken++
	}
	return taken, bytes
}
