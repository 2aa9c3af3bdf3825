// SPDX-License-Identifier: MIT

package gvnic

import (
	"encoding/binary"

	"github.com/zcbench/zcbench/internal/cardcounts"
	"github.com/zcbench/zcbench/lab/vfiouser"
)

// What the driver asks the device for is the device's choice; these are ours.
const (
	maxQueues     = cardcounts.Queues // of each kind
	defaultQueues = 4                 // that the driver opens
	blocks        = 2 * maxQueues
	vectors       = blocks + 1 // the last one is for management (gve_alloc_notify_blocks)

	ringDefault, ringLeastTX, ringLeastRX, ringMost = 512, 256, 512, 4096

	bufferBytes = 4096
	headerBytes = 128
	defaultMTU  = 1460
	maxMTU      = 8896
	keyBytes    = 40
	lutEntries  = 128
	maxRules    = 128
	linkMbits   = 100_000
	counters    = 2 * maxQueues
)

// The order of bytes: registers and the admin queue are big-endian, doorbells and descriptors
// little-endian.
var (
	be = binary.BigEndian
	le = binary.LittleEndian
)

// Function is one NIC.
type Function struct {
	card *Card
	peer *Function
	host *vfiouser.Host
	mac  [6]byte

	status  uint32 // device_status
	version []byte // of the driver, as it told it
	admin   adminQueue
	format  bool // resources are configured
	tx      [maxQueues]*txQueue
	rx      [maxQueues]*rxQueue
	irqs    [blocks]irq
	rss     rss
	rules   []rule // in the order of their locations, which is that of their precedence

	epoch   int            // resets so far
	arrived int            // segments
	issued  map[uint32]int // commands of the admin queue, by opcode
	held    *heldSegment

	// provided are the receive queues that have an application's memory; see given.
	provided [maxQueues]bool
	counts   cardcounts.Of
}

// Lock and Unlock are the card's.
func (f *Function) Lock()   { f.card.mu.Lock() }
func (f *Function) Unlock() { f.card.mu.Unlock() }

// Attach implements vfiouser.Device.
func (f *Function) Attach(h *vfiouser.Host) { f.host = h }

// Vectors implements vfiouser.Device.
func (f *Function) Vectors() int { return vectors }

// BARs implements vfiouser.Device: registers, the table of MSI-X, doorbells (gve_probe).
func (f *Function) BARs() [6]uint64 { return [6]uint64{4096, 8192, 4096} }

// Config implements vfiouser.Device. The revision says that the admin queue is told by address and
// length (gve_adminq_alloc).
func (f *Function) Config() []byte {
	c := make([]byte, 256)
	le.PutUint16(c[0x00:], 0x1ae0) // Google
	le.PutUint16(c[0x02:], 0x0042) // gVNIC
	le.PutUint16(c[0x06:], 1<<4)   // there is a list of capabilities
	c[0x08] = 1                    // revision
	c[0x0b] = 2                    // a network controller
	le.PutUint16(c[0x2c:], 0x1ae0)
	le.PutUint16(c[0x2e:], 0x0058)
	c[0x34] = 0x40
	const msix, table, pending = 0x11, 1, 4096 | 1 // both in BAR 1
	c[0x40] = msix
	le.PutUint16(c[0x42:], vectors-1)
	le.PutUint32(c[0x44:], table)
	le.PutUint32(c[0x48:], pending)
	c[0x41] = cardcounts.Offset
	cardcounts.Put(c, 0)
	return c
}

// Reset implements vfiouser.Device.
func (f *Function) Reset() { f.reset() }

// reset forgets all that the driver has set; the counts stay, and so does the link.
func (f *Function) reset() {
	f.admin, f.format, f.version = adminQueue{}, false, nil
	f.epoch++
	f.status, f.held = statusReset, nil
	if f.card.Link == 0 {
		f.status |= statusLink
	}
	clear(f.tx[:])
	clear(f.rx[:])
	clear(f.irqs[:])
	f.rss, f.rules = newRSS(), nil
}

// irq is the interrupt of a notification block: it goes off once, and is armed again by its
// doorbell (gve_napi_poll_dqo).
type irq struct{ armed, pending bool }

// event tells the driver that a queue of a block has something for it.
func (f *Function) event(block uint32) {
	i := &f.irqs[block]
	if !i.armed {
		i.pending = true
		return
	}
	i.armed = false
	f.host.Raise(int(block))
}

// arm lets a block's interrupt go off again, at once where something has come since.
func (f *Function) arm(block uint32) {
	i := &f.irqs[block]
	i.armed = true
	if i.pending {
		i.pending = false
		f.event(block)
	}
}
