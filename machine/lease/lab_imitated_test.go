// SPDX-License-Identifier: MIT

package lease_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
)

// splitting calls f with the receiver's interface, on which headers can be split, and
// its header split.
func withSplit(t *testing.T, f func(d *nic.Device, s setting.Setting) error) {
	t.Helper()
	if model(t) == "virtio_net" {
		t.Skip("it cannot split headers")
	}
	inNS(t, guest.NSReceiver, func() (err error) {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		if err := d.SetFeature(nic.FeatureHWGRO, true); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.SetFeature(nic.FeatureHWGRO, false)) }()
		s, err := d.Setting("header-split")
		if err != nil {
			return err
		}
		return f(d, s)
	})
}

// wished reports whether split is asked for, and leaves it so that it is not.
func wished(d *nic.Device, s setting.Setting) (bool, error) {
	h, err := d.HeaderSplit()
	if err != nil {
		return false, err
	}
	changed, err := setting.Ask(s, d.Name, nic.SplitAll(h).String())
	return !changed, errors.Join(err, s.Leave(h.String()))
}

// asFound asks for nothing any more, and sets what was read where that reads otherwise: gve
// stays as it is when it is not asked.
func asFound(s setting.Setting, was nic.HeaderSplit) error {
	err := s.Leave(was.String())
	if now, gerr := s.Get(); now != was.String() {
		return errors.Join(err, gerr, s.Set(was.String()))
	}
	return err
}

// What a lease asked for it takes back when it ends, also when it has become another
// meanwhile, and when the driver says before and after that it splits headers.
func TestLabImitatedWish(t *testing.T) {
	needLab(t)
	for _, zero := range []bool{false, true} { // with only the threshold set before
		t.Run(fmt.Sprintf("threshold zero %v", zero), func(t *testing.T) {
			withSplit(t, func(d *nic.Device, s setting.Setting) error {
				was, err := d.HeaderSplit()
				if err != nil {
					return err
				}
				if zero && was.Threshold < 0 {
					return nil // there is none
				}
				if zero && was.Threshold > 0 {
					err = s.Leave("tcp-data-split auto, hds-thresh 0")
				}
				before, berr := s.Get()
				l := lease.New(lease.Options{})
				l.Use(d)
				split := lease.Want{Dev: d.Name, Name: "header-split", Value: nic.SplitAll(was).String()}
				more := lease.Want{Dev: d.Name, Name: "gro-max-size", Value: "131072"}
				err = errors.Join(err, berr, l.Apply(split), l.Become(split, more), l.Restore())
				after, aerr := s.Get()
				if after != before {
					aerr = errors.Join(aerr, fmt.Errorf("it was %s, and is %s", before, after))
				}
				left, werr := wished(d, s)
				if left {
					werr = errors.Join(werr, errors.New("it is still asked for"))
				}
				return errors.Join(err, aerr, werr, asFound(s, was))
			})
		})
	}
}

// What was asked for before a lease came stays asked for.
func TestLabImitatedForeignWish(t *testing.T) {
	needLab(t)
	withSplit(t, func(d *nic.Device, s setting.Setting) error {
		was, err := d.HeaderSplit()
		if err != nil {
			return err
		}
		want := nic.SplitAll(was).String()
		_, err = setting.Ask(s, d.Name, want)
		l := lease.New(lease.Options{})
		l.Use(d)
		err = errors.Join(err, l.Apply(lease.Want{Dev: d.Name, Name: "header-split", Value: want}), l.Restore())
		kept, werr := wished(d, s)
		if !kept {
			werr = errors.Join(werr, errors.New("what the user had asked for is gone"))
		}
		return errors.Join(err, werr, asFound(s, was))
	})
}

// A lease that switches hardware GRO too, on which it depends in some drivers how header
// split reads, leaves everything as it was: also the ring, which bnxt cuts.
func TestLabImitatedTogether(t *testing.T) {
	needLab(t)
	before := hosts(t)
	inNS(t, guest.NSReceiver, func() error {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		mtu, err := d.Setting("mtu")
		if err != nil {
			return err
		}
		ring, err := d.Setting("ring rx")
		if err != nil {
			return err
		}
		old, err := ring.Get()
		if err != nil {
			return err
		}
		// bnxt has room for more without payload rings.
		err = errors.Join(setting.Apply(mtu, d.Name, "1500"), setting.Apply(ring, d.Name, "4096"))
		wants := []lease.Want{{Dev: d.Name, Name: "mtu", Value: "4148"}}
		if gro, gerr := d.Feature(nic.FeatureHWGRO); gro.Hard {
			wants, err = append(wants, lease.Want{Dev: d.Name, Name: "feature " + nic.FeatureHWGRO, Value: "on"}),
				errors.Join(err, gerr)
		}
		if h, herr := d.HeaderSplit(); model(t) != "virtio_net" { // it has none
			wants, err = append(wants, lease.Want{Dev: d.Name, Name: "header-split", Value: nic.SplitAll(h).String()}),
				errors.Join(err, herr)
		}
		l := lease.New(lease.Options{})
		l.Use(d)
		err = errors.Join(err, l.Apply(wants...), l.Restore())
		now, rerr := ring.Get()
		if now != "4096" {
			rerr = errors.Join(rerr, fmt.Errorf("the ring had 4096 descriptors, and has %s", now))
		}
		return errors.Join(err, rerr, setting.Apply(ring, d.Name, old),
			setting.Apply(mtu, d.Name, fmt.Sprint(guest.DefaultMTU)))
	})
	if d := cmp.Diff(before, hosts(t)); d != "" {
		t.Errorf("the hosts are not as they were:\n%s", d)
	}
}

// A lease that is restored leaves a link, and so does one that is applied: gve's comes back
// some time after the call that took it.
func TestLabImitatedCarrier(t *testing.T) {
	needLab(t)
	const delay = "/sys/module/softnic/parameters/carrier_ms"
	old, err := os.ReadFile(delay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(delay, []byte("300"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(delay, old, 0)
	withSplit(t, func(d *nic.Device, s setting.Setting) error {
		was, err := d.HeaderSplit()
		if err != nil {
			return err
		}
		err = d.AwaitCarrier(await.Hang) // of rx-gro-hw
		linked := func(when string) error {
			l, err := d.Link()
			if !l.Carrier {
				err = errors.Join(err, fmt.Errorf("%s: no carrier", when))
			}
			return err
		}
		l := lease.New(lease.Options{})
		l.Use(d)
		for _, w := range []lease.Want{{Dev: d.Name, Name: "header-split", Value: nic.SplitAll(was).String()},
			{Dev: d.Name, Name: "ring rx", Value: "1024"}} {
			err = errors.Join(err, l.Apply(w), linked(w.Name+" set"), l.Restore(), linked(w.Name+" restored"))
		}
		return errors.Join(err, asFound(s, was), d.AwaitCarrier(await.Hang))
	})
}

// What somebody has set of NAPI stays so while a lease splits headers, and afterwards: gve
// forgets it whenever it opens its queues anew.
func TestLabImitatedNAPI(t *testing.T) {
	needLab(t)
	withSplit(t, func(d *nic.Device, _ setting.Setting) error {
		napi, err := d.Setting("napi 1")
		if err != nil {
			return err
		}
		old, err := napi.Get()
		if err != nil {
			return err
		}
		want, err := nic.ParseNAPISettings(old)
		want.DeferHardIRQs, want.GROFlushTimeoutNs = 3, 40000
		err = errors.Join(err, napi.Set(want.String()))
		kept := func(when string) error {
			now, err := napi.Get()
			if now != want.String() {
				err = errors.Join(err, fmt.Errorf("%s: %s, want %s", when, now, want))
			}
			return err
		}
		was, herr := d.HeaderSplit()
		l := lease.New(lease.Options{})
		l.Use(d)
		err = errors.Join(err, herr,
			l.Apply(lease.Want{Dev: d.Name, Name: "header-split", Value: nic.SplitAll(was).String()}), kept("split"),
			l.Restore(), kept("restored"))
		return errors.Join(err, napi.Set(old))
	})
}

// What somebody has set of the NAPI instance of a queue is so again when a run has had the queue,
// and when it was killed and restored: gve makes a new instance for a queue that takes memory, and
// for one that gets its own back.
func TestLabImitatedNAPITaken(t *testing.T) {
	needLab(t)
	if model(t) != "gve" || older(t) {
		t.Skip("gve alone forgets, and the older one takes no memory")
	}
	const queue = 3
	napi := func(set string) (now string) {
		inNS(t, guest.NSReceiver, func() error {
			d, err := nic.Open(guest.Ends[0].Dev)
			if err != nil {
				return err
			}
			defer d.Close()
			s, err := d.Setting(fmt.Sprintf("napi %d", queue))
			if err == nil && set != "" {
				err = s.Set(set)
			}
			if err == nil {
				now, err = s.Get()
			}
			return err
		})
		return now
	}
	old := napi("")
	defer napi(old)
	v, err := nic.ParseNAPISettings(old)
	if err != nil {
		t.Fatal(err)
	}
	v.DeferHardIRQs, v.GROFlushTimeoutNs = 3, 40000
	want := napi(v.String())
	args := slices.Concat(plain, []string{"--queue", fmt.Sprint(queue)})
	if out, err := run(t, args...); !worked(out, err) {
		t.Errorf("%v:\n%s", err, out)
	}
	if now := napi(""); now != want {
		t.Errorf("after a run: %s, want %s", now, want)
	}
	taken := func() (is bool) {
		inNS(t, guest.NSReceiver, func() error {
			d, err := nic.Open(guest.Ends[0].Dev)
			if err != nil {
				return err
			}
			defer d.Close()
			q, err := d.Queue(queue)
			is = q.Provider != nic.ProviderNone
			return err
		})
		return is
	}
	r := startVictim(t, args)
	for !taken() {
		if r.ended(t, 20*time.Millisecond) {
			t.Fatalf("it ended, and the queue was never taken: %s", r.said.String())
		}
	}
	kill(t, r.cmd.Process.Pid, counter.Children(r.cmd.Process.Pid), "all", false, r.done, &r.said)
	await.Until(t, "the queue is free", func() bool { return !taken() })
	if now := napi(""); now == want {
		t.Error("the driver did not forget it: this tests nothing")
	}
	if out, err := run(t, "restore"); err != nil || strings.Contains(out, "something else has set") {
		t.Errorf("restore: %v\n%s", err, out)
	}
	if now := napi(""); now != want {
		t.Errorf("after a kill and restore: %s, want %s", now, want)
	}
}

// A rule that somebody has made for the flow stays as it is, also where it does what ours would;
// where it does something else, ours is refused. sfc's driver would put ours into its place, and
// nothing would be left once ours is taken back.
func TestLabImitatedForeignRule(t *testing.T) {
	needLab(t)
	if model(t) == "virtio_net" {
		t.Skip("it has no rules")
	}
	before := hosts(t)
	inNS(t, guest.NSReceiver, func() (err error) {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		was, err := d.Feature(nic.FeatureNTuple)
		if err == nil {
			err = d.SetFeature(nic.FeatureNTuple, true)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.SetFeature(nic.FeatureNTuple, was.Active)) }()
		local, remote := netip.MustParseAddrPort("10.77.0.1:7799"), netip.MustParseAddrPort("10.77.0.2:40000")
		theirs, err := d.Steer(local, remote, 1)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.DeleteRule(theirs)) }()
		silent := model(t) == "idpf" // of theirs the queue and the place can be read, and nothing else
		var c lease.Changes
		for queue, refused := range map[int]bool{1: false, 2: true} {
			serr := c.Steer(d, local, remote, queue)
			right := serr == nil
			if refused && !silent {
				right = errors.Is(serr, unix.EEXIST) &&
					strings.Contains(serr.Error(), fmt.Sprintf("rule %d sends it to RX queue 1", theirs))
			}
			if !right {
				err = errors.Join(err, fmt.Errorf("ours, to queue %d: %v", queue, serr))
			}
			err = errors.Join(err, c.Undo())
			if silent {
				n, nerr := d.HasRules()
				if n != 1 {
					nerr = errors.Join(nerr, fmt.Errorf("after ours, to queue %d, there are %d rules", queue, n))
				}
				err = errors.Join(err, nerr)
				continue
			}
			at, ok, ferr := d.FindRule(local, remote, 1)
			if !ok || at != theirs {
				ferr = errors.Join(ferr, fmt.Errorf("after ours, to queue %d, theirs is at %d, was at %d: %v", queue,
					at, theirs, ok))
			}
			_, left, lerr := d.FindRule(local, remote, 2)
			if left {
				lerr = errors.Join(lerr, errors.New("ours is left"))
			}
			err = errors.Join(err, ferr, lerr)
		}
		return err
	})
	if d := cmp.Diff(before, hosts(t)); d != "" {
		t.Errorf("the hosts are not as they were:\n%s", d)
	}
}
