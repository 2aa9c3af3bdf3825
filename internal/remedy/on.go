// SPDX-License-Identifier: MIT

package remedy

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// On is what a call was about, as far as it is known. Looks at the state are made in the
// caller's thread: its network namespace, its capabilities.
type On struct {
	Dev    string         // interface
	Local  netip.AddrPort // own address
	Remote netip.AddrPort // the peer's
	Path   string         // file
	Value  string         // what was to be set
	Bytes  int64          // memory that was asked for; 0 not known
	FD     int            // socket or ring; 0 none
	Thread int            // of the system's, to which a ring belongs; 0: to none, or it is not known

	Together bool    // one controller began both ends: the peer is there, and listens
	Answer   *Answer // what an ICMP message said of a connection; nil: none came

	// Facts looks at what only the caller can look at; nil: nothing is known. What the caller
	// cannot look at does not hold.
	Facts func(Fact) (words string, holds bool)
}

// known are the words that stand in rows for what a call was about, perhaps behind what a name
// begins with: tcp_VALUE.
var known = lazy.Regexp(`\b([a-z]+_)?(ADDRESS|PORT|DEV|PATH|VALUE)\b`)

// fill puts what is known into the words of a row.
func (on On) fill(s string) string {
	at := on.Remote
	if !at.IsValid() {
		at = on.Local
	}
	return known().ReplaceAllStringFunc(s, func(whole string) string {
		word := whole[strings.LastIndexByte(whole, '_')+1:]
		is := map[string]string{"DEV": on.Dev, "PATH": on.Path, "VALUE": on.Value}[word]
		if at.IsValid() && word == "ADDRESS" {
			is = at.Addr().String()
		}
		if at.IsValid() && word == "PORT" {
			is = strconv.Itoa(int(at.Port()))
		}
		prefix := strings.TrimSuffix(whole, word)
		switch {
		case is == "":
			return whole
		case word == "VALUE" && prefix == "": // words of the caller's own, perhaps a command
			return is
		}
		return plaintext.Word(prefix + is) // a name from elsewhere, perhaps in a command
	})
}
