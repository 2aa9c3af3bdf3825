// SPDX-License-Identifier: MIT

package bpf

import (
	"structs"

	"github.com/zcbench/zcbench/machine/counter"
)

// rawPolling is struct polling of napi.h: who polled the flow's interface on a CPU.
type rawPolling struct {
	_    structs.HostLayout
	By   [counter.NAPIPollers]struct{ Polls, Packets, Empty, Spin uint64 }
	Spun uint64
}

// counted returns what each has polled so far.
func (p *rawPolling) counted() (by [counter.NAPIPollers]counter.NAPIPolls) {
	for who, n := range p.By {
		by[who] = counter.NAPIPolls{Polls: n.Polls, Packets: n.Packets, Empty: n.Empty, SpinNs: int64(n.Spin)}
	}
	return by
}
