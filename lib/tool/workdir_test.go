package tool

import (
	"strings"
	"testing"
)

func TestWorkdirComesFromTheFlagElseTheEnvironment(t *testing.T) {
	t.Setenv("SUBSTRATE_BODY", "/env")
	for args, want := range map[string]string{"": "/env", "--body /flag": "/flag", "--body=": ""} {
		x, _ := call(strings.Fields(args)...)
		dir := x.Workdir()
		if _, err := x.Parse(0, 0); err != nil || *dir != want {
			t.Errorf("%q: got %q, %v", args, *dir, err)
		}
	}
}
