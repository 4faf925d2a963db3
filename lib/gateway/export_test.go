package gateway

import "slices"

// Patterns returns the patterns of the API's routes, sorted.
func (g *Gateway) Patterns() (all []string) {
	for pattern := range g.routes() {
		all = append(all, pattern)
	}
	slices.Sort(all)
	return all
}

// OpenAPI is the document that is served.
var OpenAPI = openAPI
