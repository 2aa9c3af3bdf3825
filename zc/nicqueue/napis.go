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

// napis are the numbers that NAPI instances were seen with, and which RX queue each served. The
// kernel counts them for all namespaces together, and gives none a second time (napi_hash_add of
// net/core/dev.c) but to the same queue.
type napis struct {
	mu     sync.Mutex
	served map[uint32]served
}

// served is an RX queue of the interface with that index.
type served struct{ index, queue int }

// seen are those of this process.
var seen napis

// keep notes the numbers that all queues of an interface have now.
func (n *napis) keep(index int, all []nic.Queue) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.served == nil {
		n.served = map[uint32]served{}
	}
	for _, q := range slices.Backward(all) { // the first of those that one NAPI instance serves
		if q.NAPI != 0 {
			n.served[q.NAPI] = served{index, q.ID}
		}
	}
}

// queue is the one of an interface that the NAPI instance with that number served when it was
// last seen.
func (n *napis) queue(index int, napi uint32) (id int, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.served[napi]
	return s.queue, ok && s.index == index
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

// numbered is the queue with that number, if there is one.
func numbered(all []nic.Queue, id int) (q nic.Queue, ok bool) {
	i := slices.IndexFunc(all, func(q nic.Queue) bool { return q.ID == id })
	if i < 0 {
		return q, false
	}
	return all[i], true
}

// Serves reports whether the NAPI instance with that number is, or was, the queue's. That of
// another interface is not. ok is false where it could not be found out. Only a number that is seen
// for the first time costs more than a look at a table.
func (q *Queue) Serves(napi uint32) (serves, ok bool) {
	id, known, err := q.served(napi)
	return known && id == q.ID, err == nil
}

// Elsewhere stands for the RX queue of a flow that came by another interface.
const Elsewhere = -1

// stranger is the last NAPI instance that was seen and served none of the interface's queues.
type stranger struct {
	napi uint32
	dev  string // the interface that has it, which is another one; "": not known
}

// SeenOn is the RX queue that the last packet of socket fd came by, as [Queue.Landed] has it, for
// who asks again and again: it costs a system call and a look at a table, and more only when the
// socket names a NAPI instance for the first time. [Elsewhere]: by another interface. ok is false
// when it cannot be told.
func (q *Queue) SeenOn(fd int) (id int, ok bool) {
	napi, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID)
	if err != nil || napi == 0 {
		return 0, false
	}
	id, known, err := q.served(uint32(napi))
	if err == nil && !known && q.OtherDev() != "" {
		return Elsewhere, true
	}
	return id, known && err == nil
}

// OtherDev is the interface by which a flow came that was last seen [Elsewhere].
func (q *Queue) OtherDev() string { return q.stranger.dev }

// served is the queue that the NAPI instance with that number serves, or did: q where it serves
// that among others. Of another one it is not known: q.stranger is that.
func (q *Queue) served(napi uint32) (id int, known bool, err error) {
	switch napi {
	case q.NAPI:
		return q.ID, true, nil
	case q.stranger.napi:
		return 0, false, nil
	}
	if id, known = seen.queue(q.Dev.Index, napi); known {
		return id, true, nil
	}
	if _, err := q.lookAgain(); err != nil {
		return 0, false, err
	}
	if napi == q.NAPI { // as it is now
		return q.ID, true, nil
	}
	if id, known = seen.queue(q.Dev.Index, napi); !known {
		q.stranger = q.strange(napi)
	}
	return id, known, nil
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
