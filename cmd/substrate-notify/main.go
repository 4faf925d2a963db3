// Command substrate-notify keeps an agent's notifications; see substrate-notify(1).
package main

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-notify put CHANNEL --header TEXT [--icon TEXT] [--priority P]
                            [--instructions TEXT] [-f FILE | -m TEXT] [--json] [--expect V]
                            [--body DIR] [--text]
       substrate-notify put system --source NAME [-f FILE | -m TEXT] [--ref REF] [--key KEY]
                            [--priority P] [--body DIR] [--text]
       substrate-notify check [CHANNEL] [--body DIR] [--text]
       substrate-notify dismiss-channel CHANNEL [--force] [--reason TEXT] [--expect V] [--body DIR]
                            [--text]
       substrate-notify dismiss-event ID [--body DIR] [--text]
       substrate-notify dismiss-ref REF [--body DIR] [--text]

Show, make and dismiss an agent's notifications: one file a channel, which says
how things stand. The channel system is a list of events instead.

  --header TEXT    what it is about, in a line
  --icon TEXT      a character before it
  --priority P     low, normal (the default) or high
  --instructions TEXT
                   what the agent is to do about it
  -f FILE          take the text from FILE (-: standard input)
  -m TEXT          take TEXT
  --json           the text is a JSON object, the channel's data as such
  --source NAME    who the event comes from
  --ref REF        what it is about
  --key KEY        an event whose KEY is known, dismissed or not, is not put again
  --force          dismiss although the producer keeps track, or it was not seen
  --reason TEXT    what you make of it; post-molt is dismissed with one
  --expect V       refuse unless the channel's version is V

substrate-notify put cron --header 'backup failed' --priority high -f backup.log --body ~/net/ann
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	n := define(c)
	operands, err := c.Parse(1, 2)
	if err != nil {
		return err
	}
	b, err := body.Find(*n.dir)
	if err != nil {
		return err
	}
	return n.do(context.Background(), notice.Open(b).Within(*n.wait), operands, time.Now())
}
