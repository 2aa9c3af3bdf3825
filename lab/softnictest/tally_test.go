// SPDX-License-Identifier: MIT

package softnictest

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tally"
)

// What netlink, the driver and the link count of a transfer is one thing by three ways, and the
// page pools hand out and take back what it came in.
func TestTally(t *testing.T) {
	needLab(t)
	r := in(t, rx.NS, func() (*tally.Reader, error) { return tally.Open(tally.Config{Dev: rx.Dev, Host: true}) })
	defer r.Close()
	read := func() *tally.Reading {
		return in(t, rx.NS, func() (*tally.Reading, error) { return r.Read(), nil })
	}
	// Pools of tests before this one last until the kernel, which looks once a second, finds that
	// their last buffer is back: one that ended in the window would be a gap in its counts.
	await.Until(t, "page pools of earlier tests are gone", func() bool { return !detachedPools(t) })
	before := read()
	for _, g := range before.Gaps {
		if !g.Lacking() || g.Area != "interrupt" {
			t.Errorf("%s: %v", g.Area, g.Err)
		}
	}
	const bytes = 8 << 20
	transfer(t, listen(t, v4, 5051), bytes)
	d := tally.Between(before, read())
	moved := map[string]int64{}
	perQueue := map[string]int64{}
	for _, c := range d.Changes {
		moved[c.Metric] = c.Delta
		if c.Area == "queue" && strings.HasSuffix(c.Metric, "_bytes") &&
			strings.HasPrefix(c.Metric, "qstats_rx") && !strings.Contains(c.Metric, "gro") {
			perQueue["bytes"] += c.Delta
		}
	}
	if got := moved["link_rx_bytes"]; got < bytes {
		t.Errorf("link: %d bytes of %d", got, bytes)
	}
	if got := perQueue["bytes"]; got < bytes {
		t.Errorf("queues: %d bytes of %d", got, bytes)
	}
	driver := int64(0)
	for _, c := range d.Changes {
		if c.Area == "ethtool" && strings.HasPrefix(c.Name, "rx") && strings.HasSuffix(c.Name, "_bytes") &&
			strings.Count(c.Name, "_") == 1 {
			driver += c.Delta
		}
	}
	if driver < bytes {
		t.Errorf("driver: %d bytes of %d", driver, bytes)
	}
	if moved["page_pool_alloc_fast"]+moved["page_pool_alloc_refill"]+moved["page_pool_alloc_slow"] < bytes/(64<<10) {
		t.Errorf("page pools: %d, %d and %d buffers", moved["page_pool_alloc_fast"], moved["page_pool_alloc_refill"],
			moved["page_pool_alloc_slow"])
	}
	if m, ok := d.RecycleRate(); !ok || m.Value <= 0 || m.Quality != "" || m.Source != "netdev page-pool-stats-get" {
		t.Errorf("%+v, %v", m, ok)
	}
	if moved["netstat_tcp_in_segs"] == 0 || moved["netstat_ip_ext_in_octets"] < bytes {
		t.Errorf("protocols: %d segments, %d bytes", moved["netstat_tcp_in_segs"], moved["netstat_ip_ext_in_octets"])
	}
	rows, idle, warnings := d.Rows(false)
	if len(warnings) > 0 || len(rows) < 20 || len(idle) == 0 {
		t.Errorf("%d rows, %d idle, %q", len(rows), len(idle), warnings)
	}
}

// detachedPools tells whether there are page pools whose queue is gone.
func detachedPools(t *testing.T) bool {
	t.Helper()
	return in(t, rx.NS, func() (bool, error) {
		d, err := nic.Open(rx.Dev)
		if err != nil {
			return false, err
		}
		defer d.Close()
		pools, err := d.PagePools()
		return slices.ContainsFunc(pools, func(p nic.PagePool) bool { return p.Detached }), err
	})
}
