// SPDX-License-Identifier: MIT

package bpf_test

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// What netem loses is in the ledger, which closes. The lab has netem where it is asked to load it.
func TestNetemInLab(t *testing.T) {
	if !inLab() {
		t.Skip(`needs a kernel with netem: go test -exec "$PWD/bin/zcbench lab exec --own-boot --load sch_netem ` +
			`--" -run TestNetemInLab ./bpf`)
	}
	f := newFlood(t, true, 1<<20, 0)
	if err := unix.SetsockoptInt(f.to, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
		t.Fatal(err)
	}
	netem(t, f.pair.TG, .25)
	f.seen, f.counted = f.read()
	f.closes(false, "QDISC_")
}

// netem has an end's interface lose this share of what it sends.
func netem(t *testing.T, end veth.End, loss float64) {
	t.Helper()
	in(t, end.Netns, func() (any, error) {
		dev, err := net.InterfaceByName(end.Dev)
		if err != nil {
			return nil, err
		}
		body := make([]byte, 20) // struct tcmsg, parent TC_H_ROOT
		binary.NativeEndian.PutUint32(body[4:], uint32(dev.Index))
		binary.NativeEndian.PutUint32(body[12:], 0xffffffff)
		options := make([]byte, 24) // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter
		binary.NativeEndian.PutUint32(options[4:], 10_000)
		binary.NativeEndian.PutUint32(options[8:], uint32(loss*(1<<32)))
		ae := netlink.NewAttributeEncoder()
		ae.String(1, "netem") // TCA_KIND
		ae.Bytes(2, options)  // TCA_OPTIONS
		attrs, err := ae.Encode()
		if err != nil {
			return nil, err
		}
		c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		_, err = c.Execute(netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWQDISC,
			Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Replace},
			Data: append(body, attrs...)})
		if errors.Is(err, unix.ENOENT) {
			err = errors.Join(err, errors.New("netem is not loaded: zcbench lab exec --own-boot --load sch_netem"))
		}
		return nil, err
	})
}
