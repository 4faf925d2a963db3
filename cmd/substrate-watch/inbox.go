package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/record"
)

// inbox is the one of an agent whose floors are watched.
type inbox struct{ agent body.Body }

func openInbox(dir string) (*inbox, error) {
	b, err := body.Find(dir)
	return &inbox{b}, err
}

// drop puts a floor into the inbox, once while it has not been taken from there.
func (i *inbox) drop(f record.Floor, who string) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s", f.Root, f.Thread, f.Version, f.Event))
	where := record.Shell(f.Thread) + " --space " + record.Shell(f.Root)
	e := notice.Dropped{
		ID: "floor-" + hex.EncodeToString(sum[:8]), From: "substrate-watch", Metadata: f,
		Subject: record.Clip(fmt.Sprintf("your turn in %q", f.Thread), 190),
		Body: fmt.Sprintf("You hold the floor as %q. Topic: %s\nRead it:   substrate-read %s --text --tail 20\n"+
			"Answer it: substrate-post %s --as %s --expect %d <answer.md, or --pass\n",
			who, record.OneLine(f.Topic), where, where, who, f.Version),
	}
	if f.Event == "ended" {
		e.Subject, e.Quiet = record.Clip(fmt.Sprintf("%q has ended", f.Thread), 190), true
		e.Body = "There is nothing to answer. Read it: substrate-read " + where + " --text --tail 20\n"
	}
	_, err := notice.Drop(i.agent, "substrate", e, time.Now())
	return err
}
