// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// kernelFeature is something that kernels have from one on, beside what io_uring tells of itself
// (package uring), with how the doctor finds out. docs/kernels.md has a row of each.
type kernelFeature struct {
	name  string // the kernel's word for it
	use   string // what zcbench has it for
	since string // the first mainline release
	probe string // how it is tried, in words
	try   func() error
}

const withTLS = "set on a connection over 127.0.0.1, if the module tls is loaded"

// kernelFeatures are in the order of what they are of. One line adds one.
var kernelFeatures = []kernelFeature{
	{"TLS_TX_ZEROCOPY_RO", "tls: ktls-hw, sendfile without a copy", "5.19", withTLS, records.KnowsZeroCopy},
	{"TLS_RX_EXPECT_NO_PAD", "tls: ktls, records opened in place", "6.0", withTLS, records.KnowsNoPad},
	asked("which queue a flow came by", "6.8", nic.QueueGet),
	asked("proof by page pools", "6.8", nic.PagePoolGet),
	asked("counters of each queue", "6.9", nic.QStatsGet),
	{"EPIOCSPARAMS", "poll: busy and suspend where a mode waits by epoll", "6.9", "asked of an epoll of its own",
		epollPolls},
	asked("rx devmem", "6.12", nic.BindRX),
	asked("several RSS contexts: steer: port", "6.12", nic.RSSContexts),
	asked("IRQ suspension", "6.13", nic.NAPISuspend),
	asked("header split of small packets", "6.14", nic.RingsHDS),
	asked("tx devmem", "6.16", nic.BindTX),
	asked("threads of NAPI, by queue", "6.17", nic.NAPIThreaded),
	asked("threads of NAPI that poll without end", "6.19", nic.NAPIBusy),
	{"netkit", "containers", "6.7", "asked for one with an address that it cannot have", rtnl.HasNetkit},
	asked("containers: lease_queue", "7.1", nic.QueueLease),
	asked("rx devmem with rx_buf_len", "7.3", nic.BindRXBuffers),
}

// asked makes the feature that is a request of generic netlink.
func asked(use, since string, r nic.Request) kernelFeature {
	return kernelFeature{r.Family + " " + r.Name, use, since, "the family " + r.Family + " is asked what it takes",
		r.Known}
}

// kernelChecks tries each of them now.
func kernelChecks() (out []wire.Check) {
	for _, f := range kernelFeatures {
		out = append(out, f.check())
	}
	return out
}

func (f kernelFeature) check() wire.Check {
	c := answered(wire.Check{Name: f.name, Needed: fmt.Sprintf("Linux %s, for %s", f.since, f.use), Found: "works"},
		f.try())
	if c.Status == "lacking" && c.Fix == "" {
		c.Fix = "use Linux " + f.since + " or later"
	}
	return c
}

// epollPolls sets how an epoll polls, which nobody waits for.
func epollPolls() error {
	p, err := sock.NewEpoll()
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Poll(0, 0)
}
