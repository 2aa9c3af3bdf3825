// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

// attached tells that a program of XDP is on an interface, and how many packets left it.
func attached(t *testing.T, e veth.End) (xdp bool, sent uint64) {
	t.Helper()
	err := e.Netns.Do(func() error {
		l, err := rtnl.LinkNamed(e.Dev)
		if err != nil {
			return err
		}
		s, err := counter.ReadLink(e.Dev)
		if err == nil {
			xdp, sent = l.XDP, s.Stats.TxPackets
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return xdp, sent
}

// A run with a program of XDP at one end and a generator that floods at the other is killed with
// -9, agents and all: the flood ends, nothing stays attached, and restore puts back what was set.
func TestIntegrationRestoreXDP(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	leaseDir(t)
	pair := newPair(t)
	before := linkOf(t, pair.SUT)
	run := startFlood(t, pair)
	kill9(t, append([]int{run.Process.Pid}, childrenOf(t, run.Process.Pid)...)...)
	run.Wait(await.Hang)
	if status, text, stderr := zcbench(t, "restore"); status != 0 {
		t.Errorf("restore: exit status %d: %s%s", status, text, stderr)
	}
	for name, e := range map[string]veth.End{"SUT": pair.SUT, "TG": pair.TG} {
		await.Until(t, "nothing is attached at the "+name, func() bool { xdp, _ := attached(t, e); return !xdp })
	}
	_, last := attached(t, pair.TG)
	await.Until(t, "an end of packets", func() bool {
		await.Pause("who goes on has the time to send", 50*time.Millisecond)
		_, now := attached(t, pair.TG)
		was := last
		last = now
		return now == was
	})
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after restore:\n%s", d)
	}
}

// startFlood starts such a run, and waits until it floods.
func startFlood(t *testing.T, pair *veth.Pair) *built.Process {
	t.Helper()
	p := built.Start(t, "zcbench", "run", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg",
		"netns:"+pair.TG.Netns.Path(), "--rx", "xdp-drop", "--tx", "pktgen-xdp",
		"--message-size", "18", "--duration", "10m", "--mtu", "2000")
	await.Until(t, "a flood", func() bool {
		xdp, _ := attached(t, pair.SUT)
		_, sent := attached(t, pair.TG)
		return xdp && sent > 10_000
	})
	return p
}
