package preset

// Public reports whether an excerpt may show a word.
func Public(word string) bool {
	return public[word] || word == "true" || word == "false" || word == "null"
}

// Span returns where a value begins and ends, in bytes of the text without a byte
// order mark.
func (d *Doc) Span(path ...string) (start, end int) {
	v := d.find(path)
	return v.StartOffset, v.EndOffset
}
