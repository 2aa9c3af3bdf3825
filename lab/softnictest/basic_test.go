// SPDX-License-Identifier: MIT

package softnictest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	nl "github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/internal/pairwise"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/rtnl"
)

func TestModuleSaysWhatItWasBuiltFor(t *testing.T) {
	needLab(t)
	b, err := os.ReadFile("/sys/module/softnic/version")
	if err != nil {
		t.Fatal(err)
	}
	if release := os.Getenv(guest.Env); !strings.HasSuffix(strings.TrimSpace(string(b)), "built for "+release) {
		t.Errorf("module version %q, kernel %q", b, release)
	}
}

// Every mode of data movement and every address family carries bytes unchanged,
// with and without header split and hardware GRO: the long run takes all
// combinations, the short one every pair.
func TestTransfers(t *testing.T) {
	needLab(t)
	rows := pairwise.Cover(2, 2, 2, 2)
	if long.Wanted() {
		rows = pairwise.Product(2, 2, 2, 2)
	}
	for _, row := range rows {
		inline, f := []string{"N", "Y"}[row[0]], []family{v4, v6}[row[1]]
		gro, hds := row[2] == 1, []uint8{splitOff, splitOn}[row[3]]
		name := fmt.Sprintf("inline=%s/ipv%d/hwgro=%v/split=%v", inline, f, gro, hds == splitOn)
		t.Run(name, func(t *testing.T) {
			param(t, "inline_dma", inline)
			split(t, hds)
			hwGRO(t, gro)
			c := count(t)
			transfer(t, listen(t, f, 5001), 8<<20)
			checkShape(t, c, 8<<20, gro, hds == splitOn)
			// Flow control: the engine waits for buffers.
			if got := c.sum("no_buffer"); inline == "N" && got != 0 {
				t.Errorf("%d packets were lost for want of buffers", got)
			}
		})
	}
}

func hwGRO(t *testing.T, on bool) {
	t.Helper()
	do(t, rx.NS, func() error { return setFeature(rx.Dev, "rx-gro-hw", on) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return setFeature(rx.Dev, "rx-gro-hw", false) }) })
}

// checkShape compares the statistics with what the settings ask for.
func checkShape(t *testing.T, c *counters, n uint64, gro, hds bool) {
	t.Helper()
	if got := c.sum("hw_gro_packets"); (got > 0) != gro {
		t.Errorf("rx-gro-hw %v: %d packets were kept whole", gro, got)
	}
	if got := c.sum("split_packets"); (got > 0) != hds {
		t.Errorf("header split %v: %d packets were split", hds, got)
	}
	if hds {
		// Payload, and nothing but payload, went to the pool's pages.
		if got := c.sum("kernel_bytes"); got < n || got > n+n/8 {
			t.Errorf("%d bytes went to the pool, sent were %d", got, n)
		}
	}
	if got := c.sum("provider_bytes"); got != 0 {
		t.Errorf("%d bytes went to a memory provider although none is bound", got)
	}
}

func TestMTU(t *testing.T) {
	needLab(t)
	setMTU := func(mtu int) {
		for _, e := range guest.Ends {
			do(t, e.NS, func() error {
				l, err := rtnl.LinkNamed(e.Dev)
				if err != nil {
					return err
				}
				return setNumber(l.Index, unix.IFLA_MTU, mtu)
			})
		}
	}
	defer setMTU(guest.DefaultMTU)
	for _, mtu := range []int{1500, 9000, guest.DefaultMTU} {
		for _, hds := range []uint8{splitOff, splitOn} {
			t.Run(fmt.Sprintf("%d/split=%v", mtu, hds == splitOn), func(t *testing.T) {
				setMTU(mtu)
				split(t, hds)
				c := count(t)
				transfer(t, listen(t, v6, 5002), 2<<20)
				// A packet per MSS: that is what the wire carries.
				least := uint64(2<<20) / uint64(mtu)
				if got := c.sum("wire_packets"); got < least {
					t.Errorf("%d packets on the wire for 2 MiB at MTU %d, want at least %d", got, mtu, least)
				}
			})
		}
	}
}

func TestHeaderSplitThreshold(t *testing.T) {
	needLab(t)
	split(t, splitOn)
	do(t, rx.NS, func() error { return setRings(rx.Dev, rings{Split: splitOn, Threshold: 9000}) })
	// A threshold of 0 cannot be asked for by setRings, which leaves zeros out.
	t.Cleanup(func() { do(t, rx.NS, func() error { return setThreshold(rx.Dev, 0) }) })
	c := count(t)
	transfer(t, listen(t, v4, 5003), 1<<20)
	if got := c.sum("split_packets"); got != 0 {
		t.Errorf("%d packets below the threshold were split", got)
	}
}

func setThreshold(dev string, n uint32) error {
	_, err := ethtool(dev, unix.ETHTOOL_MSG_RINGS_SET, nl.Acknowledge, encodeThreshold(n))
	return err
}

// BIG TCP: packets of more than 64 KiB cross the wire whole.
func TestBigTCP(t *testing.T) {
	needLab(t)
	const size = 192 << 10
	setSizes := func(gso, gro int) {
		do(t, tx.NS, func() error {
			l, err := rtnl.LinkNamed(tx.Dev)
			if err != nil {
				return err
			}
			if got := l.TSOMaxSize; got < size {
				return fmt.Errorf("tso_max_size is %d, want at least %d", got, size)
			}
			if err := setNumber(l.Index, unix.IFLA_GSO_MAX_SIZE, gso); err != nil {
				return err
			}
			return setNumber(l.Index, unix.IFLA_GSO_IPV4_MAX_SIZE, gso)
		})
		do(t, rx.NS, func() error {
			l, err := rtnl.LinkNamed(rx.Dev)
			if err != nil {
				return err
			}
			if err := setNumber(l.Index, unix.IFLA_GRO_MAX_SIZE, gro); err != nil {
				return err
			}
			return setNumber(l.Index, unix.IFLA_GRO_IPV4_MAX_SIZE, gro)
		})
	}
	setSizes(size, size)
	defer setSizes(65536, 65536)
	for _, f := range []family{v4, v6} {
		t.Run(fmt.Sprintf("ipv%d", f), func(t *testing.T) {
			before := bigPackets(t)
			transfer(t, listen(t, f, 5004), long.Rounds(16, 32)<<20)
			if bigPackets(t) == before {
				t.Error("no packet was larger than 64 KiB")
			}
		})
	}
}

// bigPackets is how many packets above 64 KiB the sender's driver handed over.
func bigPackets(t *testing.T) (n uint64) {
	t.Helper()
	s := in(t, tx.NS, func() (map[string]uint64, error) { return stats(tx.Dev) })
	for q := range 8 {
		n += s[fmt.Sprintf("tx%d_big_packets", q)]
	}
	return n
}

func setNumber(index int, attr uint16, v int) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return c.SetNumber(index, attr, v)
}
