// SPDX-License-Identifier: MIT

package nicqueue

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/machine/nic"
)

// A queue may have several page pools of its provider (idpf: one for each of its two rings of
// buffers), and a driver that restarts a queue makes new ones. The kernel does not say which queue
// a pool serves (see [nic.PagePool.Queue]). So the numbers of those that a queue got with our
// memory are kept: they stay while the pools do.

// bindings are the pools of an interface that have a provider, and the queues that have one.
type bindings struct {
	known  bool
	pools  []uint64
	queues []int
}

// The pools are read first: of who gets memory meanwhile the queue shows.
func (q *Queue) bindings() (b bindings) {
	pools, perr := q.Dev.PagePools()
	queues, qerr := q.Dev.Queues()
	return bound(queues, pools, qerr == nil && perr == nil)
}

func bound(queues []nic.Queue, pools []nic.PagePool, known bool) bindings {
	b := bindings{known: known}
	for _, q := range queues {
		if q.Provider != nic.ProviderNone {
			b.queues = append(b.queues, q.ID)
		}
	}
	for _, p := range pools {
		if p.Provider != nic.ProviderNone && !p.Detached {
			b.pools = append(b.pools, p.ID)
		}
	}
	return b
}

// since returns the pools that came with queue id, if it alone got a provider since before. Where
// pools of before are gone, others were made anew, and nobody can tell whose the new ones are.
func (b bindings) since(before bindings, id int) (pools []uint64) {
	if !b.known || !before.known || slices.Contains(before.queues, id) {
		return nil
	}
	for _, q := range b.queues {
		if q != id && !slices.Contains(before.queues, q) {
			return nil
		}
	}
	for _, p := range before.pools {
		if !slices.Contains(b.pools, p) {
			return nil
		}
	}
	for _, p := range b.pools {
		if !slices.Contains(before.pools, p) {
			pools = append(pools, p)
		}
	}
	slices.Sort(pools)
	return pools
}

// firstPools finds the pools that the queue has as soon as its memory is bound. Where its driver
// links it with no NAPI instance, they may be another's that got memory of such a provider just
// now.
func (q *Queue) firstPools() []uint64 {
	own, ok := q.ownPools()
	if ok && (q.NAPI != 0 || !q.old.known) {
		return ids(own)
	}
	return q.bindings().since(q.old, q.ID)
}

// renewPools looks before payload comes which pools the queue has, where none of those that it got
// with our memory is left: another queue was taken over since, and the driver restarts all for that
// (gve), or for what comes with it.
func (q *Queue) renewPools() {
	if !q.bound || len(q.pools) == 0 {
		return
	}
	own, ok := q.ownPools()
	if now := ids(own); ok && len(now) > 0 && !slices.ContainsFunc(now, func(id uint64) bool {
		return slices.Contains(q.pools, id)
	}) {
		q.pools = now
	}
}

// Buffers counts how many buffers, at most, the queue's page pools have handed out to the driver
// since the memory was bound, all together. ok is false where that is not told: before Linux 6.8,
// without CONFIG_PAGE_POOL_STATS, when the queue is another interface's, when its pools cannot be
// told from those of other queues, or when it got another pool meanwhile.
func (q *Queue) Buffers() (n uint64, ok bool) {
	pools, ok := q.ownPools()
	if !ok || !slices.Equal(ids(pools), q.pools) {
		return 0, false
	}
	all, err := q.Dev.PoolStats()
	if err != nil {
		return 0, false
	}
	return handedOut(pools, all)
}

// handedOut adds up what the pools have handed out; ok is false where one does not tell.
func handedOut(pools []nic.PagePool, all map[uint64]nic.PoolStats) (n uint64, ok bool) {
	for _, p := range pools {
		s, ok := all[p.ID]
		if !ok {
			return 0, false
		}
		n += s.Buffers()
	}
	return n, len(pools) > 0
}

// Inflight counts the buffers that are out of the queue's page pools: in the NIC's rings, in
// packets, with the application, and given back but not fetched yet.
func (q *Queue) Inflight() (n uint64, ok bool) {
	pools, ok := q.ownPools()
	for _, p := range pools {
		n += p.Inflight
	}
	return n, ok
}

// ownPools finds the page pools of the queue's provider, in order: those that it had at first,
// while all of them are in use, or else those that it has now.
func (q *Queue) ownPools() (own []nic.PagePool, ok bool) {
	for range renewals {
		before, err := q.lookAgain()
		if err != nil {
			return nil, false
		}
		pools, err := q.Dev.PagePools()
		if err != nil {
			return nil, false
		}
		if own = poolsOf(pools, before, q.Queue, q.pools); len(own) > 0 {
			return own, true
		}
		napi := q.NAPI
		if _, err = q.lookAgain(); err != nil || q.NAPI == napi {
			return nil, false
		}
	}
	return nil, false
}

// renewals is how often in a row the numbers of NAPI instances are looked at, where others renew
// them between one look and the next (see [napis]).
const renewals = 10

// poolsOf picks the page pools of q's provider: those that are known, and while one of them is
// missing, those that serve q as far as that is told.
func poolsOf(pools []nic.PagePool, all []nic.Queue, q nic.Queue, known []uint64) (own []nic.PagePool) {
	var now []nic.PagePool
	for _, p := range pools {
		if p.Provider != q.Provider || p.Provider == nic.ProviderNone || p.Detached {
			continue
		}
		id, ok := p.Queue(all)
		if slices.Contains(known, p.ID) {
			own = append(own, p)
		}
		if ok && id == q.ID {
			now = append(now, p)
		}
	}
	extra := slices.ContainsFunc(now, func(p nic.PagePool) bool { return !slices.Contains(known, p.ID) })
	if len(own) < len(known) || len(own) == 0 || extra {
		own = now
	}
	slices.SortFunc(own, func(a, b nic.PagePool) int { return cmp.Compare(a.ID, b.ID) })
	return own
}

func ids(pools []nic.PagePool) (out []uint64) {
	for _, p := range pools {
		out = append(out, p.ID)
	}
	return out
}
