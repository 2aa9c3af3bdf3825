// SPDX-License-Identifier: MIT

package softnictest

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/nic"
)

// Queues are opened anew while packets wait for room in a TX ring, whose completions wait for
// NAPI. What waits is sent by the new ring, and nothing is put into the old one: it would keep
// its socket for ever, and count in BQL, which then lets nothing more be sent.
func TestOpenedAnewWithABacklog(t *testing.T) {
	needLab(t)
	again := func(channels, tx uint32) {
		do(t, rx.NS, func() error { return setChannels(rx.Dev, channels) })
		do(t, rx.NS, func() error { return setRings(rx.Dev, rings{TX: tx}) })
	}
	t.Cleanup(func() { again(4, 512) })
	again(1, 4)
	peer := netip.AddrPortFrom(netip.MustParsePrefix(tx.V4).Addr(), 5062)
	here := udp(t, rx.NS, netip.AddrPortFrom(v4.addr(), 5062), busy{})
	there := udp(t, tx.NS, peer, busy{})
	// What is received has NAPI come again after a second and not before. A busy machine may take
	// longer for what follows, and is asked again.
	napi(t, nic.NAPISettings{DeferHardIRQs: 1000, GROFlushTimeoutNs: 1e9})
	b := make([]byte, 64)
	await.Until(t, "something waits", func() bool {
		if err := unix.Sendto(there, []byte("come"), 0, sockaddr(netip.AddrPortFrom(v4.addr(), 5062))); err != nil {
			t.Fatal(err)
		}
		if _, _, err := recvfrom(here, b, 0); err != nil {
			t.Fatal(err)
		}
		const n = 200
		for range n {
			if err := unix.Sendto(here, b[:4], 0, sockaddr(peer)); err != nil {
				t.Fatal(err)
			}
		}
		left, err := unix.IoctlGetInt(here, unix.SIOCOUTQ)
		if err != nil {
			t.Fatal(err)
		}
		return left > 0
	})
	do(t, rx.NS, func() error { return setRings(rx.Dev, rings{TX: 512}) })
	napi(t, nic.NAPISettings{})
	await.Until(t, "nothing waits any more", func() bool {
		left, err := unix.IoctlGetInt(here, unix.SIOCOUTQ)
		if err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
	transfer(t, listen(t, v4, 5063), 1<<20)
}
