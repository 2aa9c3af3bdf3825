// SPDX-License-Identifier: MIT

package softnictest

import (
	"fmt"
	"testing"
	"time"
)

// onlyQueue checks that the data went through this queue and no other: the
// proof of steering is the counters of the queues.
func onlyQueue(t *testing.T, c *counters, queue int, n uint64) {
	t.Helper()
	for q := range 8 {
		got := c.grown(fmt.Sprintf("rx%d_bytes", q))
		if q == queue && got < n {
			t.Errorf("queue %d received %d bytes, want at least %d", q, got, n)
		}
		if q != queue && got > n/10 {
			t.Errorf("queue %d received %d bytes, want none of the flow", q, got)
		}
	}
}

func TestNtupleRule(t *testing.T) {
	needLab(t)
	for _, f := range []family{v4, v6} {
		for queue := range 4 {
			t.Run(fmt.Sprintf("ipv%d/queue%d", f, queue), func(t *testing.T) {
				steer(t, rule{dst: f.addr(), port: 5010, queue: uint64(queue)})
				c := count(t)
				transfer(t, listen(t, f, 5010), 1<<20)
				onlyQueue(t, c, queue, 1<<20)
			})
		}
	}
}

func TestNtupleRuleDrops(t *testing.T) {
	needLab(t)
	l := listen(t, v4, 5011)
	steer(t, rule{port: 5011, queue: dropPacket})
	c := count(t)
	if _, err := dialTimeout(t, l, 1500*time.Millisecond); err == nil {
		t.Error("connected through a rule that drops")
	}
	if got := c.grown("steer_drops"); got == 0 {
		t.Error("steer_drops did not grow")
	}
}

// A rule for the same packets takes the place of the first, where the driver is to find
// one: the kernel's rss_ctx.py wants it so (test_rss_context_queue_reconfigure), and sfc's
// driver does it (efx_ethtool_set_class_rule, Linux 7.3.4). A rule for more packets does not.
func TestNtupleRuleReplaced(t *testing.T) {
	needLab(t)
	for _, f := range []family{v4, v6} {
		t.Run(fmt.Sprintf("ipv%d", f), func(t *testing.T) {
			r := rule{dst: f.addr(), port: 5012, queue: 1}
			at := steer(t, r)
			for _, other := range []rule{{port: 5012, queue: 2}, {dst: f.addr(), port: 5013, queue: 2}} {
				if got := steer(t, other); got == at {
					t.Errorf("%+v took the place of %+v", other, r)
				}
			}
			r.queue = 3
			got := in(t, rx.NS, func() (uint32, error) { return r.insert(rx.Dev) })
			if got != at {
				t.Errorf("the same match is at %d, and was at %d", got, at)
				t.Cleanup(func() { do(t, rx.NS, func() error { return deleteRule(rx.Dev, got) }) })
			}
			c := count(t)
			transfer(t, listen(t, f, 5012), 1<<20)
			onlyQueue(t, c, 3, 1<<20)
		})
	}
}

func TestNtupleRuleIsChecked(t *testing.T) {
	needLab(t)
	for name, r := range map[string]rule{
		"queue beyond the channels": {port: 1, queue: 4},
		"context that is not there": {port: 1, context: 9},
	} {
		do(t, rx.NS, func() error {
			if loc, err := r.insert(rx.Dev); err == nil {
				deleteRule(rx.Dev, loc)
				t.Errorf("%s: accepted", name)
			}
			return nil
		})
	}
}

func TestRSSIndirection(t *testing.T) {
	needLab(t)
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRSS(rx.Dev) }) })
	for _, queue := range []uint32{3, 1} {
		do(t, rx.NS, func() error { return setRSS(rx.Dev, queue) })
		c := count(t)
		for port := range uint16(3) {
			transfer(t, listen(t, v4, 5020+100*uint16(queue)+port), 256<<10)
		}
		onlyQueue(t, c, int(queue), 3*256<<10)
	}
}

// Many flows spread: with the default table no queue stays empty.
func TestRSSSpreads(t *testing.T) {
	needLab(t)
	c := count(t)
	l := listen(t, v6, 5025)
	const flows = 48
	for i := range flows {
		// The hash is linear in the port's bits. Neighbouring ports differ in few of
		// them, which a key can map to half of the queues. These are below the range
		// that others take theirs from.
		if err := transferOver(dialFrom(t, l, 10007+i*449), l, 32<<10); err != nil {
			t.Fatal(err)
		}
	}
	for q := range 4 {
		if got := c.grown(fmt.Sprintf("rx%d_bytes", q)); got < 32<<10 {
			t.Errorf("queue %d received %d bytes of %d flows", q, got, flows)
		}
	}
}

func TestRSSContext(t *testing.T) {
	needLab(t)
	id := in(t, rx.NS, func() (uint32, error) { return createContext(rx.Dev, 2) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return deleteContext(rx.Dev, id) }) })
	steer(t, rule{port: 5030, context: id})
	c := count(t)
	transfer(t, listen(t, v4, 5030), 1<<20)
	onlyQueue(t, c, 2, 1<<20)
	do(t, rx.NS, func() error {
		if err := deleteContext(rx.Dev, id); err == nil {
			t.Error("a context that a rule uses was deleted")
		}
		return nil
	})
}
