package mcpserver

import (
	"context"
	"fmt"

	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
)

// write is write_entry.
func (c *call) write(ctx context.Context) (answer, error) {
	who, err := c.actor()
	if err != nil {
		return answer{}, err
	}
	posted, err := c.door.Post(ctx, c.key(), room.Draft{
		As: who, Body: c.Content, Expect: c.ExpectVersion, ID: c.ID, To: c.Next,
	})
	says := posted.Text()
	if room.Indented(c.Content) {
		says += "; the white space before the first line was cut"
	}
	return answer{says: says, record: posted}, err
}

// open is new_thread. Whoever opens a room moderates it unless he names another.
func (c *call) open(ctx context.Context) (answer, error) {
	if c.Moderator == "" {
		who, err := c.actor()
		if err != nil {
			return answer{}, err
		}
		c.Moderator = who
	} else if c.Participant != "" {
		if _, err := c.actor(); err != nil { // a key of somebody else
			return answer{}, err
		}
	}
	opening := room.Opening{Topic: c.Topic, Moderator: c.Moderator, Order: c.TurnOrder}
	made, err := c.door.Open(ctx, c.door.Key(c.Name), opening)
	return answer{
		says: fmt.Sprintf("opened. %s holds the floor. As moderator, route it with set_next or write_entry's next; "+
			"name the entries each turn is to be based on.", made.Current),
		record: made,
	}, err
}

func (c *call) invite(ctx context.Context) (answer, error) {
	who, err := c.actor()
	if err != nil {
		return answer{}, err
	}
	return moderated(c.door.Invite(ctx, c.key(), who, c.Name))
}

func (c *call) quiet(ctx context.Context) (answer, error) {
	return c.moderate(ctx, room.Quiet(c.Name, c.Turns))
}

func (c *call) next(ctx context.Context) (answer, error) { return c.moderate(ctx, room.Hand(c.Name)) }
func (c *call) order(ctx context.Context) (answer, error) {
	return c.moderate(ctx, room.Order(c.Order))
}
func (c *call) topic(ctx context.Context) (answer, error) {
	return c.moderate(ctx, room.Topic(c.Topic))
}
func (c *call) end(ctx context.Context) (answer, error)    { return c.moderate(ctx, room.End) }
func (c *call) resume(ctx context.Context) (answer, error) { return c.moderate(ctx, room.Resume) }

func (c *call) moderate(ctx context.Context, act room.Act) (answer, error) {
	who, err := c.actor()
	if err != nil {
		return answer{}, err
	}
	return moderated(c.door.Moderate(ctx, c.key(), who, act))
}

func moderated(r record.Room, err error) (answer, error) {
	return answer{says: "done. " + r.Text(), record: r}, err
}
