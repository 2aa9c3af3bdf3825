// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/results"
)

// onBoth are the arguments of two flows, one by each port.
func onBoth() []string { return append(flowArgs(2), "--dev", bothDevs()) }

func bothDevs() string { return RXDev + "," + guest.Beside[0].Dev }

// needBeside skips a test without a second pair of soft NICs.
func needBeside(t *testing.T) {
	t.Helper()
	Need(t)
	if _, err := onBeside((*nic.Device).Queues); err != nil {
		t.Skip(`needs a second pair of soft NICs: zcbench lab exec --softnic pairs=2`)
	}
}

// onBeside does f with the receiver's second port.
func onBeside[T any](f func(*nic.Device) (T, error)) (T, error) {
	return In(RXNS, func() (v T, err error) {
		d, err := nic.Open(guest.Beside[0].Dev)
		if err != nil {
			return v, err
		}
		defer d.Close()
		return f(d)
	})
}

// TwoPorts runs zcbench with two flows, one by each of two ports, in a mode that takes queues over:
// none is copied, and each comes by the queue of its own port. One that is steered wrongly on the
// second port is found out, and nothing is said against the other. A port that cannot is told, and
// what was set of the other is taken back; and so is all of both after kill -9.
func TwoPorts(t *testing.T, rx string) {
	needBeside(t)
	second := func() string { return deviceState(t, RXNS, guest.Beside[0].Dev) }
	first, before := DeviceState(t), second()
	restored := func(after string) {
		t.Helper()
		asBefore(t, first)
		if now := second(); now != before {
			t.Errorf("after %s the second port is not as it was:\nbefore %s\nafter  %s", after, before, now)
		}
	}
	r := measured(t, rx, onBoth()...)
	for n, f := range r.SUT.Flows {
		want := strings.Split(bothDevs(), ",")[n]
		if f.Dev != want || f.Verdict != results.OK || f.Bytes == nil || *f.Bytes == 0 || f.ZeroCopyBytes == nil ||
			*f.ZeroCopyBytes != *f.Bytes || f.Queue == nil || f.Landed == nil || *f.Queue != *f.Landed {
			t.Errorf("flow %d by %s, want %s: %s %s, queue %s, landed on %s", n, f.Dev, want, f.Verdict, f.Reason,
				place(f.Queue), place(f.Landed))
			continue
		}
		// what was under way at the window's edges is counted in another order
		if got := metric(r.SUT, measure.DevMetric(n, "link_rx_bytes")); got < float64(*f.Bytes)/2 {
			t.Errorf("%s counted %v bytes of %d", want, got, *f.Bytes)
		}
	}
	if len(r.SUT.Flows) != 2 || r.SUT.Env.Dev != bothDevs() || r.SUT.Mismatches == nil || *r.SUT.Mismatches != 0 {
		t.Errorf("%d flows on %s", len(r.SUT.Flows), r.SUT.Env.Dev)
	}
	restored("a run")
	oneAstray(t, rx, 2, onBoth()...)
	restored("a flow astray")
	oneUnable(t, rx)
	restored("a refusal")
	killedOnBoth(t, rx)
	restored("a kill")
}

// oneUnable leaves the second port one queue, which cannot be taken over.
func oneUnable(t *testing.T, rx string) {
	t.Helper()
	was, err := onBeside((*nic.Device).Channels)
	set := func(c nic.Channels) error {
		_, err := onBeside(func(d *nic.Device) (struct{}, error) {
			return struct{}{}, errors.Join(d.SetChannels(c), d.AwaitCarrier(await.Hang))
		})
		return err
	}
	one := was
	one.Combined = 1
	if err = errors.Join(err, set(one)); err != nil {
		t.Fatal(err)
	}
	r, status := once(t, rx, firstUnit, onBoth()...)
	if r.Verdict != results.Unsupported || !strings.Contains(r.Reason, guest.Beside[0].Dev) || status != 1 {
		t.Errorf("%s, status %d: %s", r.Verdict, status, r.Reason)
	}
	if err := set(was); err != nil {
		t.Fatal(err)
	}
}

// killedOnBoth kills zcbench and its agents when both ports have payload, and restores.
func killedOnBoth(t *testing.T, rx string) {
	t.Helper()
	bytes := func() [2]uint64 {
		t.Helper()
		var sum [2]uint64
		second, err := onBeside((*nic.Device).QueueStats)
		if err != nil {
			t.Fatal(err)
		}
		for i, all := range []map[int]nic.QueueStats{received(t), second} {
			for _, q := range all {
				sum[i] += q.Bytes
			}
		}
		return sum
	}
	start := bytes()
	v := startVictim(t, rx, append(onBoth(), "--sut", "netns:"+RXNS)...)
	v.until(t, "payload on both ports", func() bool {
		now := bytes()
		return now[0] > start[0]+1<<20 && now[1] > start[1]+1<<20
	})
	v.kill(t)
	if rules, err := onBeside((*nic.Device).HasRules); err != nil || rules == 0 {
		t.Errorf("it has left no rule on the second port (%v): the test shows nothing", err)
	}
	await.Until(t, "no memory on any queue", func() bool {
		first, err := OnDevice((*nic.Device).Queues)
		second, serr := onBeside((*nic.Device).Queues)
		if err = errors.Join(err, serr); err != nil {
			t.Fatal(err)
		}
		for _, q := range append(first, second...) {
			if q.Provider != nic.ProviderNone {
				return false
			}
		}
		return true
	})
	said, err := restore(t)
	t.Log(said)
	if err != nil {
		t.Error(err)
	}
}
