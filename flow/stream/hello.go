// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/zcbench/zcbench/flow/records"
)

// Cookie names a flow. Only a sender that knows it is measured.
type Cookie [16]byte

// NewCookie returns a random cookie.
func NewCookie() Cookie {
	var c Cookie
	rand.Read(c[:]) // never fails (crypto/rand)
	return c
}

func (c Cookie) String() string { return hex.EncodeToString(c[:]) }

// MarshalText gives the cookie in hexadecimal.
func (c Cookie) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText takes 32 hexadecimal digits.
func (c *Cookie) UnmarshalText(b []byte) error {
	if len(b) != 32 {
		return fmt.Errorf("cookie has %d characters, not 32 hexadecimal digits", len(b))
	}
	if _, err := hex.Decode(c[:], b); err != nil {
		return fmt.Errorf("cookie %q: %w", b, err)
	}
	return nil
}

// The fixed-size frames of the data port, all big-endian, each ending in the CRC-32C of what
// precedes it. The sender opens with a Hello, the receiver answers Welcome, before which it may say
// Wait, then payload flows one way until end of stream, then the receiver answers Farewell. The end
// of a flow of packets, which go another way, is an Ended and the end of stream. Sizes are fixed so
// that a stranger can neither make the receiver allocate nor keep it reading.
const (
	helloSize    = 72
	welcomeSize  = 20
	farewellSize = 36
	endedSize    = 20
)

var (
	helloMagic    = [4]byte{'Z', 'C', 'H', '3'}
	welcomeMagic  = [4]byte{'Z', 'C', 'W', '2'}
	waitMagic     = [4]byte{'Z', 'C', 'P', '1'} // as long as a welcome
	farewellMagic = [4]byte{'Z', 'C', 'F', '1'}
	endedMagic    = [4]byte{'Z', 'C', 'E', '1'}
	castagnoli    = crc32.MakeTable(crc32.Castagnoli)
)

// Hello opens a flow.
type Hello struct {
	Cookie       Cookie
	TXMode       string // at most 20 ASCII characters
	MessageBytes uint64
	PeriodBytes  uint64        // of the payload pattern, see [Payload]
	Duration     time.Duration // that the sender will send; 0: the receiver decides; milliseconds on the wire
	Flow         int           // its number, from 0
	Flows        int           // how many the sender has; 0 is 1
	// ResponseBytes is how long an answer to each message is to be; 0: none. On the wire it is
	// the upper half of the message size, so that a receiver that knows no answers refuses it.
	ResponseBytes uint32
	// Connects: each request comes by a connection of its own, to the port of the [Welcome].
	Connects bool
	// OneAtATime: of these there is one at a time.
	OneAtATime bool
	// Back is the port of the sender's host to which the receiver sends the other way; 0: it does
	// not.
	Back uint16
	// Records: the payload is in records of that version of TLS; 0: it is plain.
	Records records.Version
	// InKernel: of these the sender's kernel has the keys, also of answers. So it hears the
	// farewell behind them in a record only, and from a receiver of its kind.
	InKernel bool
	// Looks: it opens no flow, and is only to find out what its host can do.
	Looks bool
}

// Flags of [Hello] on the wire: they and Back are the upper half of the period.
const (
	connects   = 1
	records13  = 2
	records12  = 4
	looks      = 8
	oneAtATime = 16
	inKernel   = 32
)

// Encrypted has it say that a sender's payload is in records, made so.
func (h *Hello) Encrypted(how records.How, v records.Version) {
	h.Records, h.InKernel = v, v != 0 && h.ResponseBytes > 0 && how.InKernel()
}

// flags returns those of h.
func (h Hello) flags() (f uint64) {
	if h.Connects {
		f |= connects
	}
	if h.OneAtATime {
		f |= oneAtATime
	}
	if h.Looks {
		f |= looks
	}
	if h.InKernel {
		f |= inKernel
	}
	switch h.Records {
	case records.TLS13:
		f |= records13
	case records.TLS12:
		f |= records12
	}
	return f
}

// setFlags reads them; false: there is one that it does not know.
func (h *Hello) setFlags(f uint16) bool {
	h.Connects, h.Looks, h.OneAtATime = f&connects != 0, f&looks != 0, f&oneAtATime != 0
	h.InKernel = f&inKernel != 0
	switch f &^ (connects | looks | oneAtATime | inKernel) {
	case 0:
	case records13:
		h.Records = records.TLS13
	case records12:
		h.Records = records.TLS12
	default:
		return false
	}
	return true
}

// Welcome tells the sender to begin.
type Welcome struct {
	// Duration that the receiver wants; 0: the sender decides. Milliseconds on
	// the wire.
	Duration time.Duration
	Port     uint16 // to which the connections of requests go, where the hello asked for that
}

// wait tells the sender that its welcome is yet to come. It has nothing to do: its kernel
// acknowledges that, by a packet of the flow.
type wait struct{}

// AppendBinary encodes w.
func (wait) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = append(append(b, waitMagic[:]...), make([]byte, welcomeSize-8)...)
	return append(b[:start], seal(b[start:])...), nil
}

// isWait reports whether a frame of a welcome's size is no welcome yet.
func isWait(b []byte) bool {
	_, err := open(b, "wait", waitMagic, welcomeSize)
	return err == nil
}

// Farewell is the receiver's account of the flow.
type Farewell struct {
	Bytes      uint64
	Mismatches uint64
	Verified   bool // the receiver compared the payload
}

func seal(b []byte) []byte { return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)) }

// open checks size, magic and CRC of a frame and returns its body.
func open(b []byte, name string, magic [4]byte, size int) ([]byte, error) {
	if len(b) != size {
		return nil, fmt.Errorf("%s has %d bytes, not %d", name, len(b), size)
	}
	if !bytes.Equal(b[:4], magic[:]) {
		return nil, fmt.Errorf("%s begins with %q, not %q: not a zcbench peer of this version", name, b[:4], magic[:])
	}
	if binary.BigEndian.Uint32(b[size-4:]) != crc32.Checksum(b[:size-4], castagnoli) {
		return nil, fmt.Errorf("%s: bad checksum at byte %d", name, size-4)
	}
	return b[4 : size-4], nil
}

// appendDuration rounds up: a wish of less than a millisecond is not none.
func appendDuration(b []byte, d time.Duration) []byte {
	ms := max(d, 0).Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return binary.BigEndian.AppendUint64(b, uint64(ms))
}

func parseDuration(b []byte) (time.Duration, error) {
	ms := binary.BigEndian.Uint64(b)
	if ms > uint64((1<<62)/time.Millisecond) {
		return 0, fmt.Errorf("duration of %d ms is out of range", ms)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// AppendBinary encodes h.
func (h Hello) AppendBinary(b []byte) ([]byte, error) {
	if h.PeriodBytes >= 1<<32 {
		return nil, fmt.Errorf("hello: payload period of %d bytes is too long", h.PeriodBytes)
	}
	if len(h.TXMode) > 20 {
		return nil, fmt.Errorf("hello: mode name %q is longer than 20 bytes", h.TXMode)
	}
	if h.MessageBytes >= 1<<32 {
		return nil, fmt.Errorf("hello: message size %d bytes is outside 1..%d", h.MessageBytes, MaxMessageBytes)
	}
	flows := max(h.Flows, 1)
	if flows > MaxFlows {
		return nil, fmt.Errorf("hello: %d flows: want at most %d", flows, MaxFlows)
	}
	if h.Flow < 0 || h.Flow >= flows {
		return nil, fmt.Errorf("hello: flow %d is outside 0..%d", h.Flow, flows-1)
	}
	start := len(b)
	b = append(b, helloMagic[:]...)
	b = append(b, h.Cookie[:]...)
	b = binary.BigEndian.AppendUint64(b, h.MessageBytes|uint64(h.ResponseBytes)<<32)
	b = binary.BigEndian.AppendUint64(b, h.PeriodBytes|h.flags()<<48|uint64(h.Back)<<32)
	b = appendDuration(b, h.Duration)
	var name [20]byte
	copy(name[:], h.TXMode)
	b = binary.BigEndian.AppendUint32(append(b, name[:]...), uint32(flows-1)<<16|uint32(h.Flow))
	return append(b[:start], seal(b[start:])...), nil
}

// ParseHello decodes a hello.
func ParseHello(b []byte) (Hello, error) {
	body, err := open(b, "hello", helloMagic, helloSize)
	if err != nil {
		return Hello{}, err
	}
	h := Hello{Cookie: Cookie(body[:16]), ResponseBytes: binary.BigEndian.Uint32(body[16:]),
		MessageBytes: uint64(binary.BigEndian.Uint32(body[20:])),
		PeriodBytes:  uint64(binary.BigEndian.Uint32(body[28:]))}
	if h.Duration, err = parseDuration(body[32:]); err != nil {
		return Hello{}, fmt.Errorf("hello: byte 36: %w", err)
	}
	name, pad, _ := bytes.Cut(body[40:60], []byte{0})
	for i, c := range name {
		if c < '!' || c > '~' {
			return Hello{}, fmt.Errorf("hello: byte %d of the mode name is not printable ASCII", i)
		}
	}
	if len(bytes.TrimLeft(pad, "\x00")) != 0 {
		return Hello{}, errors.New("hello: garbage after the mode name")
	}
	if h.TXMode = string(name); h.MessageBytes == 0 || h.MessageBytes > MaxMessageBytes {
		return Hello{}, fmt.Errorf("hello: message size %d bytes is outside 1..%d", h.MessageBytes, MaxMessageBytes)
	}
	if h.ResponseBytes > 0 && (h.ResponseBytes > MaxTripBytes || h.MessageBytes > MaxTripBytes) {
		return Hello{}, fmt.Errorf("hello: byte 20: answers of %d bytes to messages of %d: both are at most %d",
			h.ResponseBytes, h.MessageBytes, MaxTripBytes)
	}
	if h.PeriodBytes == 0 || h.PeriodBytes > MaxPeriodBytes || h.PeriodBytes%8 != 0 {
		return Hello{}, fmt.Errorf("hello: payload period of %d bytes is not a multiple of 8 in 8..%d", h.PeriodBytes,
			MaxPeriodBytes)
	}
	flags := binary.BigEndian.Uint16(body[24:])
	if h.Back = binary.BigEndian.Uint16(body[26:]); !h.setFlags(flags) {
		return Hello{}, fmt.Errorf("hello: byte 28: unknown flags %#x", flags)
	}
	if h.Connects && h.ResponseBytes == 0 {
		return Hello{}, errors.New("hello: byte 20: connections of requests without answers")
	}
	if h.InKernel && (h.ResponseBytes == 0 || h.Records == 0) {
		return Hello{}, errors.New("hello: byte 28: a kernel that has keys of answers, and none are in records")
	}
	n := binary.BigEndian.Uint32(body[60:])
	h.Flow, h.Flows = int(n&0xffff), int(n>>16)+1
	switch {
	case h.Flows > MaxFlows:
		return Hello{}, fmt.Errorf("hello: byte 64: %d flows: there are at most %d", h.Flows, MaxFlows)
	case h.Flow >= h.Flows:
		return Hello{}, fmt.Errorf("hello: byte 66: flow %d of %d", h.Flow, h.Flows)
	}
	return h, nil
}

// AppendBinary encodes w.
func (w Welcome) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = appendDuration(append(b, welcomeMagic[:]...), w.Duration)
	b = append(binary.BigEndian.AppendUint16(b, w.Port), 0, 0) // reserved
	return append(b[:start], seal(b[start:])...), nil
}

// parseWelcome decodes a welcome.
func parseWelcome(b []byte) (Welcome, error) {
	body, err := open(b, "welcome", welcomeMagic, welcomeSize)
	if err != nil {
		return Welcome{}, err
	}
	d, err := parseDuration(body)
	if err != nil {
		return Welcome{}, fmt.Errorf("welcome: byte 4: %w", err)
	}
	return Welcome{Duration: d, Port: binary.BigEndian.Uint16(body[8:])}, nil
}

// Ended is the sender's last word of a flow of packets.
type Ended struct {
	Packets uint64 // that it sent
}

// AppendBinary encodes e.
func (e Ended) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = binary.BigEndian.AppendUint64(append(b, endedMagic[:]...), e.Packets)
	b = append(b, 0, 0, 0, 0) // reserved
	return append(b[:start], seal(b[start:])...), nil
}

// parseEnded decodes an end.
func parseEnded(b []byte) (Ended, error) {
	body, err := open(b, "end", endedMagic, endedSize)
	if err != nil {
		return Ended{}, err
	}
	return Ended{Packets: binary.BigEndian.Uint64(body)}, nil
}

// AppendBinary encodes f.
func (f Farewell) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = binary.BigEndian.AppendUint64(append(b, farewellMagic[:]...), f.Bytes)
	b = binary.BigEndian.AppendUint64(b, f.Mismatches)
	var flags uint64
	if f.Verified {
		flags = 1
	}
	b = binary.BigEndian.AppendUint64(b, flags)
	b = append(b, 0, 0, 0, 0) // reserved
	return append(b[:start], seal(b[start:])...), nil
}

// parseFarewell decodes a farewell.
func parseFarewell(b []byte) (Farewell, error) {
	body, err := open(b, "farewell", farewellMagic, farewellSize)
	if err != nil {
		return Farewell{}, err
	}
	flags := binary.BigEndian.Uint64(body[16:])
	if flags > 1 {
		return Farewell{}, fmt.Errorf("farewell: unknown flags %#x at byte 20", flags)
	}
	return Farewell{Bytes: binary.BigEndian.Uint64(body), Mismatches: binary.BigEndian.Uint64(body[8:]),
		Verified: flags == 1}, nil
}
