// SPDX-License-Identifier: MIT

package softnictest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// A queue restarts (bind and unbind replace its memory) while the other queues
// carry traffic, which notices nothing.
func TestQueueRestartUnderTraffic(t *testing.T) {
	needLab(t)
	split(t, splitOn)
	do(t, rx.NS, func() error { return setRSS(rx.Dev, 0, 1, 2) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRSS(rx.Dev) }) })
	_, stop := traffic(t, listen(t, v4, 5050))
	u := newUdmabuf(t, 4<<20)
	for range long.Rounds(8, 20) {
		b, err := bindRX(t, u, boundQueue)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
	}
	if n := stop(); n == 0 {
		t.Error("no transfer was complete")
	}
}

// All queues restart, bound ones too, while traffic runs through them.
func TestRingSizesUnderTraffic(t *testing.T) {
	needLab(t)
	await, stop := traffic(t, listen(t, v6, 5051))
	for _, n := range []uint32{4, 64, 4096, 8, 512} {
		do(t, rx.NS, func() error { return setRings(rx.Dev, rings{RX: n, TX: n}) })
		got := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) })
		if got.RX != n || got.TX != n {
			t.Errorf("rings are %d and %d after setting %d", got.RX, got.TX, n)
		}
		await(1)
	}
	if n := stop(); n == 0 {
		t.Error("no transfer was complete")
	}
	do(t, rx.NS, func() error {
		if setRings(rx.Dev, rings{RX: 100}) == nil {
			t.Error("a ring of 100 was accepted: sizes are powers of two")
		}
		return nil
	})
}

func TestChannelsUnderTraffic(t *testing.T) {
	needLab(t)
	t.Cleanup(func() { do(t, rx.NS, func() error { return setChannels(rx.Dev, 4) }) })
	await, stop := traffic(t, listen(t, v4, 5052))
	for _, n := range []uint32{1, 8, 2, 5, 4} {
		do(t, rx.NS, func() error { return setChannels(rx.Dev, n) })
		c := count(t)
		await(3) // each has a port of its own, and with it perhaps another queue
		for q := n; q < 8; q++ {
			if got := c.grown(fmt.Sprintf("rx%d_packets", q)); got > 0 {
				t.Errorf("queue %d of %d received %d packets", q, n, got)
			}
		}
	}
	if n := stop(); n == 0 {
		t.Error("no transfer was complete")
	}
}

func TestSwitchEngineUnderTraffic(t *testing.T) {
	needLab(t)
	await, stop := traffic(t, listen(t, v4, 5053))
	for _, v := range []string{"Y", "N", "Y", "N"} {
		param(t, "inline_dma", v)
		await(1)
	}
	if n := stop(); n == 0 {
		t.Error("no transfer was complete")
	}
}

func TestLinkFlap(t *testing.T) {
	needLab(t)
	for range long.Rounds(4, 10) {
		setLink(t, false)
		setLink(t, true)
	}
	transfer(t, listen(t, v4, 5054), 1<<20)
	transfer(t, listen(t, v6, 5055), 1<<20)
}

// The engine threads run where they are told to, and queues interrupt there.
func TestEngineIsPinned(t *testing.T) {
	needLab(t)
	if n, _ := os.ReadFile("/sys/devices/system/cpu/online"); strings.TrimSpace(string(n)) == "0" {
		t.Skip("needs two CPUs")
	}
	param(t, "engine_cpus", "1,0")
	for port, want := range []string{"2", "1"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", engineThread(t, port)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte("Cpus_allowed:\t"+want+"\n")) {
			t.Errorf("engine %d is not pinned to mask %s:\n%s", port, want, b)
		}
	}
	transfer(t, listen(t, v4, 5056), 1<<20)
	if err := os.WriteFile("/sys/module/softnic/parameters/engine_cpus", []byte("99"), 0); err == nil {
		t.Error("CPU 99 was accepted")
	}
}

func engineThread(t *testing.T, port int) int {
	t.Helper()
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		b, err := os.ReadFile("/proc/" + d.Name() + "/comm")
		if err == nil && strings.TrimSpace(string(b)) == "softnic/"+strconv.Itoa(port) {
			pid, _ := strconv.Atoi(d.Name())
			return pid
		}
	}
	t.Fatalf("there is no thread softnic/%d", port)
	return 0
}
