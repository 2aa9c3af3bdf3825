// SPDX-License-Identifier: MIT

package devmem

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// own is what each flow of a queue has of its own. Tokens belong to the socket that brought them:
// they are numbered by socket, and go back by it (tcp_recvmsg_dmabuf of net/ipv4/tcp.c and
// sock_devmem_dontneed of net/core/sock.c, sk_user_frags, Linux 7.3.4). So flows that share
// memory gather and give back apart.
type own struct {
	conn   *stream.Conn
	flow   *stream.Flow // of several
	n      int          // its number
	meter  *stream.Meter
	fd     int
	touch  *stream.Toucher
	tokens *tokens
	ended  bool

	copied      uint64 // bytes that came by another queue
	linearBytes uint64
}

// newOwn makes what a flow begins with.
func (r *Receiver) newOwn() *own {
	batch := r.opt.NIC.TokenBatch
	if batch == 0 {
		batch = stream.DefaultTokenBatch
	}
	return &own{tokens: newTokens(r.opt.NIC.HoldBytes, batch)}
}

// ReceiveAll takes payload of several flows of one queue, each with reads of its own, as they have
// some. Nothing is allocated per call.
func (r *Receiver) ReceiveAll(flows []*stream.Flow) error {
	w, err := r.begin(flows)
	if err != nil {
		return err
	}
	shared := &flows[0].Meter
	for left := len(flows); left > 0; {
		n, errno, err := r.restAll(w, shared)
		shared.Wait()
		if err != nil {
			return err
		}
		if errno != 0 {
			return fmt.Errorf("wait for %d flows: ppoll: %w", left, errno)
		}
		if n == 0 {
			if err := r.idleAll(); err != nil {
				return err
			}
			continue
		}
		empty := true
		for i, o := range r.all {
			if !w.Has(i) {
				continue
			}
			r.own = o
			more, err := r.readOnce(o.conn, o.meter)
			if err != nil {
				return stream.OfFlow(o.n, err)
			}
			if o.ended {
				w.Leave(i)
				o.flow.End()
				left--
			}
			empty = empty && !more
		}
		if empty && left > 0 {
			r.gather.Let(shared)
		}
	}
	return nil
}

// begin finds the flows that were attached, and waits for all of them.
func (r *Receiver) begin(flows []*stream.Flow) (*sock.WaiterOfAll, error) {
	if err := stream.CheckGroup(flows, len(r.all), func(c *stream.Conn) bool { return r.of(c) != nil }); err != nil {
		return nil, err
	}
	for _, f := range flows {
		o := r.of(f.Conn)
		o.flow, o.n, o.meter = f, f.N, &f.Meter
	}
	w := &sock.WaiterOfAll{}
	for _, o := range r.all {
		// Together they gather and hold no more than one flow would: the memory is made for that.
		o.tokens.batch = max(o.tokens.batch/len(r.all), 1)
		o.tokens.hold = r.opt.NIC.HoldBytes / len(r.all)
		w.Add(o.fd, unix.POLLIN)
	}
	return w, nil
}

// of finds the flow of a connection.
func (r *Receiver) of(c *stream.Conn) *own {
	if i := slices.IndexFunc(r.all, func(o *own) bool { return o.conn == c }); i >= 0 {
		return r.all[i]
	}
	return nil
}

// readOnce makes one read of a flow that has something. more: it may have more.
func (r *Receiver) readOnce(c *stream.Conn, m *stream.Meter) (more bool, err error) {
	if err := r.makeRoom(m); err != nil {
		return false, err
	}
	n, frags, truncated, errno := r.reader.Recv(r.fd, unix.MSG_DONTWAIT)
	m.Call()
	r.reads.calls++
	switch {
	case errno == 0 && n > 0:
		if truncated {
			r.reads.truncated++
		}
		before := r.reads.frags
		if err := r.take(n, frags, m); err != nil {
			return false, err
		}
		return n == len(r.linear.Bytes()) || r.reads.frags-before >= uint64(r.frags), nil
	case errno == 0:
		return false, r.end(c, m)
	case errno == unix.EAGAIN || errno == unix.EINTR:
		r.reads.empty++
		m.Nothing()
		return false, nil
	}
	return false, r.failed(c, errno)
}

// idleAll calls [Receiver.idleTick] for all flows that have not ended.
func (r *Receiver) idleAll() error {
	for _, o := range r.all {
		if o.ended {
			continue
		}
		r.own = o
		if err := r.idleTick(o.conn, o.meter); err != nil {
			return stream.OfFlow(o.n, err)
		}
	}
	return nil
}

// heldAll counts what the application holds of all flows.
func (r *Receiver) heldAll() (pieces, bytes int) {
	for _, o := range r.all {
		pieces, bytes = pieces+o.tokens.held.Count(), bytes+o.tokens.held.Bytes()
	}
	return pieces, bytes
}

// EvidenceOf returns what was seen of one of several flows. Reads and memory are those of all.
func (r *Receiver) EvidenceOf(f *stream.Flow) stream.Evidence {
	o := r.of(f.Conn)
	if o == nil {
		return stream.Evidence{}
	}
	r.own = o
	e := r.Evidence()
	e.Share(ofEach...)
	return e
}

// ofEach are the figures that each of several flows of a queue has for itself: where it is, and
// its tokens. The others are of all their reads, and of the queue.
var ofEach = []string{"devmem_queue", "devmem_leased_queue", "devmem_flow_queue",
	"devmem_provider_bound", "devmem_pool_bound",
	"devmem_token_batch",
	"devmem_setsockopt_calls", "devmem_token_ranges", "devmem_tokens_received", "devmem_tokens_freed",
	"devmem_idle_releases"}
