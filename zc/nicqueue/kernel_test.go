// SPDX-License-Identifier: MIT

package nicqueue

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// kernel is what a kernel answers about an interface: its queues, page pools and NAPI instances,
// each with its attributes as Documentation/netlink/specs/netdev.yaml has them.
type kernel struct {
	queues []nic.Queue
	pools  []nic.PagePool
	stats  map[uint64]nic.PoolStats
	napis  []napi
}

// napi is an instance of the interface with that number: 1 is eth1.
type napi struct {
	id      uint32
	ifindex int
}

// faked is the number of the interface that the kernel tells of.
const faked = 7

// replay calls f with the interface. Whatever else is asked has no answer.
func (k *kernel) replay(t *testing.T, f func(*nic.Device)) {
	t.Helper()
	file := &tape.File{Format: "zcbench-record", Version: 1, Dev: "eth0"}
	say := func(asked string, got any) {
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		file.Answers = append(file.Answers, tape.Answer{Asked: asked, Got: text})
	}
	say("interface", faked)
	say("netlink of ethtool and netdev", nil)
	ask := func(name string, filter tape.Bytes, got []tape.Bytes) {
		say(fmt.Sprintf("netlink netdev %s, flags %#x: %x", name, int(netlink.Dump), []byte(filter)), got)
	}
	var queues, pools, stats, napis []tape.Bytes
	for _, q := range k.queues {
		queues = append(queues, attrs(t, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(1, uint32(q.ID))
			ae.Uint32(2, faked)
			ae.Uint32(3, 0)
			if q.NAPI != 0 {
				ae.Uint32(4, q.NAPI)
			}
			provider(ae, q.Provider, 5, q.DMABuf, 6)
		}))
	}
	for _, p := range k.pools {
		pools = append(pools, attrs(t, func(ae *netlink.AttributeEncoder) {
			ae.Uint64(1, p.ID)
			ae.Uint32(2, faked)
			if p.NAPI != 0 {
				ae.Uint32(3, p.NAPI)
			}
			ae.Uint64(4, p.Inflight)
			if p.Detached {
				ae.Uint64(6, 1)
			}
			provider(ae, p.Provider, 7, p.DMABuf, 8)
		}))
	}
	for id, s := range k.stats {
		stats = append(stats, attrs(t, func(ae *netlink.AttributeEncoder) {
			ae.Nested(1, func(ae *netlink.AttributeEncoder) error {
				ae.Uint64(1, id)
				ae.Uint32(2, faked)
				return nil
			})
			ae.Uint64(8, s.Fast)
			ae.Uint64(11, s.Empty)
		}))
	}
	for _, n := range k.napis {
		napis = append(napis, attrs(t, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(1, uint32(n.ifindex))
			ae.Uint32(2, n.id)
		}))
	}
	ask("queue-get", attrs(t, func(ae *netlink.AttributeEncoder) { ae.Uint32(2, faked) }), queues)
	ask("page-pool-get", nil, pools)
	ask("", nil, stats) // page-pool-stats-get, which no record has
	say("drivers of all interfaces", []string{"bnxt_en", "mlx5_core"})
	ask("napi-get", nil, napis)
	for index, name := range map[int]string{1: "eth1", faked: "eth0"} {
		head := make(tape.Bytes, unix.SizeofIfInfomsg)
		binary.NativeEndian.PutUint32(head[4:], uint32(index))
		say(fmt.Sprintf("netlink route getlink, flags 0x0: %x", []byte(head)),
			[]tape.Bytes{append(head,
				attrs(t, func(ae *netlink.AttributeEncoder) { ae.String(unix.IFLA_IFNAME, name) })...)})
	}
	err := file.Replay(func() error {
		d, err := nic.Open("eth0")
		if err != nil {
			return err
		}
		defer d.Close()
		f(d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func provider(ae *netlink.AttributeEncoder, p nic.Provider, dmabuf uint16, id uint32, uring uint16) {
	switch p {
	case nic.ProviderDMABuf:
		ae.Uint32(dmabuf, id)
	case nic.ProviderIOUring:
		ae.Nested(uring, func(*netlink.AttributeEncoder) error { return nil })
	}
}

func attrs(t *testing.T, fill func(*netlink.AttributeEncoder)) tape.Bytes {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	fill(ae)
	b, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
