// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// refuseTwin refuses a rule for packets that a rule of somebody else is for, with its place.
// Drivers differ in what they make of a second one (Linux 7.3.4): bnxt refuses it, with mlx5 it
// waits until the first is deleted, with fbnic it counts instead, and sfc puts it into the place
// of the first without a word, so that taking ours back would leave nothing. A rule that is made
// after this look is not seen, nor one that does not read back: whether that is for these packets
// is not known, and the driver is asked.
func (d *Device) refuseTwin(op string, t ruleTable, fs flowSpec) error {
	end := time.Now().Add(ruleWithin)
	for _, at := range t.places {
		other, err := d.readRule(at, end)
		if err != nil || !other.sameMatch(fs) {
			continue
		}
		return &fault.Error{Op: fmt.Sprintf("%s: rule %d %s", op, at, other.does()), Err: unix.EEXIST,
			How: fmt.Sprintf("it does not belong to this run, and is kept: delete it if nobody needs it (ethtool "+
				"-N %s delete %d), or use another data port (--port)", d.Name, at)}
	}
	return nil
}

// flowRSS is FLOW_RSS: the rule has a context.
const flowRSS uint32 = 0x20000000

// ruleDiscards is RX_CLS_FLOW_DISC, in place of a queue.
const ruleDiscards uint64 = math.MaxUint64

// tuple returns the addresses and ports of one of the spec's unions.
func (s flowSpec) tuple(of [52]byte) []byte {
	if s.flowType&^flowRSS == tcpV6Flow {
		return of[:36]
	}
	return of[:12]
}

// sameMatch reports whether two rules are for the same packets; t's fields are looked at in full.
func (s flowSpec) sameMatch(t flowSpec) bool {
	return s.flowType&^flowRSS == t.flowType&^flowRSS && bytes.Equal(s.tuple(s.mask), t.tuple(t.mask)) &&
		bytes.Equal(s.tuple(s.want), t.tuple(t.want))
}

// does words what a rule does with the flow's packets.
func (s flowSpec) does() string {
	switch {
	case s.cookie == ruleDiscards:
		return "drops it"
	case s.flowType&flowRSS != 0:
		return "sends it to the queues of an RSS context"
	case s.cookie > math.MaxUint32: // to a virtual function, or to wake the host
		return "sends it elsewhere"
	}
	return fmt.Sprintf("sends it to RX queue %d", s.cookie)
}
