// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// Flows of one receiver are read as they have something, and each counts its own bytes and its
// own end. These come by no queue at all, so all of them are ordinary ones.
func TestReceiveAll(t *testing.T) {
	r, _, _ := inMemory(512)
	r.gather = stream.NewGathering(stream.Options{})
	control, err := stream.NewBuffer(64 * sock.DevmemControlBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	r.frags, r.reader = 64, sock.NewDevmemReader(r.linear.Bytes(), control.Bytes())
	r.opt.Touch = stream.TouchRead
	var flows []*stream.Flow
	for i, n := range []int{100, 9000, 0} {
		conn := sentTo(t, n)
		defer conn.Close()
		flows = append(flows, &stream.Flow{N: 5 + i, Conn: conn})
		r.all = append(r.all, &own{conn: conn, fd: conn.FD, touch: stream.NewToucher(stream.TouchRead, 31*4096),
			tokens: newTokens(0, 512)})
	}
	if _, _, _, errno := r.reader.Recv(flows[2].Conn.FD, 0); errno == unix.EOPNOTSUPP || errno == unix.EINVAL {
		t.Skipf("this kernel has no MSG_SOCK_DEVMEM: %v", errno)
	}
	if err := r.ReceiveAll(flows[:2]); err == nil ||
		!strings.Contains(err.Error(), "2 flows to receive, but 3 were attached") {
		t.Errorf("fewer flows than were attached: %v", err)
	}
	if err := r.ReceiveAll(flows); err != nil {
		t.Fatal(err)
	}
	for i, n := range []uint64{100, 9000, 0} {
		if c := flows[i].Meter.Snapshot(); c.Bytes != n || c.CopiedBytes != n || !r.all[i].ended ||
			r.all[i].copied != n {
			t.Errorf("flow %d: %+v, want %d bytes", flows[i].N, c, n)
		}
		if flows[i].EndNs() == 0 {
			t.Errorf("flow %d was not told that it has ended", flows[i].N)
		}
	}
	flows[1].Conn.Abort()
	if err := r.ReceiveAll(flows); !errors.Is(err, stream.ErrAborted) || !strings.HasPrefix(err.Error(), "flow 6: ") {
		t.Errorf("one was aborted: %v", err)
	}
}

// The memory is made for what one flow holds and gathers: flows of one queue share that.
func TestGroupSharesHold(t *testing.T) {
	const size = 4096
	r := &Receiver{opt: stream.Options{NIC: stream.NICQueue{HoldBytes: 40 * size, TokenBatch: 8}}}
	var flows []*stream.Flow
	for i := range 4 {
		o := r.newOwn()
		o.conn, o.fd = &stream.Conn{FD: i}, i
		r.all, flows = append(r.all, o), append(flows, &stream.Flow{N: i, Conn: o.conn})
	}
	if _, err := r.begin(flows); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.all {
		k := &kernel{t: t, out: map[uint32]bool{}}
		o.tokens.release = k.release
		for token := range uint32(102) {
			k.hand(o.tokens, token, size)
			if err := o.tokens.give(o.fd, o.meter); err != nil {
				t.Fatal(err)
			}
		}
		if n := o.tokens.held.Bytes(); n != 10*size {
			t.Errorf("flow %d holds %d bytes", o.n, n)
		}
	}
	if pieces, bytes := r.heldAll(); pieces != 40 || bytes != r.opt.NIC.HoldBytes {
		t.Errorf("all hold %d fragments of %d bytes, of %d", pieces, bytes, r.opt.NIC.HoldBytes)
	}
}

// sentTo is a connection by which n bytes have come, and the end.
func sentTo(t *testing.T, n int) *stream.Conn {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tx, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	rx, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Write(make([]byte, n))
	conn, derr := stream.Detach(rx.(*net.TCPConn))
	if err = errors.Join(err, derr, tx.Close()); err != nil {
		t.Fatal(err)
	}
	return conn
}
