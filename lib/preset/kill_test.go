package preset_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/preset"
)

// swapsIn is set for a child that swaps in a directory until it is killed.
const swapsIn = "PRESET_TEST_SWAPS_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(swapsIn); dir != "" {
		swapForEver(dir)
	}
	os.Exit(m.Run())
}

func swapForEver(dir string) {
	h := preset.Here()
	for {
		for _, ref := range []string{"a.json", "b.jsonc"} {
			if _, _, err := h.Activate(context.Background(), dir, preset.Request{Preset: ref, Wait: time.Minute}); err != nil {
				os.Stderr.WriteString(err.Error() + "\n")
				os.Exit(3)
			}
		}
	}
}

// Class 13 and 10: a writer that is killed leaves the old file or the new one, and
// nothing in the way of the next.
func TestClass10Class13AWriterIsKilled(t *testing.T) {
	h, dir := swappable(t)
	path := filepath.Join(dir, "init.json")
	models := map[string]string{"a.json": "m-a", "b.jsonc": "m-b"}
	for i := range 30 {
		if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: "a.json"}); err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), swapsIn+"="+dir, "HOME="+h.Home)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		before := bodytest.Contents(t, path)
		for deadline := time.Now().Add(time.Minute); bodytest.Contents(t, path) == before; {
			if time.Now().After(deadline) {
				t.Fatal("the child swaps nothing")
			}
		}
		// It is at work now; each round ends it somewhere else.
		for range i * 10 {
			bodytest.Contents(t, path)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); child.ProcessState.Exited() {
			t.Fatalf("the child ended by itself: %v", err)
		}
		r := h.Read(dir, preset.AtBoot)
		if r.Config == nil {
			t.Fatalf("kill %d: %v: %s", i, r.Err(), bodytest.Contents(t, path))
		}
		refs := r.Config.Preset()
		if model := r.Config.LLM().Model; models[refs.Active] != model || refs.Default != refs.Active {
			t.Fatalf("kill %d: %+v with %s", i, refs, model)
		}
		d, err := preset.ParseDoc([]byte(bodytest.Contents(t, path)))
		if err != nil {
			t.Fatal(err)
		}
		llm := d.Value.(map[string]any)["manifest"].(map[string]any)["llm"].(map[string]any)
		if llm["model"] != models[refs.Active] {
			t.Fatalf("kill %d: %s in the file of %s", i, llm["model"], refs.Active)
		}
	}
}
