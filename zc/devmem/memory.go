// SPDX-License-Identifier: MIT

package devmem

import (
	"cmp"
	"errors"
	"os"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// bufLen returns the length of the NIC's buffers that the options ask for.
func bufLen(q stream.NICQueue) int { return cmp.Or(q.BufLen, os.Getpagesize()) }

// asked returns the buffer length to ask the kernel for: 0 for a page, which it is without asking,
// also with drivers and kernels that know no other.
func (r *Receiver) asked() int {
	if r.bufLen == os.Getpagesize() {
		return 0
	}
	return r.bufLen
}

// newMemory makes the memory that the options ask for, else four times the ring of buffers
// of bufLen bytes, and what the application keeps, of so many queues.
func newMemory(d *nic.Device, q stream.NICQueue, bufLen, queues int) (*dmabuf.Memory, error) {
	ring, err := d.PayloadRing(bufLen)
	if err != nil {
		return nil, err
	}
	size := (q.AreaBytes + bufLen - 1) / bufLen * bufLen
	if size == 0 {
		size = queues * dmabuf.SizeFor(ring.Buffers, bufLen, q.HoldBytes)
	}
	if err := dmabuf.CheckSize(size, queues*ring.Buffers, bufLen, d.Name,
		ring.Most(d.Name, size/bufLen/4/queues)); err != nil {
		return nil, err
	}
	area, err := dmabuf.NearTo(d, areaKind(q, bufLen))
	if err != nil {
		return nil, err
	}
	m, err := dmabuf.Make(area, size)
	if err == nil && !m.Whole() {
		err = errors.Join(dmabuf.NotWhole(m), m.Close())
		m = nil
	}
	return m, err
}

// areaKind chooses what backs the memory: buffers longer than a page want memory that is contiguous
// in pieces of their length.
func areaKind(q stream.NICQueue, bufLen int) string {
	if q.Area == "" && bufLen > os.Getpagesize() {
		return dmabuf.Huge
	}
	return cmp.Or(q.Area, dmabuf.Udmabuf)
}
