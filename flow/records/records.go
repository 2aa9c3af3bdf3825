// SPDX-License-Identifier: MIT

package records

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// A record of TLS 1.3 (RFC 8446, 5.2): a header, the payload with its type, and a tag.
const (
	MaxPlain = 16384 // payload bytes of the longest
	header   = 5
	tag      = 16
	// Overhead is what a record has beside its payload.
	Overhead = header + 1 + tag
	// most is how long one may be on the wire: others may have padded it.
	most = header + MaxPlain + 256
	data = 23 // the type of records with payload, and what each says on the outside
)

// half is what both ends know of one direction.
type half struct {
	aead  cipher.AEAD
	iv    [12]byte
	nonce [12]byte
	next  uint64 // the number of the record that comes next
}

func (h *half) init(k *Key) error {
	block, err := aes.NewCipher(k.key[:])
	if err == nil {
		h.aead, err = cipher.NewGCM(block)
	}
	h.iv = k.iv
	return err
}

// number makes the nonce of the next record.
func (h *half) number() []byte {
	h.nonce = h.iv
	tail := h.nonce[4:]
	binary.BigEndian.PutUint64(tail, binary.BigEndian.Uint64(tail)^h.next)
	h.next++
	return h.nonce[:]
}

// Sealer makes the records of a sender that encrypts by itself.
type Sealer struct{ half }

// NewSealer makes one with a key, which may be wiped then.
func NewSealer(k *Key) (*Sealer, error) {
	s := new(Sealer)
	return s, s.init(k)
}

// Seal appends to dst the record of at most [MaxPlain] bytes. It copies them first, as crypto/tls
// does: the cipher wants them and their type in one piece. With room in dst nothing is allocated.
func (s *Sealer) Seal(dst, plain []byte) []byte {
	n := len(plain) + 1 + tag
	at := len(dst)
	dst = append(dst, data, 3, 3, byte(n>>8), byte(n))
	body := len(dst)
	dst = append(append(dst, plain...), data)
	return s.aead.Seal(dst[:body], s.number(), dst[body:], dst[at:body])
}

// SealAll appends to dst the records of as many bytes as there are.
func (s *Sealer) SealAll(dst, plain []byte) []byte {
	for at := 0; at < len(plain); at += MaxPlain {
		dst = s.Seal(dst, plain[at:min(at+MaxPlain, len(plain))])
	}
	return dst
}

// Sealed returns how long the records of n bytes are.
func Sealed(n int) int { return n + (n+MaxPlain-1)/MaxPlain*Overhead }

// Opener opens the records of a flow in the application: from where they lie into the memory of
// its messages, one after another. What crosses buffers is gathered first, because the cipher wants
// a record in one piece.
type Opener struct {
	half
	mem      []byte // of messages, and room for a record more
	size, at int
	part     []byte // what is there of a record that crosses buffers
	gathered uint64
}

// NewOpener makes one with a key, which may be wiped then. mem has messages of size bytes, one at a
// time, and [Slack] bytes more.
func NewOpener(k *Key, mem []byte, size int) (*Opener, error) {
	o := &Opener{mem: mem, size: size, part: make([]byte, 0, most)}
	return o, o.init(k)
}

// Slack is how much longer the memory of an [Opener] is than a message.
const Slack = most

// Records returns how many records were opened.
func (o *Opener) Records() uint64 { return o.next }

// Gathered returns how many bytes were copied together because their records crossed buffers.
func (o *Opener) Gathered() uint64 { return o.gathered }

// Next takes bytes that follow those of the last call, up to the end of a record. It returns the
// record's payload, which is there until the call after, none where the record goes on, and the
// bytes that are left. It allocates nothing.
func (o *Opener) Next(p []byte) (plain, rest []byte, err error) {
	if len(o.part) == 0 && len(p) >= header {
		n, err := length(p)
		if err != nil {
			return nil, nil, o.wrong(err)
		}
		if len(p) >= n {
			plain, err = o.open(p[:n])
			return plain, p[n:], err
		}
	}
	for {
		n := header
		if len(o.part) >= header {
			if n, err = length(o.part); err != nil {
				return nil, nil, o.wrong(err)
			}
		}
		if len(o.part) == n && n > header { // no record is so short
			plain, err = o.open(o.part)
			o.part = o.part[:0]
			return plain, p, err
		}
		if len(p) == 0 {
			return nil, nil, nil
		}
		k := min(n-len(o.part), len(p))
		o.part = append(o.part, p[:k]...)
		o.gathered += uint64(k)
		p = p[k:]
	}
}

// length reads how long a record is.
func length(p []byte) (int, error) {
	n := int(binary.BigEndian.Uint16(p[3:]))
	switch {
	case p[0] != data || p[1] != 3 || p[2] != 3:
		return 0, fmt.Errorf("it begins with % x, and no record of payload does: %w", p[:header], unix.EBADMSG)
	case n <= tag || header+n > most:
		return 0, fmt.Errorf("it says that it has %d bytes: %w", n, unix.EBADMSG)
	}
	return header + n, nil
}

// open opens a whole record.
func (o *Opener) open(rec []byte) ([]byte, error) {
	plain, err := o.aead.Open(o.mem[o.at:o.at], o.number(), rec[header:], rec[:header])
	if err != nil {
		o.next--
		return nil, o.wrong(fmt.Errorf("its tag does not fit: %w", unix.EBADMSG))
	}
	n := len(plain)
	for n > 0 && plain[n-1] == 0 { // padding
		n--
	}
	if n == len(closeNotify)+1 && plain[n-1] == alert && [2]byte(plain) == closeNotify {
		return nil, ErrClosed
	}
	if n == 0 || plain[n-1] != data {
		return nil, o.wrong(fmt.Errorf("it has no payload: %w", unix.EIO))
	}
	if o.at += n - 1; o.at >= o.size {
		o.at = 0
	}
	return plain[:n-1], nil
}

func (o *Opener) wrong(err error) error { return fmt.Errorf("TLS record %d: %w", o.next, err) }
