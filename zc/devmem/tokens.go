// SPDX-License-Identifier: MIT

package devmem

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/held"
	"golang.org/x/sys/unix"
)

// tokens are the fragments that the application has, and their way back.
type tokens struct {
	held  held.Queue
	hold  int // bytes that are kept
	batch int // fragments that are gathered before they go back

	ripe      int // of the oldest fragments: may go back
	ripeBytes int

	received, freed uint64
	calls           uint64 // of setsockopt
	ranges          uint64 // in them
	early           uint64 // fragments that went back before hold was reached
	idle            uint64 // releases of less than a batch, for want of payload

	out     [sock.MaxTokenRanges]sock.TokenRange
	scratch [sock.MaxTokenFrags]uint32
	release func(fd int, ranges []sock.TokenRange) (int, unix.Errno)
}

func newTokens(hold, batch int) *tokens {
	return &tokens{hold: hold, batch: batch, release: sock.ReleaseTokens}
}

// take adds a fragment; there must be room.
func (t *tokens) take(token, size uint32) {
	t.held.Push(uint64(token), size)
	t.received++
	for t.held.Bytes()-t.ripeBytes > t.hold {
		t.ripen()
	}
}

// ripen lets the oldest fragment that is kept go back.
func (t *tokens) ripen() {
	t.ripeBytes += int(t.held.At(t.ripe).Len)
	t.ripe++
}

// makeRoom gives fragments back, against hold if need be, until n more can be
// taken.
func (t *tokens) makeRoom(fd, n int, m *stream.Meter) error {
	for held.Max-t.held.Count() < n {
		for ; t.ripe < min(sock.MaxTokenFrags, t.held.Count()); t.early++ {
			t.ripen()
		}
		if err := t.giveSome(fd, m); err != nil {
			return err
		}
	}
	return nil
}

// give gives back what has been gathered, if it makes a batch.
func (t *tokens) give(fd int, m *stream.Meter) error {
	for t.ripe >= t.batch {
		if err := t.giveSome(fd, m); err != nil {
			return err
		}
	}
	return nil
}

// giveRipe gives back less than a batch too: while nothing comes, the NIC may need
// just these.
func (t *tokens) giveRipe(fd int, m *stream.Meter) error {
	for t.ripe > 0 {
		t.idle++
		if err := t.giveSome(fd, m); err != nil {
			return err
		}
	}
	return nil
}

// giveAll gives everything back, at the end of the flow, and checks that the
// kernel freed what it had handed out.
func (t *tokens) giveAll(fd int, m *stream.Meter) error {
	for t.ripe < t.held.Count() {
		t.ripen()
	}
	for t.ripe > 0 {
		if err := t.giveSome(fd, m); err != nil {
			return err
		}
	}
	if t.freed != t.received {
		return fmt.Errorf("%d fragments received, %d freed", t.received, t.freed)
	}
	return nil
}

// giveSome makes one call with the oldest fragments that may go back; there must
// be some.
func (t *tokens) giveSome(fd int, m *stream.Meter) error {
	ranges, n := t.merge(min(t.ripe, sock.MaxTokenFrags))
	freed, errno := t.release(fd, t.out[:ranges])
	m.Call()
	t.calls++
	t.ranges += uint64(ranges)
	if errno != 0 {
		return remedy.Error(remedy.DontNeed, fmt.Sprintf("setsockopt SO_DEVMEM_DONTNEED of %d fragments", n), errno,
			remedy.On{FD: fd})
	}
	t.freed += uint64(max(freed, 0))
	if freed != n {
		return &fault.Error{Op: fmt.Sprintf("setsockopt SO_DEVMEM_DONTNEED freed %d of %d fragments", freed, n),
			How: "fragments were returned that the kernel does not know: please report it"}
	}
	for range n {
		t.ripeBytes -= int(t.held.Oldest().Len)
		t.held.Pop()
	}
	t.ripe -= n
	return nil
}

// merge puts the n oldest fragments into ranges of consecutive tokens. The kernel
// hands tokens out in rising order, lowest free ones first, so that there are
// few; if they do not fit, then by number, and if not even then, the oldest of
// them. It returns the number of ranges and of fragments in them.
func (t *tokens) merge(n int) (ranges, frags int) {
	for i := range n {
		t.scratch[i] = uint32(t.held.At(i).ID)
	}
	ranges, frags = t.pack(n)
	if frags == n {
		return ranges, n
	}
	slices.Sort(t.scratch[:n])
	if r, k := t.pack(n); k == n {
		return r, n
	}
	for i := range frags {
		t.scratch[i] = uint32(t.held.At(i).ID)
	}
	return t.pack(frags)
}

// pack makes ranges of the first n of scratch, as far as there is room.
func (t *tokens) pack(n int) (ranges, frags int) {
	for i, token := range t.scratch[:n] {
		if ranges > 0 && t.out[ranges-1].Start+t.out[ranges-1].Count == token {
			t.out[ranges-1].Count++
			continue
		}
		if ranges == len(t.out) {
			return ranges, i
		}
		t.out[ranges] = sock.TokenRange{Start: token, Count: 1}
		ranges++
	}
	return ranges, n
}
