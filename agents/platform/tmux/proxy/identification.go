package proxy

import "encoding/binary"

// Types of the messages that a tmux client sends first. Flags come in a short and a long
// form.
const (
	identifyFlags     = 100
	identifyDone      = 106
	identifyLongFlags = 111
	identifyMost      = 199 // later types are commands
)

// A message has a header of headerSize bytes and is at most maxMessage bytes long.
const (
	headerSize = 16
	maxMessage = 16384
)

// write is what goes to the server in one write, with file descriptors.
type write struct {
	data []byte
	fds  []int
}

// identification reorders the messages with which a client identifies itself. It holds the
// flags back and sends them together with the last message. Other messages do not depend
// on the flags.
type identification struct {
	pending []byte // the start of a message
	fds     []int  // received, of messages that are not taken yet
	flags   []byte
	last    write // the last message with a file descriptor
	over    bool
}

// take takes what a client sent and returns what to send to the server. A nil
// identification changes nothing, nor does one that is over. Anything but messages that
// identify a client ends it.
//
// The last descriptor is held back too. A read ends after a descriptor, so the server's
// next read begins with the flags. Otherwise, if the client has a large environment, one
// read could end between the flags and the last message.
func (id *identification) take(data []byte, fds []int) (out []write) {
	if id == nil || id.over {
		return []write{{data, fds}}
	}
	id.pending = append(id.pending, data...)
	id.fds = append(id.fds, fds...)
	for !id.over && len(id.pending) >= headerSize {
		h := parseHeader(id.pending)
		if !h.identifies() {
			out = append(out, write{data: id.flags}, id.last)
			id.end()
		} else if len(id.pending) < h.size {
			return out
		} else {
			message := id.pending[:h.size:h.size]
			id.pending = id.pending[h.size:]
			out = id.sort(out, h, message)
		}
	}
	if id.over && len(id.pending) > 0 {
		out = append(out, write{id.pending, id.fds})
		id.pending, id.fds = nil, nil
	}
	return out
}

// sort sorts one message into what goes to the server and what waits.
func (id *identification) sort(out []write, h header, message []byte) []write {
	switch {
	case h.kind == identifyFlags || h.kind == identifyLongFlags:
		id.flags = append(id.flags, message...)
	case h.kind == identifyDone:
		out = append(out, id.last, write{data: append(id.flags, message...)})
		id.end()
	case h.fd && len(id.fds) > 0:
		out = append(out, id.last)
		id.last = write{message, id.fds[:1:1]}
		id.fds = id.fds[1:]
	case len(out) > 0 && len(out[len(out)-1].fds) == 0:
		before := &out[len(out)-1]
		before.data = append(before.data, message...)
	default:
		out = append(out, write{data: message})
	}
	return out
}

func (id *identification) end() { id.flags, id.last, id.over = nil, write{}, true }

// header is the header of a message.
type header struct {
	kind uint32
	size int // of the message, with the header
	mark uint16
	fd   bool // a file descriptor belongs to it
}

// parseHeader parses the header of a little-endian message. After its type come a 16-bit
// length and a flag of 16 bits, or in newer versions a 32-bit length, whose highest bit is
// the flag.
func parseHeader(b []byte) header {
	mark := binary.LittleEndian.Uint16(b[6:])
	return header{binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint16(b[4:])), mark, mark != 0}
}

// identifies reports whether this is a message that identifies a client.
func (h header) identifies() bool {
	return h.kind >= identifyFlags && h.kind <= identifyMost && h.size >= headerSize && h.size <= maxMessage &&
		(h.mark == 0 || h.mark == 1 || h.mark == 0x8000)
}
