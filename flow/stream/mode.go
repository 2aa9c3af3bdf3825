// SPDX-License-Identifier: MIT

package stream

import (
	"fmt"
	"strings"
)

// Role is which end of the flow a mode serves.
type Role string

// The two roles. The receiver runs on the SUT, the sender on the TG.
const (
	RX Role = "rx"
	TX Role = "tx"
)

// Mode is the name and the promise of one data path.
type Mode struct {
	Name    string
	Role    Role
	Summary string

	// ZeroCopy: the mode claims that the kernel does not copy, so a run that
	// copied is invalid.
	ZeroCopy bool
	// NICQueue: the mode takes a queue of a NIC over, see [NICQueue], or at least
	// its memory.
	NICQueue bool
	// NeedsDev: it needs to know the interface that the flow comes in, or leaves, by.
	NeedsDev bool
	// DMABuf: the memory that the NIC writes into is a dmabuf, of the kinds
	// [DMABufKinds], in buffers of a page.
	DMABuf bool
	// ZeroCopySocket: its socket must have SO_ZEROCOPY.
	ZeroCopySocket bool
	// CopiedHere: over loopback and veth a run cannot be zero copy, whatever the mode does:
	// they copy such payload when they deliver it (skb_orphan_frags_rx of the kernel's
	// net/core), or lay it so that no page of it can be mapped.
	CopiedHere bool
	// NoPayload: the application never gets the bytes, so it cannot touch them.
	NoPayload bool
}

// SortsBytes reports whether the mode's counters tell payload that was copied from
// other: those of the modes that claim zero copy, and of zcrx-nodev, which goes the
// same way and copies.
func (m Mode) SortsBytes() bool { return m.ZeroCopy || m.NICQueue }

// UsesRing reports whether the mode works through an io_uring.
func (m Mode) UsesRing() bool {
	return strings.HasPrefix(m.Name, "uring") || strings.HasPrefix(m.Name, "zcrx")
}

// Modes are all modes by the names of the field, in the order tables show them.
var Modes = []Mode{
	{Name: "tcp", Role: RX, Summary: "recv into a user buffer"},
	{Name: "tcp-trunc", Role: RX, Summary: "recv with MSG_TRUNC: the kernel drops the payload, the no-copy ceiling", NoPayload: true},
	{Name: "tcp-mmap", Role: RX, Summary: "TCP_ZEROCOPY_RECEIVE: payload pages mapped into the application", ZeroCopy: true, CopiedHere: true},
	{Name: "uring", Role: RX, Summary: "io_uring multishot recv with a provided-buffer ring"},
	{Name: "zcrx", Role: RX, Summary: "io_uring zero-copy receive: the NIC writes into user memory", ZeroCopy: true, NICQueue: true, NeedsDev: true},
	{Name: "zcrx-nodev", Role: RX, Summary: "io_uring zcrx without a device queue: same interface, all payload copied", NICQueue: true},
	{Name: "devmem", Role: RX, Summary: "devmem TCP: the NIC writes into a dmabuf", ZeroCopy: true, NICQueue: true, NeedsDev: true, DMABuf: true},

	{Name: "tcp", Role: TX, Summary: "send from a user buffer"},
	{Name: "sendfile", Role: TX, Summary: "sendfile from page cache memory"},
	{Name: "msg-zerocopy", Role: TX, Summary: "send with MSG_ZEROCOPY, completions from the error queue", ZeroCopy: true, ZeroCopySocket: true, CopiedHere: true},
	{Name: "uring", Role: TX, Summary: "io_uring send"},
	{Name: "uring-zc", Role: TX, Summary: "io_uring SEND_ZC from registered buffers", ZeroCopy: true, CopiedHere: true},
	{Name: "devmem", Role: TX, Summary: "devmem TCP send from a dmabuf", ZeroCopy: true, NeedsDev: true, ZeroCopySocket: true},
}

// Names lists the modes of a role in table order.
func Names(role Role) []string {
	var names []string
	for _, m := range Modes {
		if m.Role == role {
			names = append(names, m.Name)
		}
	}
	return names
}

// LookupMode finds a mode by role and name. The error lists the names.
func LookupMode(role Role, name string) (Mode, error) {
	for _, m := range Modes {
		if m.Role == role && m.Name == name {
			return m, nil
		}
	}
	return Mode{}, fmt.Errorf("unknown %s mode %q; the %s modes are %s", role, name, role, strings.Join(Names(role), ", "))
}
