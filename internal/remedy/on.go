// SPDX-License-Identifier: MIT

package remedy

import "net/netip"

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
}
