// SPDX-License-Identifier: MIT

package softnictest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// A queue of an older driver is not given the memory, and not stopped for it either: it goes on
// with what it has.
func TestLabImitatedOlderBind(t *testing.T) {
	imitates(t, "gve-old", "bnxt-old")
	split(t, splitOn)
	thresholdZero(t)
	awaitCarrier(t)
	u := newUdmabuf(t, devmemSize)
	c := count(t)
	if _, err := bindRX(t, u, boundQueue); !errors.Is(err, unix.ENODATA) {
		t.Errorf("%v, want ENODATA", err)
	}
	for _, what := range []string{"starts", "stops"} {
		if name := fmt.Sprintf("rx%d_%s", boundQueue, what); c.grown(name) != 0 {
			t.Errorf("%s grew by %d", name, c.grown(name))
		}
	}
	do(t, rx.NS, func() error { return setRSS(rx.Dev, boundQueue) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRSS(rx.Dev) }) })
	c = count(t)
	transfer(t, listen(t, v4, 5105), 1<<20)
	onlyQueue(t, c, boundQueue, 1<<20)
	if n := c.grown(fmt.Sprintf("rx%d_provider_bytes", boundQueue)); n != 0 {
		t.Errorf("%d bytes went to memory of a provider", n)
	}
}

// gve without the device's option of RSS has no table to read or set, and sends flows to queues as
// before.
func TestLabImitatedGveNoRSS(t *testing.T) {
	imitates(t, "gve", "gve-old")
	param(t, "no_rss", "Y")
	set := func() error { return setRSS(rx.Dev, 1) }
	table := make([]byte, 12) // struct ethtool_rxfh_indir
	binary.NativeEndian.PutUint32(table, unix.ETHTOOL_GRXFHINDIR)
	errnos(t, map[string]func() error{"read": func() error { return ethtoolIoctl(rx.Dev, table) }, "set": set},
		map[string]error{"read": unix.EOPNOTSUPP, "set": unix.EOPNOTSUPP})
	transfer(t, listen(t, v4, 5106), 1<<20)
}

// thresholdZero has bnxt and fbnic split all packets; others have no threshold, or 0.
func thresholdZero(t *testing.T) {
	t.Helper()
	was := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) }).Threshold
	if was == 0 {
		return
	}
	do(t, rx.NS, func() error { return setThreshold(rx.Dev, 0) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return setThreshold(rx.Dev, was) }) })
}
