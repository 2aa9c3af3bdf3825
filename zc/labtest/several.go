// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
)

// The tests of several flows that modes have in common: two of them, or four where what takes
// minutes is asked for, by a queue each ([Flows]) or by one ([Grouped]).

// Arrive sees that every byte of each flow arrives without a copy, by its queue, whose memory
// stays bound while others come and go. isZeroCopy is the mode's own look at each.
func (f Flows) Arrive(t *testing.T, isZeroCopy func(*testing.T, Transfer, Outcome)) {
	t.Helper()
	f.Run(t, func(x Transfer, o Outcome) {
		isZeroCopy(t, x, o)
		if got := int(o.Figure(f.Mode.Name + "_flow_queue")); got != *x.NIC.Queue {
			t.Errorf("it came by queue %d, not %d", got, *x.NIC.Queue)
		}
	})
}

// WrongQueue steers one of the flows elsewhere: it is copied and says where it went, and the
// others are not.
func (f Flows) WrongQueue(t *testing.T, isZeroCopy func(*testing.T, Transfer, Outcome)) {
	t.Helper()
	wrong, elsewhere := 1, 0
	f.Change = func(i int, x *Transfer) {
		if i == wrong {
			x.SteerTo = &elsewhere
		}
	}
	f.Run(t, func(x Transfer, o Outcome) {
		if x.SteerTo == nil {
			isZeroCopy(t, x, o)
			return
		}
		c := o.Counters
		if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || c.CopiedBytes < c.Bytes/100*99 {
			t.Errorf("%+v", c)
		}
		if want := fmt.Sprintf("the flow landed on queue 0, but the provider is on queue %d",
			*x.NIC.Queue); o.Evidence.Why != want || o.Evidence.Fix == "" {
			t.Errorf("why %q, want %q; fix %q", o.Evidence.Why, want, o.Evidence.Fix)
		}
	})
}

// Groups builds flows of one queue: the first has mib MiB, and each next one as many more.
func Groups(t testing.TB, mib int, open func(stream.Options) (stream.Receiver, error)) (all []Transfer) {
	families := Families(t)
	for i := range long.Rounds(2, 4) {
		all = append(all, Transfer{Family: families[i%len(families)], Bytes: (i + 1) * mib << 20, Open: open})
	}
	return all
}

// GroupArrives sees that of flows that share one queue, as the connections of a server do, one
// receiver of a mode moves all on one thread, every byte of each without a copy.
func GroupArrives(t *testing.T, mode string, all []Transfer) {
	t.Helper()
	Grouped(t, all, func(x Transfer, o Outcome) {
		if c := o.Counters; c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || c.ZeroCopyBytes != c.Bytes ||
			c.CopiedBytes+c.LinearBytes+o.Evidence.Uncounted != 0 {
			t.Errorf("%d bytes: %+v; %s", x.Bytes, c, o.Evidence.Why)
		}
		if on, want := o.Figure(mode+"_flow_queue"), o.Figure(mode+"_queue"); on != want ||
			o.Figure(mode+"_provider_bound") != 1 || len(o.Evidence.Notes) > 0 {
			t.Errorf("it came by queue %v, not %v; notes %q", on, want, o.Evidence.Notes)
		}
	})
}

// GroupWrongQueue steers one flow of a group elsewhere: it is copied and says where it went, and
// the others are not.
func GroupWrongQueue(t *testing.T, all []Transfer) {
	t.Helper()
	elsewhere := 0
	all[1].SteerTo = &elsewhere
	Grouped(t, all, func(x Transfer, o Outcome) {
		c, astray := o.Counters, x.SteerTo != nil
		if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || astray && c.CopiedBytes < c.Bytes/100*99 || !astray &&
			c.ZeroCopyBytes != c.Bytes {
			t.Errorf("steered elsewhere: %v, %+v", astray, c)
		}
		if landed := strings.Contains(o.Evidence.Why,
			"the flow landed on queue 0, but the provider is on queue 3"); landed != astray {
			t.Errorf("steered elsewhere: %v, why %q", astray, o.Evidence.Why)
		}
	})
}

// splits makes the NIC able to split headers while a test lasts, where it imitates a driver that
// wants something for that: mlx5 rx-gro-hw (mlx5e_ethtool_set_tcp_data_split of en_ethtool.c). It
// is set once for all flows, which are at the same time (Linux 7.3.4).
func splits(t *testing.T) {
	t.Helper()
	if Model(t) != "mlx5_core" {
		return
	}
	set := func(on bool) error {
		_, err := OnDevice(func(d *nic.Device) (struct{}, error) {
			return struct{}{}, errors.Join(d.SetFeature(nic.FeatureHWGRO, on), d.AwaitCarrier(await.Hang))
		})
		return err
	}
	if err := set(true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set(false); err != nil {
			t.Error(err)
		}
	})
}
