// SPDX-License-Identifier: MIT

package stream

import (
	"cmp"
	"fmt"

	"github.com/zcbench/zcbench/internal/tape"
)

// Role is which end of the flow a mode serves.
type Role string

// The two roles. The receiver runs on the SUT, the sender on the TG.
const (
	RX Role = "rx"
	TX Role = "tx"
)

// Kind is what a mode moves. Only modes of one kind can be the two ends of a flow.
type Kind string

// The kinds.
const (
	Stream   Kind = ""          // of bytes, by TCP
	Datagram Kind = "datagrams" // by UDP
	Frame    Kind = "frames"    // below the sockets
)

// Packets reports whether the payload is packets, which may be lost: how many were is a figure of a
// run, and none of its faults.
func (k Kind) Packets() bool { return k != Stream }

func (k Kind) String() string {
	if k == Stream {
		return "a stream"
	}
	return string(k)
}

// Traits are what holds of a mode, a bit each: its folder declares them, and what others do for it
// follows from them.
type Traits uint32

// The traits.
const (
	// ZeroCopy: the mode claims that the kernel does not copy, so a run that
	// copied is invalid.
	ZeroCopy Traits = 1 << iota
	// UsesRing: it works through an io_uring.
	UsesRing
	// UsesNICQueue: the mode takes a queue of a NIC over, see [NICQueue], or at least
	// its memory.
	UsesNICQueue
	// SplitsHeaders: the mode has the NIC split headers off by itself.
	SplitsHeaders
	// NeedsDev: it needs to know the interface that the flow comes in, or leaves, by.
	NeedsDev
	// DMABuf: the memory that the NIC writes into is a dmabuf, of the kinds
	// [DMABufKinds].
	DMABuf
	// ZeroCopySocket: its socket must have SO_ZEROCOPY.
	ZeroCopySocket
	// CopiedHere: over loopback and veth a run cannot be zero copy, whatever the mode does:
	// they copy such payload when they deliver it (skb_orphan_frags_rx of the kernel's
	// net/core), or lay it so that no page of it can be mapped.
	CopiedHere
	// Buffered: the kernel copies the payload into a buffer of the application's, whose size
	// is [Options].BufferBytes.
	Buffered
	// RoundTrips: it sends requests and waits for their answers, which any receive mode that has
	// the payload in its hands gives ([Answers]).
	RoundTrips
	// Batches: it moves packets, and a call of it moves [Options].Batch of them at most.
	Batches
	// Segments: the kernel, or the NIC, makes packets of what a call hands over.
	Segments
	// NoPayload: the application never gets the bytes, so it cannot touch them.
	NoPayload
	// XDP: its rung is an XDP program.
	XDP
	// Redirects: the XDP program sends frames elsewhere.
	Redirects
	// SendsBack: the XDP program sends frames back to their sender, who takes them.
	SendsBack
	// Reads: of frames, its thread reads them, and does not only look at what was counted.
	Reads
	// AFXDP: an XDP program redirects its packets to sockets of AF_XDP.
	AFXDP
	// Connects: each of its requests has a connection of its own, see [Visits].
	Connects
	// Accepts: it can take such connections.
	Accepts
	// Forwards: its application can pass payload on, by [Forwarder] or else from memory that it
	// sees; Splices: also by splice(2).
	Forwards
	Splices
	// Encrypts: payload can be encrypted, or decrypted, by the application itself ([Encryption]).
	Encrypts
)

// Mode is one data path: its name, its promise, what it needs, and its code. A mode is declared
// in the folder of its code; package plan/modes lists them all.
type Mode struct {
	Name    string
	Role    Role
	Kind    Kind
	Summary string

	Traits Traits
	// Holds computes how much memory a mode that is Buffered really has for that.
	Holds func(Options) int

	// Above is the mode of the rung above, see docs/xdp.md: what this one costs more is the
	// price of what lies between. "": it is the highest, or none.
	Above string
	// LostAt are, of a receive mode that drops packets itself, the counters of lost packets that
	// tell of packets which it never saw; nil: all of them.
	LostAt []string

	// Kernel is the first that has it, such as "6.15"; "" for any.
	Kernel string
	// Needs are what else it stands on, the lowest first.
	Needs []Need

	// Probe tries whether the mode can run on this host: nil, or a [*fault.Unsupported] with
	// reason and fix. It leaves nothing behind. Nil where there is nothing to try.
	Probe func() error
	// ProbeDevice tries whether it can run on an interface of this host, and changes
	// nothing there; nil where the interface does not matter.
	ProbeDevice func(dev string) error
	// ProbeProvider is a part of it: whether the driver lets queues have memory of
	// this mode, and ProbeQueue another: whether the queue that the mode would take
	// is free. Both are nil of modes that take no queue.
	ProbeProvider func(dev string) error
	ProbeQueue    func(dev string) error

	// One of the two is set. They are to be called on the thread that will run the path.
	NewReceiver func(Options) (Receiver, error)
	NewSender   func(Options) (Sender, error)

	// SendsAs is, of a mode of round trips that copy nothing, the send mode whose calls it makes:
	// what that one's attempt says holds for it, too.
	SendsAs string
	// NewLender makes memory of so many bytes that a send mode sends from as it does, without a
	// copy, for requests and answers; nil: it has none.
	NewLender func(o Options, size int) (Lender, error)
}

// SortsBytes reports whether the mode's counters tell payload that was copied from
// other: those of the modes that claim zero copy, and of zcrx-nodev, which goes the
// same way and copies.
func (m Mode) SortsBytes() bool { return m.Traits&(ZeroCopy|UsesNICQueue) != 0 }

// TakesQueue reports whether the mode takes an RX queue over. One that does not may have its flows
// steered to a queue, which is not stopped then.
func (m Mode) TakesQueue() bool { return m.Has(UsesNICQueue | NeedsDev) }

// Has reports whether the mode has all these traits.
func (m Mode) Has(t Traits) bool { return m.Traits&t == t }

// Lends reports whether requests, and so their answers, leave without a copy.
func (m Mode) Lends() bool { return m.Has(RoundTrips) && m.NewLender != nil }

// Support tries whether the mode can run on this host, and on interface dev if
// one is named: nil, or why not.
func (m Mode) Support(dev string) error {
	switch {
	case dev != "" && m.ProbeDevice != nil:
		return m.ProbeDevice(dev)
	case m.Probe != nil:
		return tape.Try(fmt.Sprintf("kernel for %s %s", m.Role, cmp.Or(m.SendsAs, m.Name)), m.Probe)
	}
	return nil
}

// MakesReceiver adapts a constructor to the contract.
func MakesReceiver[R Receiver](f func(Options) (R, error)) func(Options) (Receiver, error) {
	return func(o Options) (Receiver, error) {
		r, err := f(o)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
}

// MakesSender adapts a constructor to the contract.
func MakesSender[S Sender](f func(Options) (S, error)) func(Options) (Sender, error) {
	return func(o Options) (Sender, error) {
		s, err := f(o)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}
