// Command substrate-mail is an agent's mail; see substrate-mail(1).
package main

import (
	"context"
	"os"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/mail"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-mail send TO... [--subject TEXT] [-f FILE | -m TEXT] [--cc A,B] [--bcc A,B]
                      [--attach FILE]... [--delay D] [--id KEY] [--mode abs] [--body DIR] [--text]
       substrate-mail check [--folder NAME] [--from TEXT] [--subject TEXT] [--contains TEXT]
                      [--after TIME] [--before TIME] [--unread-only] [--has-attachments]
                      [--sort newest|oldest] [-n N] [--body DIR] [--text]
       substrate-mail read ID... [--body DIR] [--text]
       substrate-mail reply ID [-f FILE | -m TEXT] [--attach FILE]... [--delay D] [--id KEY]
                      [--body DIR] [--text]
       substrate-mail dismiss|archive|delete ID... [--body DIR] [--text]
       substrate-mail search REGEX [-n N] [--body DIR] [--text]
       substrate-mail contacts [--body DIR] [--text]
       substrate-mail contacts add|edit|remove ADDRESS [--name TEXT] [--note TEXT] [--body DIR] [--text]

Send mail from an agent to its peers, and see to what it was sent. A recipient
that is not there gets nothing, and the sender is told; nothing is queued there.
The text comes from standard input unless -f or -m says otherwise.

  --id KEY         the message's ID; a repeated one delivers to nobody twice
  --delay D        deliver after D, such as 90s; the running agent does it then
  --mode abs       TO may be the absolute path of an agent's directory
  --folder NAME    inbox (the default), outbox, sent or archive
  --unread-only    what was not read
  --has-attachments
                   what has files attached
  -n N             N messages at most (default 10)

substrate-mail send bob --subject plan -f plan.md --body ~/net/ann
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	p := define(c)
	operands, err := c.Parse(1, -1)
	if err != nil {
		return err
	}
	b, err := body.Find(*p.dir)
	if err != nil {
		return err
	}
	p.box = mail.Open(b, body.ReadEnv(os.LookupEnv)).Within(*p.wait)
	return p.do(context.Background(), operands[0], operands[1:], time.Now())
}
