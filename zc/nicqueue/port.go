// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
)

// Port is a rule for all TCP flows to a port, into an RSS context over queues that are kept free of
// other flows ([Take], [Share]): their hash decides by which of these each comes.
type Port struct {
	q  Queue
	to []uint32
}

// OpenPort makes the context on interface dev. Queues may be in it more than once.
func OpenPort(mode, dev string, queues []int) (*Port, error) {
	p := &Port{q: Queue{mode: mode}}
	for _, id := range queues {
		p.to = append(p.to, uint32(id))
	}
	var err error
	if p.q.Dev, err = nic.Open(dev); err != nil {
		return nil, p.refused(err)
	}
	p.q.Queue, err = p.q.Dev.Queue(queues[0])
	if err == nil {
		err = p.q.changes.Spread(p.q.Dev, p.to)
	}
	if err != nil {
		return nil, errors.Join(p.refused(err), p.Release())
	}
	return p, nil
}

// Steer sends all flows to local, of this host, into the context.
func (p *Port) Steer(local netip.AddrPort) error {
	if err := p.q.changes.SteerPort(p.q.Dev, local, p.to); err != nil {
		return p.refused(err)
	}
	_, _ = p.q.lookAgain()
	return nil
}

// refused makes a mode's error of one, which names the way that needs no context.
func (p *Port) refused(err error) error {
	err = Unsupported(p.q.mode, err)
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		u.How = joined(u.How, "or steer each flow by a rule of its own: --steer flow (in files steer: flow)")
	}
	return err
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Queue finds by which RX queue the last packet of socket fd came. Where that cannot be told, the
// flow's memory cannot be chosen. By another interface it came by none: false.
func (p *Port) Queue(fd int) (id int, ok bool, err error) {
	at, known := p.q.Landed(fd)
	if id, ok = at.Queue(); ok || known && at.Elsewhere() {
		return id, ok, nil
	}
	return 0, false, p.refused(&fault.Error{
		Op: fmt.Sprintf("find out by which queue of an RSS context of %s a flow comes: %s", p.q.Dev.Name,
			p.q.Unknown(fd)),
		How: "use a driver that links each queue with a NAPI instance of its own (fewer queues may have: ethtool -L)"})
}

// Release deletes the rule, then the context.
func (p *Port) Release() error { return p.q.Release() }
