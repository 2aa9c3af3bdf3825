// SPDX-License-Identifier: MIT

package labtest

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/results"
)

// Wanders runs zcbench with two flows of a receive mode that takes no queue over, and has another
// rule for the last one in the middle of the window, for a quarter of it: at the end it comes by
// its queue again, as the other did all the time. The run is invalid, and says which flow came by
// which queue instead of which. Where the window was over before, or not yet, the machine was busy:
// it gets more time, in the end a window of most of a minute.
func Wanders(t *testing.T, rx string) {
	Need(t)
	const queue, elsewhere = 3, 0
	for unit := 400 * time.Millisecond; ; unit *= 4 {
		before := DeviceState(t)
		moved, over := make(chan error, 1), make(chan struct{})
		var flow [2]netip.AddrPort
		go func() {
			_, err := In(RXNS, func() (struct{}, error) {
				return struct{}{}, wander(&flow, queue, elsewhere, unit,
					over)
			})
			moved <- err
		}()
		r, status := attempt(t, rx, unit, append(flowArgs(2), "--pace", "20M", "--queues", "2", "--queue", "2")...)
		close(over)
		if err := <-moved; err != nil {
			t.Fatal(err)
		}
		n := metric(r.SUT, "flow1_steered_share")
		inWindow := n > 0 && n < 1 && on(r.SUT.Flows, queue)
		if !inWindow { // else the rule was the run's again, which has to remove it
			if _, err := In(RXNS, func() (struct{}, error) {
				return struct{}{},
					forget(flow, queue, elsewhere)
			}); err != nil {
				t.Fatal(err)
			}
		}
		asBefore(t, before)
		if inWindow || unit > 5*time.Second {
			checkWandered(t, r, status, queue, elsewhere)
			return
		}
	}
}

// on reports whether the last flow came by a queue in the end.
func on(all []results.Flow, queue int) bool {
	return len(all) > 0 && all[len(all)-1].Landed != nil && *all[len(all)-1].Landed == queue
}

func checkWandered(t *testing.T, r results.Record, status, queue, elsewhere int) {
	t.Helper()
	// Between two rules there is none for a moment, in which the indirection table has its say.
	why := regexp.MustCompile(fmt.Sprintf(`flow 1: the flow was seen on queues? (\d+, )*%d(, \d+)* in `, elsewhere))
	if r.Verdict != results.Invalid || status != 1 || !why.MatchString(r.Reason) ||
		!strings.Contains(r.Reason, fmt.Sprintf("and was to come by queue %d", queue)) ||
		!strings.Contains(r.Fix, "ethtool -n "+RXDev) {
		t.Errorf("%s, status %d: %s; fix: %s\nwant %q", r.Verdict, status, r.Reason, r.Fix, why)
	}
	all := r.SUT.Flows
	if len(all) != 2 || all[0].Verdict != results.OK || all[1].Verdict != results.Invalid {
		t.Fatalf("%+v", all)
	}
	if !on(all, queue) {
		t.Errorf("in the end it came by queue %s, not %d", place(all[1].Landed), queue)
	}
	if still, gone := metric(r.SUT, "flow0_steered_share"), metric(r.SUT, "flow1_steered_share"); still != 1 ||
		gone <= 0 || gone >= 1 {
		t.Errorf("looks that found flow 0 on its queue: %v of all; flow 1: %v", still, gone)
	}
}

// wander waits for the flow that a run of units steers to a queue, and has it come by another one
// for two units of the eight that the window has. over is closed when the run has ended. It tells
// the flow's ends, the local one first.
func wander(flow *[2]netip.AddrPort, queue, elsewhere int, unit time.Duration, over <-chan struct{}) error {
	d, err := nic.Open(RXDev)
	if err != nil {
		return err
	}
	defer d.Close()
	local, remote, err := steeredTo(d, queue, over)
	if err != nil {
		return err
	}
	*flow = [2]netip.AddrPort{local, remote}
	// Eight units are the ramp-up. A run in whose window this did not happen is made again.
	await.Pause("the window is to begin", 11*unit)
	for _, move := range [][2]int{{queue, elsewhere}, {elsewhere, queue}} {
		at, ok, err := d.FindRule(local, remote, move[0])
		if err != nil {
			return fmt.Errorf("the rule to queue %d: %w", move[0], err)
		}
		if !ok {
			select {
			case <-over: // and its rule with it
				return nil
			default:
				return fmt.Errorf("there is no rule to queue %d", move[0])
			}
		}
		if err := d.DeleteRule(at); err != nil {
			return err
		}
		if _, err := d.Steer(local, remote, move[1]); err != nil {
			return err
		}
		await.Pause("some looks are to find it there", 2*unit)
	}
	return nil
}

// forget removes the rules of a flow that was moved after its run had looked for its own: they are
// nobody's any more.
func forget(flow [2]netip.AddrPort, queues ...int) error {
	d, err := nic.Open(RXDev)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, q := range queues {
		at, ok, err := d.FindRule(flow[0], flow[1], q)
		if err == nil && ok {
			err = d.DeleteRule(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// steeredTo waits for a flow that a rule steers to a queue.
func steeredTo(d *nic.Device, queue int, over <-chan struct{}) (local, remote netip.AddrPort, err error) {
	for {
		select {
		case <-over:
			return local, remote, fmt.Errorf("no flow was steered to queue %d", queue)
		default:
		}
		await.Pause("there is no rule yet", 20*time.Millisecond)
		all, err := connections()
		if err != nil {
			return local, remote, err
		}
		for _, c := range all {
			if _, ok, err := d.FindRule(c[0], c[1], queue); ok || err != nil {
				return c[0], c[1], err
			}
		}
	}
}

// connections lists the local and the remote end of each established TCP connection of the calling
// thread's namespace.
func connections() (all [][2]netip.AddrPort, err error) {
	for _, name := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile("/proc/thread-self/net/" + name)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(strings.NewReader(string(b)))
		lines.Scan() // the head
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) < 4 || f[3] != "01" { // TCP_ESTABLISHED
				continue
			}
			local, err1 := endOf(f[1])
			remote, err2 := endOf(f[2])
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
			all = append(all, [2]netip.AddrPort{local, remote})
		}
	}
	return all, nil
}

// endOf reads ADDRESS:PORT, the address in words of 32 bits of a machine whose lowest byte is the
// first.
func endOf(s string) (a netip.AddrPort, err error) {
	digits, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(digits)
	if err != nil {
		return a, err
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(b)
	var n uint16
	if _, err := fmt.Sscanf(port, "%x", &n); err != nil || !ok {
		return a, fmt.Errorf("no end of a connection: %q", s)
	}
	return netip.AddrPortFrom(addr.Unmap(), n), nil
}
