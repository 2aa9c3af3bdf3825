// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/setting"
)

// inLab runs f in the lab's receiving namespace, on a thread of its own, with
// the soft NIC opened.
func inLab(t *testing.T, f func(t *testing.T, d *Device)) {
	t.Helper()
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest: go test -exec "$PWD/bin/zcbench lab exec --" ./machine/nic`)
	}
	done := make(chan error, 2)
	go func() {
		defer func() { done <- errors.New("the test ended itself") }() // after t.Fatal; else nobody reads it
		// ends with the goroutine: it is in another namespace
		runtime.LockOSThread()
		leave, err := guest.Enter(guest.NSReceiver)
		if err != nil {
			done <- err
			return
		}
		defer leave()
		d, err := Open(guest.Ends[0].Dev)
		if err == nil {
			defer d.Close()
			defer func() {
				if p := recover(); p != nil {
					done <- fmt.Errorf("panic: %v", p)
				}
			}()
			err = nil
			f(t, d)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Every setting of the soft NIC can be set, reads back as set, and takes back what
// it was.
func TestLabSettings(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		for _, c := range []struct{ name, value string }{
			{"mtu", "1500"}, {"gso-max-size", "131072"}, {"gro-max-size", "131072"}, {"gso-ipv4-max-size", "131072"},
			{"gro-ipv4-max-size", "131072"},
			{"channels", "rx 0 tx 0 other 0 combined 2"}, {"ring rx", "1024"}, {"ring tx", "256"},
			{"feature rx-gro", "off"}, {"feature rx-gro-hw", "on"}, {"feature tx-tcp-segmentation", "off"},
			{"feature rx-ntuple-filter", "off"},
			{"header-split", "tcp-data-split on, hds-thresh 0"}, {"header-split", "tcp-data-split on, hds-thresh 512"},
			{"napi 1", "defer-hard-irqs 5, gro-flush-timeout 20000, irq-suspend-timeout 0, threaded off"},
			// As people shorten and write them; the kernel prints them in another way.
			{"napi 1", "defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0"},
			{"napi 1", "defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0, threaded on"},
			{"header-split", "tcp-data-split on"}, {"header-split", "tcp-data-split auto"}, {"ring rx", "0256"},
			{"rps 1", "00000000,00000003"}, {"rss", strings.Repeat("0 1 2 3 ", 32)},
			{"rss", strings.Repeat(" 3 1", 64)},
			{"rps 1", "3"}, {"xps 1", "1"}, {"rss", strings.TrimSpace(strings.Repeat("0 2 ", 64))},
			{"rss-context 1,2", "present"}, {"rss-context 3", "present"},
			{"rule 10.77.0.2:6000 > 10.77.0.1:5000 queue 1", "present"},
			{"rule [fd00:77::2]:6000 > [fd00:77::1]:5000 queue 2", "present"},
		} {
			if err := changeAndBack(d, c.name, c.value); err != nil {
				t.Errorf("%s to %s: %v", c.name, c.value, err)
			}
		}
		if s, err := d.Setting("coalesce rx-usecs"); err != nil {
			t.Error(err)
		} else if _, err := s.Get(); !errors.Is(err, unix.EOPNOTSUPP) {
			t.Errorf("coalescing of a NIC without: %v", err)
		}
	})
}

// A NIC that has no interrupts moves nobody else's.
func TestLabInterrupt(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		all, err := ReadInterrupts()
		if err != nil || len(all) == 0 {
			t.Errorf("interrupts %v, %v", all, err)
		}
		for irq := range all {
			s, err := d.Setting(fmt.Sprintf("interrupt %d", irq))
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Set("0"); !errors.Is(err, unix.ENODEV) {
				t.Errorf("interrupt %d: %v", irq, err)
			}
		}
	})
}

func changeAndBack(d *Device, name, value string) error {
	s, err := d.Setting(name)
	if err != nil {
		return err
	}
	before, err := s.Get()
	if err != nil {
		return err
	}
	if canon, err := s.Canonical(value); err != nil || before == canon {
		return fmt.Errorf("it is so already: the test shows nothing (%v)", err)
	}
	if err := setting.Apply(s, d.Name, value); err != nil {
		return err
	}
	return setting.Apply(s, d.Name, before)
}

func TestLabQueues(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		all, err := d.Queues()
		if err != nil || len(all) < 2 {
			t.Errorf("queues %v, %v", all, err)
			return
		}
		for i, q := range all {
			if q.ID != i || q.NAPI == 0 || q.Provider != ProviderNone {
				t.Errorf("queue %d: %+v", i, q)
			}
		}
		if _, err := d.Queue(len(all)); err == nil {
			t.Error("found a queue beyond the last")
		}
		if s, err := d.QueueStats(); err != nil || len(s) != len(all) {
			t.Errorf("counters %v, %v", s, err)
		}
		if p, err := d.PagePools(); err != nil || len(p) < len(all) {
			t.Errorf("pools %v, %v", p, err)
		}
		if s, err := d.Stats(); err != nil || len(s) == 0 {
			t.Errorf("driver counters %v, %v", s, err)
		}
		if d.HasXDP() {
			t.Error("an XDP program is attached")
		}
	})
}

func TestLabTableWithout(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		table, err := d.TableWithout(1)
		if err != nil || slices.Contains(strings.Fields(table), "1") || !slices.Contains(strings.Fields(table), "3") {
			t.Errorf("table %s, %v", table, err)
		}
		if table, err := d.TableWithout(3, 1, 2); err != nil || strings.Trim(table, "0 ") != "" {
			t.Errorf("all but the first: table %s, %v", table, err)
		}
		if table, err := d.TableWithout(3, 1, 2, 0); err == nil ||
			!strings.Contains(err.Error(), "keep RX queues 0, 1, 2, 3 free") || !strings.Contains(fault.Fix(err),
			"combined 5; or use fewer: --queues") {
			t.Errorf("all: table %s, %v; fix: %s", table, err, fault.Fix(err))
		}
	})
}

func TestLabSteer(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		local, remote := netip.MustParseAddrPort("10.77.0.1:1"), netip.MustParseAddrPort("10.77.0.2:2")
		if _, err := d.Steer(local, remote, 99); err == nil {
			t.Error("steered to a queue that is not there")
		}
		at, err := d.Steer(local, remote, 2)
		if err != nil {
			t.Error(err)
			return
		}
		if got, ok, err := d.FindRule(local, remote, 2); !ok || got != at || err != nil {
			t.Errorf("rule %d found at %d, %v, %v", at, got, ok, err)
		}
		if _, ok, err := d.FindRule(local, remote, 1); ok || err != nil {
			t.Errorf("found a rule to another queue: %v", err)
		}
		if err := d.DeleteRule(at); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenNothing(t *testing.T) {
	_, err := Open("no-such-if")
	if e, ok := err.(*fault.Error); !ok || e.Err != unix.ENODEV || e.Fix() == "" {
		t.Errorf("error %v", err)
	}
}

// Loopback has none of it: each answer says what to do.
func TestLoopback(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, e1 := d.HeaderSplit()
	_, e2 := d.Indirection()
	_, e3 := d.HasRules()
	for i, err := range []error{e1, e2, e3} {
		if e, ok := err.(*fault.Error); !ok || e.Fix() == "" {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// One rule sends all flows to a port into a context. Both are found again by what reads back, and
// the context cannot go before its rule, in words that say so.
func TestLabPortRule(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		for _, at := range []string{"10.77.0.1:5000", "[fd00:77::1]:5000"} {
			local, queues := netip.MustParseAddrPort(at), []uint32{1, 2}
			rule, rerr := d.Setting(PortRuleName(local, queues))
			context, cerr := d.Setting(ContextName(queues))
			if rerr != nil || cerr != nil {
				t.Fatal(rerr, cerr)
			}
			if err := rule.Set(present); !errors.Is(err, unix.ENOENT) {
				t.Errorf("a rule into a context that is not there: %v", err)
			}
			if err := errors.Join(context.Set(present), rule.Set(present)); err != nil {
				t.Errorf("%v; fix: %s", err, fault.Fix(err))
			}
			err := context.Set(absent)
			if !errors.Is(err, unix.EBUSY) || !strings.Contains(fault.Fix(err), "delete that rule first") {
				t.Errorf("a context that a rule needs was deleted: %v; fix: %s", err, fault.Fix(err))
			}
			for _, s := range []setting.Setting{rule, context} {
				if is, err := s.Get(); is != present || err != nil {
					t.Errorf("%s: %s, %v", s.Name, is, err)
				}
				if err := s.Set(absent); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
				if is, err := s.Get(); is != absent || err != nil {
					t.Errorf("%s, deleted: %s, %v", s.Name, is, err)
				}
			}
		}
	})
}
