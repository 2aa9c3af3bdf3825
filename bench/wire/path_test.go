// SPDX-License-Identifier: MIT

package wire

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zcbench/zcbench/machine/hops"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// A reading arrives as it was made: all counters that paths compare, each in its place.
func TestPathReadingArrives(t *testing.T) {
	n := 0
	next := func() uint64 { n++; return uint64(n) }
	stats := func() rtnl.Stats {
		return rtnl.Stats{RxPackets: next(), TxPackets: next(), RxBytes: next(), TxBytes: next(), RxErrors: next(),
			TxErrors: next(), RxDropped: next(), TxDropped: next(),
			RxMissedErrors: next(), RxNohandler: next()}
	}
	var r hops.Reading
	for range 3 {
		r.Hops = append(r.Hops, hops.Counts{Stats: stats(), Again: stats(), QdiscDrops: next(), QLen: next(),
			Qdisc: uint32(next())})
	}
	r.Stack = hops.Stack{Backlog: next(), BacklogKnown: true, Processed: map[uint32]uint32{0: 5, 7: math.MaxUint32}}
	got, err := answered[PathReading](t, PathReadingOf(&r))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, got.Reading(), cmpopts.IgnoreUnexported(hops.Reading{})); d != "" {
		t.Errorf("changed on the way (-want +got):\n%s", d)
	}
	all := []hops.Hop{{Index: 3, Kind: "vlan", Master: 4, Lower: 2, Peer: 7, PeerNetns: -1}, {Index: math.MaxInt32}}
	opened, err := answered[PathOpened](t, PathOpenedOf(all))
	if err != nil || !reflect.DeepEqual(opened.Found(), all) {
		t.Errorf("%+v, %v", opened, err)
	}
	places := []hops.Place{{Host: "sut", Dev: "eth0", Item: 2, At: 9}}
	if p := PathOf(places); !reflect.DeepEqual(p.Here(), places) {
		t.Errorf("%+v", p)
	}
}

// What no interface is, or counts, is refused where it is decoded.
func TestPathsAreChecked(t *testing.T) {
	for name, x := range map[string]struct {
		spoil func(*PathReading)
		want  string
	}{
		"well": {func(r *PathReading) {}, ""},
		"as much as can be": {func(r *PathReading) {
			r.Hops[0].First.RxPackets,
				r.Hops[0].First.RxBytes = mostCounted, mostBytes
		}, ""},
		"packets": {func(r *PathReading) { r.Hops[1].Again.TxPackets = mostCounted + 1 },
			"interface 2: a counter of"},
		"dropped": {func(r *PathReading) { r.Hops[0].First.RxNohandler = math.MaxUint64 },
			"a counter of"},
		"bytes":        {func(r *PathReading) { r.Hops[0].First.TxBytes = mostBytes + 1 }, "bytes"},
		"a long queue": {func(r *PathReading) { r.Hops[0].QLen = mostWaiting + 1 }, "queueing discipline"},
		"many drops": {func(r *PathReading) { r.Hops[0].QdiscDrops = math.MaxUint64 },
			"queueing discipline"},
		"no handle": {func(r *PathReading) { r.Hops[0].Qdisc = math.MaxUint32 + 1 },
			"queueing discipline"},
		"a long backlog":          {func(r *PathReading) { r.Backlog = math.MaxUint64 }, "a backlog"},
		"too many":                {func(r *PathReading) { r.Hops = make([]pathCounts, mostHops+1) }, "65 interfaces"},
		"a CPU that is not":       {func(r *PathReading) { r.Processed[0].CPU = -1 }, "CPU -1"},
		"a CPU that is none":      {func(r *PathReading) { r.Processed[0].CPU = mostCPUs }, "does not exist"},
		"a CPU twice":             {func(r *PathReading) { r.Processed[1].CPU = 0 }, "twice"},
		"a CPU of a wide counter": {func(r *PathReading) { r.Processed[1].Packets = math.MaxUint32 + 1 }, "processed"},
	} {
		r := PathReading{Hops: make([]pathCounts, 2), Processed: []pathCPU{{0, 1}, {1, 2}}}
		x.spoil(&r)
		if got, err := answered[PathReading](t, r); (err != nil) != (x.want != "") || err != nil &&
			(!strings.Contains(err.Error(), x.want) || len(got.Hops) > 0) {
			t.Errorf("%s: %v, want %q; left %+v", name, err, x.want, got)
		}
	}
	for name, h := range map[string]pathHop{
		"no index": {}, "below": {Index: -1}, "beyond": {Index: math.MaxInt32 + 1}, "master": {Index: 1, Master: -1},
		"lower": {Index: 1, Lower: math.MaxInt64},
		"peer":  {Index: 1, Peer: -3}, "namespace": {Index: 1, PeerNetns: -2}, "kind": {Index: 1, Kind: "\x1b[2J"},
		"a long kind": {Index: 1, Kind: strings.Repeat("v", 33)},
	} {
		if _, err := answered[PathOpened](t,
			PathOpened{Hops: []pathHop{{Index: 1, Kind: "veth"}, h}}); err == nil ||
			!strings.Contains(err.Error(), "interface 2: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := answered[PathOpened](t, PathOpened{Hops: make([]pathHop, mostHops+1)}); err == nil {
		t.Error("too many interfaces")
	}
}
