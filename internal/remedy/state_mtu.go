// SPDX-License-Identifier: MIT

package remedy

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/plaintext"

	"golang.org/x/sys/unix"
)

// smallOnly: the handshake and small segments pass, full ones do not. That is so where something
// between the hosts carries smaller packets than both ends think, and no ICMP message says so.
var smallOnly = &state{Name: "small segments are acknowledged, and none of full size",
	From: "getsockopt TCP_INFO: snd_mss, pmtu, backoff, probes, unacked, bytes_acked, bytes_sent, bytes_retrans",
	Holds: func(on On) (string, bool) {
		if on.FD <= 0 {
			return "", false
		}
		t, err := unix.GetsockoptTCPInfo(on.FD, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return "", false
		}
		return smallOnlyIn(t, on)
	}}

// SmallOnly advises what to do about a flow of which nothing of full size is acknowledged; "" where
// that is not so.
func SmallOnly(on On) string {
	if _, holds := smallOnly.Holds(on); !holds {
		return ""
	}
	return How(Progress, unix.ETIMEDOUT, on)
}

func smallOnlyIn(t *unix.TCPInfo, on On) (words string, holds bool) {
	const closed = 7 // TCP_CLOSE: the kernel has given up, and forgotten what was in flight (tcp_write_queue_purge)
	// Probes: an interface that drops at once lets TCP take it for local congestion, and try again
	// (net/ipv4/tcp_output.c: tcp_send_probe0).
	lost := t.Retransmits > 0 || t.Backoff > 0 || t.Total_retrans > 0 || t.Probes > 0
	waits := t.Unacked > 0 || t.Notsent_bytes > 0 || t.State == closed
	// A request now and then never fills a segment, and says nothing of the way
	// (net/ipv4/tcp_output.c: __tcp_transmit_skb counts what is sent before anything can drop it).
	filled := t.Bytes_sent >= t.Bytes_retrans+uint64(t.Snd_mss)
	if !lost || !waits || !filled || t.Bytes_acked >= uint64(t.Snd_mss) {
		return "", false
	}
	headers, mtu := 28, t.Pmtu // of IPv4 and ICMP
	if a := on.Remote.Addr(); a.Is6() && !a.Is4In6() {
		headers = 48
	}
	return fmt.Sprintf(
		"the connection was made, but nothing of full size came through: no packet of the MTU of %d bytes "+
			"(ping -M do -s %d %s shows it, where ping -s 56 is answered)", mtu, int(mtu)-headers,
		plaintext.Word(on.Remote.Addr().String())), true
}
