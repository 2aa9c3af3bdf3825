// SPDX-License-Identifier: MIT

package lease

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// chain is the checksum of a journal up to a line: it goes into that of the next
// one, so that no line can be changed, taken out or moved unseen. It guards
// against accidents; who may write there can make it right again.
type chain [sha256.Size]byte

// A line ends in the beginning of its sum.
const (
	sumField = `,"sum":"`
	sumEnd   = `"}`
	sumBytes = 8
	sumLen   = len(sumField) + 2*sumBytes + len(sumEnd)
)

// errSum is a line that is not as it was written.
var errSum = errors.New("its checksum is wrong: the file is damaged")

// seal adds its sum to a line, a JSON object with at least one member.
func (c chain) seal(object []byte) ([]byte, chain) {
	return c.end(bytes.TrimSuffix(object, []byte("}")))
}

// end completes a line that lacks its end with the sum.
func (c chain) end(body []byte) ([]byte, chain) {
	next := chain(sha256.Sum256(append(c[:], body...)))
	line := append(bytes.Clone(body), sumField...)
	line = hex.AppendEncode(line, next[:sumBytes])
	return append(line, sumEnd...), next
}

// check holds a line against its sum.
func (c chain) check(line []byte) (chain, error) {
	at := len(line) - sumLen
	if at < 0 {
		return c, errSum
	}
	if again, next := c.end(line[:at]); bytes.Equal(again, line) {
		return next, nil
	}
	return c, errSum
}

// overlong reports whether text without a line's end is more than the beginning
// of a line: nothing that is cut off is.
func (c chain) overlong(text []byte) bool {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(sumField))
		if at += i; i < 0 || at+sumLen >= len(text) {
			return false
		}
		if _, err := c.check(text[:at+sumLen]); err == nil {
			return true
		}
		at++
	}
}
