package files_test

import (
	"testing"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, string) {
		root, err := files.Init(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return &files.Store{}, root
	})
}
