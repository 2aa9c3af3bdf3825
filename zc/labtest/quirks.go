// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/results"
)

// NotLinked runs zcbench with a receive mode on a NIC whose driver does not link its queues with
// their NAPI instances (idpf before Linux 6.19): payload that was not copied is not said to be, and
// a flow by another queue is found out all the same.
func NotLinked(t *testing.T, rx string) {
	Need(t)
	Unlink(t)
	queues, err := OnDevice((*nic.Device).Queues)
	if err != nil || slices.ContainsFunc(queues, func(q nic.Queue) bool { return q.NAPI != 0 }) {
		t.Fatalf("queues %+v, %v: want none with a NAPI instance", queues, err)
	}
	needs := splitNeeds(t)
	h := measured(t, rx, needs...).SUT
	if h.CopiedBytes == nil || h.ZeroCopyBytes == nil || *h.CopiedBytes != 0 || *h.ZeroCopyBytes == 0 {
		t.Errorf("%s bytes copied, %s not", count(h.CopiedBytes), count(h.ZeroCopyBytes))
	}
	invalid(t, rx, "% of the payload of "+rx+" (limit 1 %): ", append(needs, "--queue", "3", "--steer-queue", "1")...)
}

// SharedNAPI runs zcbench with a receive mode on a NIC of which two queues share a NAPI instance
// each (fbnic with fewer of them than queues): payload that was not copied is not said to be, and a
// flow by another queue is found out, also by the one that shares the instance of the provider's.
func SharedNAPI(t *testing.T, rx string) {
	Need(t)
	Share(t)
	needs := append(splitNeeds(t), "--queue", "3")
	h := measured(t, rx, needs...).SUT
	if h.CopiedBytes == nil || h.ZeroCopyBytes == nil || *h.CopiedBytes != 0 || *h.ZeroCopyBytes == 0 {
		t.Errorf("%s bytes copied, %s not", count(h.CopiedBytes), count(h.ZeroCopyBytes))
	}
	if id := metric(h, rx+"_flow_queue"); id != -1 {
		t.Errorf("the flow came by one of queues 1, 3; queue %v is told", id)
	}
	for to, where := range map[string]string{
		"1": "the flow landed on one of queues 1, 3, which share a NAPI instance, and the provider is on queue 3",
		"2": "the flow landed on one of queues 0, 2, but the provider is on queue 3",
	} {
		invalid(t, rx, "the kernel copied 100.0 % of the payload of "+rx+" (limit 1 %): "+where,
			append(needs, "--steer-queue", to)...)
	}
}

// SharedNAPISteered tests a receive mode that takes no queue over: by which of two queues its flow
// came is not known, which is no reason to say that it went astray.
func SharedNAPISteered(t *testing.T, rx string) {
	Need(t)
	Share(t)
	const sharing = "it is not known by which one it came: it came by one of queues 1, 3, which share a NAPI instance"
	r := measured(t, rx, "--queue", "3")
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, sharing) }) ||
		metric(r.SUT, "flow_queue") != -1 {
		t.Errorf("queue %v; notes %q, want one with %q", metric(r.SUT, "flow_queue"), r.Warnings, sharing)
	}
}

// Share makes queues 0 and 2 of the receiver's interface share a NAPI instance, and 1 and 3
// another, for a test.
func Share(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { reopen(t) }) // last, when the parameter is what it was
	quirk(t, "napis", "2", "0")
	reopen(t)
	q, err := OnDevice((*nic.Device).Queues)
	if err != nil || len(q) != 4 || q[0].NAPI == 0 || q[0].NAPI == q[1].NAPI || q[2].NAPI != q[0].NAPI ||
		q[3].NAPI != q[1].NAPI {
		t.Fatalf("queues %+v, %v: want 4 of two NAPI instances in turn", q, err)
	}
}

// splitNeeds returns the flags of a run that splits headers: some drivers do that with rx-gro-hw
// alone.
func splitNeeds(t *testing.T) []string {
	if driver.Of(Model(t)).SplitNeedsHWGRO {
		return []string{"--hw-gro", "on"}
	}
	return nil
}

// Unlink takes the link of all queues of the receiver's interface with their NAPI instances away,
// for a test.
func Unlink(t *testing.T) {
	t.Cleanup(func() { reopen(t) }) // last, when the parameter is what it was
	quirk(t, "no_napi", "Y", "N")
	reopen(t)
}

// NotSplit runs zcbench with a receive mode on a NIC that cannot split the headers off some
// packets, or off any: the driver drops those, and says how many. A run has a note of it, and one
// that stands still because of it fails and names it.
func NotSplit(t *testing.T, rx, counter string) {
	Need(t)
	named := func(text string) bool { return strings.Contains(text, counter+" by ") }
	quirk(t, "unsplit", "100", "0")
	needs := splitNeeds(t)
	if r := measured(t, rx, needs...); !slices.ContainsFunc(r.Warnings, named) {
		t.Errorf("%s, some not split: notes %q", r.Verdict, r.Warnings)
	}
	quirk(t, "unsplit", "1", "0")
	r, status := once(t, rx, firstUnit, append(needs, "--stall", "3s")...)
	if r.Verdict != results.Failed || !named(r.Reason) || r.Fix == "" || status == 0 {
		t.Errorf("%s, status %d, none split: %s; notes %q; fix: %s", r.Verdict, status, r.Reason, r.Warnings, r.Fix)
	}
}

// quirk sets a parameter of the soft NIC for a test.
func quirk(t *testing.T, name, value, after string) {
	t.Helper()
	set := func(value string) {
		if err := os.WriteFile("/sys/module/softnic/parameters/"+name, []byte(value), 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	set(value)
	t.Cleanup(func() { set(after) })
}

// reopen takes the receiver's interface down and up, which opens all queues anew. It keeps its
// addresses.
func reopen(t *testing.T) {
	t.Helper()
	_, err := In(RXNS, func() (_ struct{}, err error) {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+RXDev+"/keep_addr_on_down", []byte("1"), 0); err != nil {
			return struct{}{}, err
		}
		c, err := rtnl.Dial()
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		d, err := nic.Open(RXDev)
		if err != nil {
			return struct{}{}, err
		}
		defer d.Close()
		err = errors.Join(c.SetUp(d.Index, false), c.SetUp(d.Index, true), d.AwaitCarrier(await.Hang))
		return struct{}{}, err
	})
	if err != nil {
		t.Error(fmt.Errorf("take %s down and up: %w", RXDev, err))
	}
}
