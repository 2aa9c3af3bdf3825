// SPDX-License-Identifier: MIT

package stream

import "sync"

// NICQueue are the choices of a receive path that takes over a queue of a NIC.
// Zero values let the path choose.
type NICQueue struct {
	Dev   string `json:"dev,omitempty"`   // the interface; empty: the one that has the flow's address
	Queue *int   `json:"queue,omitempty"` // its RX queue; nil: the last
	// Beside are the RX queues of the run's other flows, its own may be one of them: all are kept
	// free of flows that are not the run's before the first of them is taken over.
	Beside []int `json:"beside,omitempty"`

	// ByPort: the end steers all flows of its port to the queues by one rule, so that a path steers
	// none; of a path whose memory can serve several queues it has what these paths share, of all
	// queues of Beside. Nil: each flow has a rule.
	ByPort *Shared `json:"-"`
	// Inside is the path of a container's network namespace, to one of whose interfaces the queue
	// is leased (netkit): the flow comes there, and its memory is given there; "": it is not
	// leased.
	Inside string `json:"inside,omitempty"`

	// as package dmabuf has it; "": pages, udmabuf of devmem; huge where BufLen is longer than a
	// page
	Area string `json:"area,omitempty"`
	// of memory for payload; 0: DefaultAreaBytes, of devmem by the size of the ring
	AreaBytes int `json:"area_bytes,omitempty"`
	AreaStart int `json:"area_start,omitempty"` // of them, what the NIC has at first; 0: all
	BufLen    int `json:"buf_len,omitempty"`    // bytes of one of its buffers, a power of two; 0: a page
	// of the ring by which buffers go back; 0: as many as there are buffers
	RefillEntries int `json:"refill_entries,omitempty"`
	CQEntries     int `json:"cq_entries,omitempty"` // of the completion queue; 0: DefaultZCCQEntries
	// payload that the application keeps before it gives the oldest back
	HoldBytes int `json:"hold_bytes,omitempty"`
	// of devmem: fragments that are gathered before they go back; 1: after every read; 0:
	// DefaultTokenBatch
	TokenBatch int `json:"token_batch,omitempty"`

	Rings *Rings `json:"-"` // that share the queue; nil: it has one
	Ring  int    `json:"-"` // the path's own, from 0
}

// Shared is what several paths of an end have in common: the first that needs it makes it, and the
// last frees it.
type Shared struct {
	sync.Mutex
	Of any
}

// Limits and defaults of [NICQueue].
const (
	DefaultAreaBytes   = 64 << 20
	MaxAreaBytes       = 16 << 30
	MaxBufLen          = 2 << 20
	MaxRefillEntries   = 32768
	DefaultZCCQEntries = 8192
	MaxCQEntries       = 65536
	DefaultTokenBatch  = 512
	MaxTokenBatch      = 1024 // more do not go back in one call
)
