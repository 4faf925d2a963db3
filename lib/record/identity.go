package record

// Identity is who the person at this machine is.
type Identity struct {
	Type string `json:"type"` // "identity"
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Text names the person.
func (i Identity) Text() string { return i.Name + " (" + i.Kind + ")" }
