// SPDX-License-Identifier: MIT

package nicqueue

import (
	"slices"
	"sync"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Who takes a queue of gve over, or lets go of it, renews the numbers of the NAPI instances of all
// queues (gve_turndown and gve_turnup of gve_main.c, Linux 7.3.4). A socket keeps the number that
// its last packet came by (SO_INCOMING_NAPI_ID), which no queue may have any more when it is asked
// for. So what any flow of this process saw is kept for all of them.

// napis are the numbers that NAPI instances were seen with, and which RX queues each served. The
// kernel counts them for all namespaces together, and gives none a second time (napi_hash_add of
// net/core/dev.c) but to the same queues.
type napis struct {
	mu     sync.Mutex
	served map[uint32]served
}

// served are RX queues of the interface with that index, in order: of fbnic, which has fewer
// instances than queues may be, several share one (fbnic_alloc_napi_vectors of fbnic_txrx.c,
// Linux 7.2).
type served struct {
	index  int
	queues []int
}

// seen are those of this process.
var seen napis

// keep notes the numbers that all queues of an interface have now. A driver that restarts queues
// takes their numbers from them meanwhile: then those that an instance served before may be its
// still.
func (n *napis) keep(index int, all []nic.Queue) {
	now, whole := map[uint32][]int{}, true
	for _, q := range all {
		if q.NAPI == 0 {
			whole = false
			continue
		}
		now[q.NAPI] = append(now[q.NAPI], q.ID)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.served == nil {
		n.served = map[uint32]served{}
	}
	for napi, ids := range now {
		if before := n.served[napi]; !whole && before.index == index {
			ids = append(ids, before.queues...)
		}
		slices.Sort(ids)
		n.served[napi] = served{index, slices.Compact(ids)}
	}
}

// queues looks up the queues of an interface that the NAPI instance with that number served when it
// was last seen; nil: they are not known.
func (n *napis) queues(index int, napi uint32) []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.served[napi]; s.index == index {
		return s.queues
	}
	return nil
}

// link reports whether a queue of an interface was ever seen with a NAPI instance.
func (n *napis) link(index, queue int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.served {
		if s.index == index && slices.Contains(s.queues, queue) {
			return true
		}
	}
	return false
}

// lookAgain reads all queues, and keeps the numbers of their NAPI instances. That of q is renewed.
func (q *Queue) lookAgain() ([]nic.Queue, error) {
	all, err := q.Dev.Queues()
	if err != nil {
		return nil, err
	}
	seen.keep(q.Dev.Index, all)
	if now, ok := numbered(all, q.ID); ok && now.Provider == q.Provider {
		q.NAPI = now.NAPI
	}
	return all, nil
}

// numbered finds the queue with that number, if there is one.
func numbered(all []nic.Queue, id int) (q nic.Queue, ok bool) {
	i := slices.IndexFunc(all, func(q nic.Queue) bool { return q.ID == id })
	if i < 0 {
		return q, false
	}
	return all[i], true
}

// Serves reports whether a packet that came by the NAPI instance with that number came by the
// queue. By another interface it did not. ok is false where that cannot be told: the instance
// serves other queues beside it, none is known to have it, or the driver does not link the queue
// with one. Only a number that is seen for the first time costs more than a look at a table.
func (q *Queue) Serves(napi uint32) (serves, ok bool) {
	p, known := q.place(napi)
	on, sure := p.On(q.ID)
	return on && sure, known && sure
}

// stranger is the last NAPI instance that was seen and served none of the interface's queues.
type stranger struct {
	napi uint32
	dev  string // the interface that has it, which is another one; "": not known
}

// SeenOn finds where the last packet of socket fd came in, as [Queue.Landed] does, for who asks
// again and again: it costs a system call and a look at a table, and more only when the socket
// names a NAPI instance for the first time. ok is false when it cannot be told.
func (q *Queue) SeenOn(fd int) (p Place, ok bool) {
	napi, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID)
	if err != nil {
		return p, false
	}
	return q.place(uint32(napi))
}

// OtherDev returns the interface by which a flow came that was last seen elsewhere.
func (q *Queue) OtherDev() string { return q.stranger.dev }

// place finds where packets come in that the NAPI instance with that number brings.
func (q *Queue) place(napi uint32) (p Place, ok bool) {
	if napi == 0 { // of no instance, and of all queues that none is linked with
		return p, false
	}
	known := func() bool {
		p.Queues = seen.queues(q.Dev.Index, napi)
		return p.Queues != nil
	}
	if !known() && napi != q.stranger.napi {
		if _, err := q.lookAgain(); err != nil {
			return p, false
		}
		if !known() {
			q.stranger = q.strange(napi)
		}
	}
	switch {
	case p.Queues == nil:
		p.Dev = q.stranger.dev
		return p, p.Dev != ""
	case !slices.Contains(p.Queues, q.ID) && !seen.link(q.Dev.Index, q.ID):
		return Place{}, false // it may be q's all the same, of which nothing is known
	}
	return p, true
}

// strange finds out whose a NAPI instance is that serves none of the interface's queues, as far as
// is known. One that no interface has now was renewed, or is of another network namespace, whose
// packets were forwarded to this one.
func (q *Queue) strange(napi uint32) stranger {
	dev, err := q.Dev.InterfaceOf(napi)
	if err != nil || dev == q.Dev.Name {
		dev = ""
	}
	return stranger{napi, dev}
}
