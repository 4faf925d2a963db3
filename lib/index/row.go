package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"hash/fnv"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// A row is what is remembered of one entry: everything but its body. What its
// name says is left in the name, for the few entries that somebody asks for.
type row struct {
	name  string
	pass  bool
	place int // number of entries up to and including this one
	start int // transcript line of its head
	lines int // transcript lines
	print disk.Print
	id    uint64 // hash of the entry's ID, 0 for none
	sum   [sha256.Size]byte

	unread error // why the file cannot be read; such a row is not remembered
}

// entry returns the entry that a row is about.
func (r *row) entry() transcript.Entry {
	e, _ := transcript.ParseName(r.name)
	e.Version, e.StartLine, e.Lines = r.place, r.start, r.lines
	e.Bytes, e.SHA256 = r.print.Size, hex.EncodeToString(r.sum[:])
	return e
}

// A row takes size bytes in the file, all integers little-endian: checksum of
// the rest, length of the name, whether it is a pass, transcript lines, start line, file size, inode,
// modification and change time, hash of the ID, SHA-256, name. The longest entry
// name has 159 bytes.
const (
	size     = 256
	nameRoom = size - 92
)

var (
	order      = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errBad     = errors.New("damaged index")
)

func (r *row) encode() []byte {
	b := make([]byte, 4, size)
	b = append(b, byte(len(r.name)), bit(r.pass), 0, 0)
	b = order.AppendUint32(b, uint32(r.lines))
	for _, v := range []int64{
		int64(r.start), r.print.Size, r.print.Inode, r.print.Modified, r.print.Changed, int64(r.id),
	} {
		b = order.AppendUint64(b, uint64(v))
	}
	b = append(b, r.sum[:]...)
	b = append(b, r.name...)[:size]
	order.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return b
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func decode(b []byte, place int) (row, error) {
	n := int(b[4])
	if order.Uint32(b) != crc32.Checksum(b[4:], castagnoli) || n > nameRoom {
		return row{}, errBad
	}
	word := func(i int) int64 { return int64(order.Uint64(b[12+8*i:])) }
	r := row{
		name:  string(b[92 : 92+n]),
		pass:  b[5] == 1,
		place: place,
		start: int(word(0)),
		lines: int(order.Uint32(b[8:])),
		print: disk.Print{Inode: word(2), Size: word(1), Modified: word(3), Changed: word(4)},
		id:    uint64(word(5)),
	}
	copy(r.sum[:], b[60:92])
	return r, nil
}

// hash returns what is remembered of an ID.
func hash(id string) uint64 {
	if id == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return max(1, h.Sum64())
}

// A header stands before the rows and takes as much room as one of them. It is
// written last, so that the rows it counts are there.
type header struct {
	rows, visible, lines int
	dir                  disk.Print // of the room's directory when the rows were right
	settled              bool       // a later change to it would have changed its print
}

const magic = "substrate index 2\n\x00\x00"

func (h header) encode() []byte {
	b := make([]byte, 4, size)
	b = append(b, magic...)
	for _, v := range []int64{
		int64(h.rows), int64(h.visible), int64(h.lines), int64(bit(h.settled)),
		h.dir.Inode, h.dir.Size, h.dir.Modified, h.dir.Changed,
	} {
		b = order.AppendUint64(b, uint64(v))
	}
	b = b[:size]
	order.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return b
}

func decodeHeader(b []byte) (header, error) {
	var h header
	if order.Uint32(b) != crc32.Checksum(b[4:], castagnoli) || string(b[4:24]) != magic {
		return h, errBad
	}
	word := func(i int) int64 { return int64(order.Uint64(b[24+8*i:])) }
	h.rows, h.visible, h.lines = int(word(0)), int(word(1)), int(word(2))
	h.settled = word(3) == 1
	h.dir = disk.Print{Inode: word(4), Size: word(5), Modified: word(6), Changed: word(7)}
	return h, nil
}
