// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
)

// A flow that stands still while the NIC splits no headers says so, by the driver's counters, and
// the run has a note of it also where the flow goes on.
func TestStallOfUnsplit(t *testing.T) {
	for _, x := range []struct {
		dropped uint64
		want    string
	}{{0, ""}, {14, "; the NIC did not split the headers off some packets, and drivers drop such packets where " +
		"payload goes to the application's memory: ethtool -S eth0 grew in rx-hsplit_hbo by 14"}} {
		synctest.Test(t, func(t *testing.T) {
			e := newEnd(several(wire.EndSpec{Role: stream.RX}, 2), stream.Mode{}, stream.Options{})
			s := newStallWatch(e, time.Second)
			s.unsplit = unsplitWatches{{dev: "eth0", before: nic.Unsplit{"rx-hsplit_hbo": 3},
				read: func(string) (nic.Unsplit, error) { return nic.Unsplit{"rx-hsplit_hbo": 3 + x.dropped}, nil }}}
			time.Sleep(time.Second + time.Nanosecond)
			e.flows[0].Meter.Bytes(5)
			err := s.check()
			if err == nil || err.Error() != "flow 1: no payload for 1s, after 0 bytes"+x.want ||
				strings.Contains(fault.Fix(err), "send what the NIC splits") != (x.want != "") {
				t.Errorf("%v; fix: %s", err, fault.Fix(err))
			}
			if err := s.because(errEndedEarly); stream.BlamesPeer(err) != (x.want == "") || x.want != "" &&
				err.Error() != "flow 1: no payload for 1s, after 0 bytes"+x.want {
				t.Errorf("a sender that broke off: %v", err)
			}
			if err := s.because(unix.EIO); err != unix.EIO {
				t.Errorf("another error: %v", err)
			}
			r := &run{end: e, stall: s}
			r.noteUnsplit()
			if strings.Join(r.warnings, "") != strings.TrimPrefix(x.want, "; ") {
				t.Errorf("notes %q", r.warnings)
			}
		})
	}
	(&run{}).noteUnsplit() // of flows that were never open
	if err := (*stallWatch)(nil).because(errEndedEarly); err != errEndedEarly {
		t.Error(err)
	}
}

// Only a receiver whose payload goes to memory of the application loses such packets.
func TestWhoWatchesUnsplit(t *testing.T) {
	for _, x := range []struct {
		role stream.Role
		mode stream.Mode
		want bool
	}{
		{stream.RX, stream.Mode{Traits: stream.UsesNICQueue | stream.NeedsDev}, true},
		{stream.RX, stream.Mode{Traits: stream.UsesNICQueue}, false},
		{stream.RX, stream.Mode{}, false},
		{stream.TX, stream.Mode{Traits: stream.UsesNICQueue | stream.NeedsDev}, false},
	} {
		e := newEnd(several(wire.EndSpec{Role: x.role}, 1), x.mode,
			stream.Options{NIC: stream.NICQueue{Dev: "no-such-if"}})
		if w := watchUnsplit(e); (len(w) == 1) != x.want {
			t.Errorf("%+v: %+v", x.mode, w)
		} else if what, fix := w.grown(); what+fix != "" {
			t.Errorf("an interface that is not there: %s; %s", what, fix)
		}
	}
}
