// SPDX-License-Identifier: MIT

package softnictest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// at inserts a rule at a place for the length of the test.
func (r rule) at(t testing.TB, place uint32) {
	t.Helper()
	do(t, rx.NS, func() error {
		_, err := r.insertAt(rx.Dev, place)
		return err
	})
	t.Cleanup(func() { do(t, rx.NS, func() error { return deleteRule(rx.Dev, place) }) })
}

// Of a rule there is nothing to read but its queue, and the user finds a place.
func TestLabImitatedIdpfRules(t *testing.T) {
	imitates(t, "idpf")
	const place = 5
	r := rule{dst: v4.addr(), port: 5090, queue: 2}
	r.at(t, place)
	do(t, rx.NS, func() error {
		spec, err := readRule(rx.Dev, place)
		want := make([]byte, len(spec))
		binary.NativeEndian.PutUint64(want[152:], r.queue)
		binary.NativeEndian.PutUint32(want[160:], place)
		if !slices.Equal(spec, want) {
			t.Errorf("the rule reads as % x", spec)
		}
		if err != nil {
			return err
		}
		all, table, err := rules(rx.Dev)
		if !slices.Equal(all, []uint32{place}) || table != 64 {
			t.Errorf("rules at %v of a table of %#x", all, table)
		}
		return err
	})
	insert := func(r rule, place uint32) func() error {
		return func() error {
			_, err := r.insertAt(rx.Dev, place)
			return err
		}
	}
	read := func() error {
		_, err := readRule(rx.Dev, 6)
		return err
	}
	errnos(t, map[string]func() error{
		"read none":             read,
		"delete none":           func() error { return deleteRule(rx.Dev, 6) },
		"a place that is taken": insert(r, place),
		"any place":             insert(r, anyPlace),
		"IPv6":                  insert(rule{dst: v6.addr(), port: 5090, queue: 2}, 6),
		"drop":                  insert(rule{port: 5090, queue: dropPacket}, 6),
		"a context":             insert(rule{port: 5090, context: 1}, 6),
		"a queue too many":      insert(rule{port: 5090, queue: 4}, 6),
	}, map[string]error{
		"read none": unix.EINVAL, "delete none": unix.EIO,
		"a place that is taken": unix.EEXIST, "any place": unix.EIO,
		"IPv6": unix.EOPNOTSUPP, "drop": unix.EOPNOTSUPP, "a context": unix.EINVAL, "a queue too many": unix.EINVAL,
	})
	c := count(t)
	transfer(t, listen(t, v4, 5090), 1<<20)
	onlyQueue(t, c, 2, 1<<20)
}

// Rules are there, and have an effect, without the feature.
func TestLabImitatedIdpfRulesWithoutNTuple(t *testing.T) {
	imitates(t, "idpf")
	ntuple := func(on bool) {
		do(t, rx.NS, func() error { return setFeature(rx.Dev, "rx-ntuple-filter", on) })
	}
	rule{port: 5091, queue: 2}.at(t, 1)
	ntuple(false)
	t.Cleanup(func() { ntuple(true) })
	rule{port: 5092, queue: 1}.at(t, 2)
	for port, queue := range map[uint16]int{5091: 2, 5092: 1} {
		c := count(t)
		transfer(t, listen(t, v4, port), 1<<20)
		onlyQueue(t, c, queue, 1<<20)
	}
}

// Whatever resets the queues takes the carrier away, which is back later, and the effect of rules,
// which stay listed. What does not reset them does neither.
func TestLabImitatedIdpfReset(t *testing.T) {
	imitates(t, "idpf")
	mtu := func(n int) func() error {
		return func() error {
			l, err := rtnl.LinkNamed(rx.Dev)
			if err != nil {
				return err
			}
			return setNumber(l.Index, unix.IFLA_MTU, n)
		}
	}
	feature := func(name string, on bool) func() error {
		return func() error { return setFeature(rx.Dev, name, on) }
	}
	channels := func(n uint32) func() error { return func() error { return setChannels(rx.Dev, n) } }
	ring := func(r rings) func() error { return func() error { return setRings(rx.Dev, r) } }
	do(t, rx.NS, func() error { return setRSS(rx.Dev, 0) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRSS(rx.Dev) }) })
	for i, x := range []struct {
		name     string
		do, undo func() error
		resets   bool
	}{
		{"a ring", ring(rings{RX: 1024}), ring(rings{RX: 512}), true},
		{"split", ring(rings{Split: splitOff}), ring(rings{Split: splitOn}), true},
		{"MTU", mtu(1500), mtu(guest.DefaultMTU), true},
		{"channels", channels(8), channels(4), true},
		{"rx-gro-hw", feature("rx-gro-hw", true), feature("rx-gro-hw", false), true},
		{"rx-checksumming", feature("rx-checksum", false), feature("rx-checksum", true), false},
		{"rx-hashing", feature("rx-hashing", false), feature("rx-hashing", true), false},
	} {
		t.Run(x.name, func(t *testing.T) {
			port := 5100 + uint16(i)
			rule{port: port, queue: 2}.at(t, 7)
			param(t, "carrier_ms", "600000")
			do(t, rx.NS, x.do)
			if carrier(t) == x.resets {
				t.Errorf("there is a carrier: %v", !x.resets)
			}
			param(t, "carrier_ms", "0") // with the next reset
			do(t, rx.NS, x.undo)
			if !carrier(t) {
				t.Error("there is no carrier")
			}
			do(t, rx.NS, func() error {
				all, _, err := rules(rx.Dev)
				if !slices.Equal(all, []uint32{7}) {
					t.Errorf("rules at %v", all)
				}
				return err
			})
			want := 2
			if x.resets {
				want = 0 // by the table
			}
			l, c := listen(t, v4, port), count(t)
			transfer(t, l, 1<<20)
			onlyQueue(t, c, want, 1<<20)
			if x.resets { // what is inserted once more has an effect
				do(t, rx.NS, func() error { return deleteRule(rx.Dev, 7) })
				do(t, rx.NS, func() error {
					_, err := rule{port: port, queue: 1}.insertAt(rx.Dev, 7)
					return err
				})
				c := count(t)
				transfer(t, l, 1<<20)
				onlyQueue(t, c, 1, 1<<20)
			}
		})
	}
}

// While rx-hashing is off the table of RSS reads as zeros and works so, and what is set then counts
// once it is on.
func TestLabImitatedIdpfRSS(t *testing.T) {
	imitates(t, "idpf")
	hashing := func(on bool) {
		do(t, rx.NS, func() error { return setFeature(rx.Dev, "rx-hashing", on) })
	}
	t.Cleanup(func() {
		hashing(true)
		do(t, rx.NS, func() error { return setRSS(rx.Dev) })
	})
	table := func(t *testing.T, port uint16, read, queue uint32) {
		t.Helper()
		got := in(t, rx.NS, func() ([]uint32, error) { return getRSS(rx.Dev) })
		if len(got) != 128 || slices.ContainsFunc(got, func(q uint32) bool { return q != read }) {
			t.Errorf("the table is %v, want %d alone", got, read)
		}
		c := count(t)
		transfer(t, listen(t, v4, port), 1<<20)
		onlyQueue(t, c, int(queue), 1<<20)
	}
	do(t, rx.NS, func() error { return setRSS(rx.Dev, 3) })
	table(t, 5130, 3, 3)
	hashing(false)
	table(t, 5131, 0, 0)
	hashing(true)
	table(t, 5132, 3, 3)
	hashing(false)
	do(t, rx.NS, func() error { return setRSS(rx.Dev, 1) })
	table(t, 5133, 0, 0)
	hashing(true)
	table(t, 5134, 1, 1)
}

// A queue has two page pools, on one NAPI, and both take the memory that it is given.
func TestLabImitatedIdpfPools(t *testing.T) {
	imitates(t, "idpf")
	check := func(t *testing.T, bound int) {
		t.Helper()
		perNAPI, dmabufs := map[uint64]int{}, 0
		for _, p := range pools(t) {
			perNAPI[p.napi]++
			if p.dmabuf != 0 {
				dmabufs++
			}
			if p.inflight == 0 {
				t.Errorf("a pool with no buffer in the ring: %+v", p)
			}
		}
		if len(perNAPI) != 4 || dmabufs != bound {
			t.Errorf("pools for each NAPI %v, want 4 of them; %d pools of a provider, want %d", perNAPI, dmabufs, bound)
		}
		for napi, n := range perNAPI {
			if n != 2 || napi == 0 {
				t.Errorf("%d pools on NAPI %d", n, napi)
			}
		}
	}
	split(t, splitOn)
	awaitCarrier(t)
	transfer(t, listen(t, v4, 5140), 1<<20) // the queues have polled
	check(t, 0)
	u := newUdmabuf(t, devmemSize)
	b := mustBind(t, u, boundQueue)
	rule{port: 5141, queue: boundQueue}.at(t, 8)
	const n = 4 << 20
	if r := devmemTransfer(t, v4, 5141, u, n); r.dmabuf != n || r.linear != 0 {
		t.Errorf("%d bytes in the dmabuf, %d linear, want %d and 0", r.dmabuf, r.linear, n)
	}
	check(t, 2)
	b.Close()
}

// Headers are split from the start; "auto" is on, and there is no threshold.
func TestLabImitatedIdpfSplit(t *testing.T) {
	imitates(t, "idpf")
	const auto = 0 // ETHTOOL_TCP_DATA_SPLIT_UNKNOWN
	ask := func(state uint8) error {
		_, err := ethtool(rx.Dev, unix.ETHTOOL_MSG_RINGS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
			ae.Uint8(unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT, state)
		})
		return err
	}
	if got := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) }); got.Split != splitOn {
		t.Errorf("at first split is %d", got.Split)
	}
	t.Cleanup(func() { do(t, rx.NS, func() error { return ask(auto) }) })
	l := listen(t, v4, 5150)
	for _, x := range [][2]uint8{{splitOff, splitOff}, {auto, splitOn}, {splitOff, splitOff}, {splitOn, splitOn}} {
		do(t, rx.NS, func() error { return ask(x[0]) })
		got := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) })
		if got.Split != x[1] {
			t.Errorf("asked for %d, split is %d", x[0], got.Split)
		}
		awaitCarrier(t)
		c := count(t)
		transfer(t, l, 256<<10)
		if split := c.sum("split_packets"); (split > 0) != (x[1] == splitOn) || c.grown("rx-hsplit") != split {
			t.Errorf("asked for %d: %d packets were split, rx-hsplit grew by %d", x[0], split, c.grown("rx-hsplit"))
		}
	}
	errnos(t, map[string]func() error{"a threshold": func() error { return setThreshold(rx.Dev, 0) }},
		map[string]error{"a threshold": unix.EOPNOTSUPP})
}

// Rings are rounded up without an error, within limits.
func TestLabImitatedIdpfRings(t *testing.T) {
	imitates(t, "idpf")
	set := func(r rings) func() error { return func() error { return setRings(rx.Dev, r) } }
	t.Cleanup(func() { do(t, rx.NS, set(rings{RX: 512, TX: 512})) })
	l := listen(t, v4, 5160)
	for _, x := range [][2]rings{
		{{RX: 65, TX: 129}, {RX: 128, TX: 160}},
		{{RX: 8128, TX: 8160}, {RX: 8128, TX: 8160}},
		{{RX: 1000, TX: 1000}, {RX: 1024, TX: 1024}},
		{{RX: 64, TX: 128}, {RX: 64, TX: 128}},
	} {
		do(t, rx.NS, set(x[0]))
		got := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) })
		if got.RX != x[1].RX || got.TX != x[1].TX {
			t.Errorf("asked for %+v, they are %+v", x[0], got)
		}
		awaitCarrier(t)
		transfer(t, l, 1<<20)
	}
	calls, want := map[string]func() error{}, map[string]error{}
	for _, r := range []rings{{RX: 63}, {TX: 127}, {RX: 8129}, {TX: 8161}} {
		name := fmt.Sprintf("%+v", r)
		calls[name], want[name] = set(r), unix.EINVAL
	}
	errnos(t, calls, want)
}

// Queues are pairs, and more of one kind.
func TestLabImitatedIdpfChannels(t *testing.T) {
	imitates(t, "idpf")
	set := func(combined, more uint32) error {
		_, err := ethtool(rx.Dev, unix.ETHTOOL_MSG_CHANNELS_SET, netlink.Acknowledge,
			func(ae *netlink.AttributeEncoder) {
				ae.Uint32(unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT, combined)
				ae.Uint32(unix.ETHTOOL_A_CHANNELS_RX_COUNT, more)
			})
		return err
	}
	t.Cleanup(func() { do(t, rx.NS, func() error { return set(4, 0) }) })
	l := listen(t, v4, 5170)
	for _, x := range [][2]uint32{{2, 3}, {4, 0}, {1, 1}} {
		do(t, rx.NS, func() error { return set(x[0], x[1]) })
		if got := queueNAPIs(t); len(got) != int(x[0]+x[1]) {
			t.Errorf("%v: %d RX queues", x, len(got))
		}
		awaitCarrier(t)
		transfer(t, l, 1<<20)
	}
}
