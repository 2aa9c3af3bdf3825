// SPDX-License-Identifier: MIT

package remedy

import (
	"net/netip"
	"strconv"
	"strings"
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
}

// fill puts what is known into the words of a row: ADDRESS, PORT, DEV and VALUE.
func (on On) fill(s string) string {
	at := on.Remote
	if !at.IsValid() {
		at = on.Local
	}
	var known []string
	if at.IsValid() {
		known = append(known, "ADDRESS", at.Addr().String(), "PORT", strconv.Itoa(int(at.Port())))
	}
	if on.Dev != "" {
		known = append(known, "DEV", on.Dev)
	}
	if on.Value != "" {
		known = append(known, "VALUE", on.Value)
	}
	return strings.NewReplacer(known...).Replace(s)
}
