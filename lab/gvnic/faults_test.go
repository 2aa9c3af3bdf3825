// SPDX-License-Identifier: MIT

package gvnic

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseOptions(t *testing.T) {
	got, err := ParseOptions(" pcap=/x/y.pcap lose=100 swap=7 late=2ms link=3s lost=9s hang=rule error=create-rx@9 ")
	if want := (Options{"/x/y.pcap", 100, 7, 2 * time.Millisecond, 3 * time.Second, 9 * time.Second, Command{"rule", 0},
		Command{"create-rx", 9}}); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseOptions(""); got != (Options{}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"lose", "lose=", "lose=x", "lose=1", "swap=-3", "late=5", "late=-1s", "pcap=",
		"hang=lunch",
		"error=0x6", "loose=3", "hang=rule@0", "hang=rule@x"} {
		if _, err := ParseOptions(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// numbered sends n packets that have their number as sequence, and returns those that arrive.
func numbered(t *testing.T, o Options, n uint32) (got []uint32) {
	t.Helper()
	c, rx, tx := newDriversWith(t, o)
	rx.configure()
	tx.configure()
	rx.createAllRX(1, headerBytes, false)
	tx.createTX(0)
	rx.post(0, 40)
	for i := range n {
		tx.send(0, sending{parts: [][]byte{tcp(false, 5000, i, 10, 0)}})
		run(c)
	}
	for _, g := range rx.receive(0) {
		got = append(got, be.Uint32(g.header[38:]))
	}
	return got
}

// Segments are lost, or change places with the next, as often as that is asked for.
func TestLosesAndSwaps(t *testing.T) {
	if got := numbered(t, Options{Lose: 3}, 9); !slices.Equal(got, []uint32{0, 1, 3, 4, 6, 7}) {
		t.Errorf("lost: %d", got)
	}
	if got := numbered(t, Options{Swap: 4}, 9); !slices.Equal(got, []uint32{0, 1, 2, 4, 3, 5, 6, 8, 7}) {
		t.Errorf("swapped: %d", got)
	}
}

// A command is refused, or never done; others are.
func TestCommandsFail(t *testing.T) {
	_, d, _ := newDriversWith(t, Options{Error: Command{"rss", 2}})
	for i, want := range []uint32{passed, precondition, passed} {
		if s := d.command(opConfigureRSS, fields(uint16(0), uint16(0), uint16(0), uint16(0))); s != want {
			t.Errorf("command %d: status %#x, want %#x", i, s, want)
		}
	}
	d.configure()
	_, d, _ = newDriversWith(t, Options{Hang: Command{Name: "create-tx"}})
	d.configure()
	before := d.register(regAdminCount)
	d.put(opCreateTX, nil)
	d.setRegister(regAdminBell, d.cmds)
	if got := d.register(regAdminCount); got != before || d.f.tx[0] != nil {
		t.Errorf("%d commands are done, not %d", got, before)
	}
}

// What is late comes, with the descriptors as they were; not to a queue that is gone.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, rx, tx := newDriversWith(t, Options{Late: time.Second, Link: time.Minute, Lost: time.Hour})
		if got := rx.register(regDeviceStatus); got&statusLink != 0 {
			t.Errorf("status %#x at once", got)
		}
		time.Sleep(time.Minute + time.Second)
		if got := rx.register(regDeviceStatus); got&statusLink == 0 {
			t.Errorf("status %#x after a minute", got)
		}
		rx.configure()
		tx.configure()
		rx.createAllRX(1, headerBytes, false)
		rx.post(0, 4)
		tx.createTX(0)
		p := tcp(false, 5000, 1, 10, 0)
		tx.send(0, sending{parts: [][]byte{p}, tag: 1, event: true})
		tx.send(0, sending{parts: [][]byte{p}, tag: 2})
		run(c)
		tx.done(0)
		if n := len(rx.receive(0)); n != 2 || len(tx.tx[0].tags) != 0 {
			t.Errorf("%d packets, done: %d", n, tx.tx[0].tags)
		}
		time.Sleep(2 * time.Second)
		tx.done(0)
		if q := tx.tx[0]; len(q.tags) != 2 || !slices.Equal(q.fetchedHeads, []uint16{2}) {
			t.Errorf("done: %d, fetched %d", q.tags, q.fetchedHeads)
		}
		tx.send(0, sending{parts: [][]byte{p}})
		run(c)
		tx.must(opDestroyTX, fields(uint32(0)))
		tx.createTX(0)
		time.Sleep(2 * time.Second)
		if tx.done(0); len(tx.tx[0].tags) != 0 {
			t.Error("a queue is told what another one sent")
		}
		time.Sleep(time.Hour - time.Minute)
		if got := rx.register(regDeviceStatus); got&statusLink == 0 {
			t.Error("the link is gone too soon")
		}
		time.Sleep(time.Minute - 4500*time.Millisecond)
		if got := rx.register(regDeviceStatus); got&statusLink != 0 {
			t.Error("the link is still there")
		}
		time.Sleep(lostFor)
		if got := rx.register(regDeviceStatus); got&statusLink == 0 {
			t.Error("the link does not come back")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What is late is told in the order in which it was sent, whichever timer is first.
func TestLateInOrder(t *testing.T) {
	const n = 100
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			c, rx, tx := newDriversWith(t, Options{Late: time.Millisecond})
			rx.configure()
			tx.configure()
			rx.createAllRX(1, headerBytes, false)
			tx.createTX(0)
			var want, heads []uint16
			for i := range uint16(n) {
				tx.send(0, sending{parts: [][]byte{tcp(false, 5000, 1, 10, 0)}, tag: i, event: true})
				want, heads = append(want, i), append(heads, uint16(tx.tx[0].tail))
			}
			run(c)
			time.Sleep(time.Second)
			tx.done(0)
			if q := tx.tx[0]; !slices.Equal(q.tags, want) || !slices.Equal(q.fetchedHeads, heads) {
				t.Errorf("done: %d, fetched: %d", q.tags, q.fetchedHeads)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Nothing goes by a wire one of whose ends has no link, in either direction. The driver is told
// that it is gone all the same.
func TestNoLink(t *testing.T) {
	c, a, b := newDrivers(t)
	for _, d := range []*driver{a, b} {
		d.configure()
		d.createAllRX(1, headerBytes, false)
		d.createTX(0)
		d.post(0, 8)
	}
	p := tcp(false, 5000, 1, 10, 0)
	both := func() (got [2]int) {
		for _, d := range []*driver{a, b} {
			d.send(0, sending{parts: [][]byte{p}})
		}
		run(c)
		for i, d := range []*driver{a, b} {
			d.done(0)
			got[i] = len(d.receive(0))
		}
		return got
	}
	for which := range c.fn {
		c.fn[which].status &^= statusLink
		if got := both(); got != [2]int{} {
			t.Errorf("%d has no link: %d packets came", which, got)
		}
		c.fn[which].status |= statusLink
		if got := both(); got != [2]int{1, 1} {
			t.Errorf("%d has its link again: %d packets came", which, got)
		}
	}
	if len(a.tx[0].tags) != 4 || len(b.tx[0].tags) != 4 {
		t.Errorf("done: %d and %d packets of 4", len(a.tx[0].tags), len(b.tx[0].tags))
	}
}

// The capture has each packet, whole.
func TestCapture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.pcap")
	c, rx, tx := newDriversWith(t, Options{PCAP: path})
	rx.configure()
	tx.configure()
	rx.createAllRX(1, headerBytes, false)
	tx.createTX(0)
	rx.post(0, 4)
	p := tcp(true, 5000, 1, 100, 0)
	tx.send(0, sending{parts: [][]byte{p}})
	run(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 24+16+len(p) || le.Uint32(b) != 0xa1b23c4d || le.Uint32(b[20:]) != 1 ||
		le.Uint32(b[24+8:]) != uint32(len(p)) || !bytes.Equal(b[40:], p) {
		t.Errorf("%v, %d bytes: %x", err, len(b), b[:min(len(b), 40)])
	}
	if _, err := NewCard(Options{PCAP: filepath.Join(path, "no")}); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("%v", err)
	}
}
