// SPDX-License-Identifier: MIT

package softnictest

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// insertion is a rule to be put at a place.
func insertion(r rule, place uint32) func() error {
	return func() error {
		_, err := r.insertAt(rx.Dev, place)
		return err
	}
}

// The user picks a rule's place. All rules for one kind of flow have the same fields, and the same
// rule again is refused but in its own place, for another queue.
func TestLabImitatedIceRules(t *testing.T) {
	imitates(t, "ice")
	const place = 5
	port := rule{port: 5100, queue: 2}
	port.at(t, place)
	other := rule{port: 5100, queue: 1}
	errnos(t, map[string]func() error{
		"read none":               func() error { _, err := readRule(rx.Dev, 6); return err },
		"delete none":             func() error { return deleteRule(rx.Dev, 6) },
		"any place":               insertion(rule{port: 5101}, anyPlace),
		"a place too many":        insertion(rule{port: 5101}, 64),
		"other fields":            insertion(rule{dst: v4.addr(), port: 5101}, 6),
		"other fields, its place": insertion(rule{dst: v4.addr(), port: 5101}, place),
		"twice":                   insertion(other, 6),
		"twice, its place":        insertion(port, place),
		"a context":               insertion(rule{port: 5101, context: 1}, 6),
		"a queue too many":        insertion(rule{port: 5101, queue: 4}, 6),
		"of another kind of flow": insertion(rule{dst: v6.addr(), port: 5101}, 7),
	}, map[string]error{
		"read none": unix.EINVAL, "delete none": unix.ENOENT, "any place": unix.ENOSPC, "a place too many": unix.ENOSPC,
		"other fields": unix.EINVAL, "other fields, its place": unix.EINVAL, "twice": unix.EINVAL,
		"twice, its place": unix.EINVAL,
		"a context":        unix.EINVAL, "a queue too many": unix.EINVAL,
	})
	do(t, rx.NS, insertion(other, place))
	do(t, rx.NS, func() error {
		all, table, err := rules(rx.Dev)
		if !slices.Equal(all, []uint32{place, 7}) || table != 64 {
			t.Errorf("rules at %v of a table of %#x", all, table)
		}
		return errors.Join(err, deleteRule(rx.Dev, 7))
	})
	c := count(t)
	transfer(t, listen(t, v4, port.port), 1<<20)
	onlyQueue(t, c, int(other.queue), 1<<20)
}

// Without ntuple there are no rules, and those that were there are gone.
func TestLabImitatedIceRulesWithoutNTuple(t *testing.T) {
	imitates(t, "ice")
	ntuple := func(on bool) func() error {
		return func() error { return setFeature(rx.Dev, "rx-ntuple-filter", on) }
	}
	r := rule{port: 5102, queue: 2}
	do(t, rx.NS, insertion(r, 1))
	do(t, rx.NS, ntuple(false))
	t.Cleanup(func() { do(t, rx.NS, ntuple(true)) })
	do(t, rx.NS, func() error {
		if err := insertion(r, 1)(); !errors.Is(err, unix.EOPNOTSUPP) {
			t.Error(err)
		}
		all, _, err := rules(rx.Dev)
		if len(all) > 0 {
			t.Errorf("rules at %v", all)
		}
		return err
	})
}

// No number of channels is changed while there is a rule, and the caller gets no word of it.
func TestLabImitatedIceChannels(t *testing.T) {
	imitates(t, "ice")
	do(t, rx.NS, func() error {
		if err := insertion(rule{port: 5103, queue: 1}, 0)(); err != nil {
			return err
		}
		if err := setChannels(rx.Dev, 3); !errors.Is(err, unix.EOPNOTSUPP) {
			t.Error(err)
		}
		return errors.Join(deleteRule(rx.Dev, 0), setChannels(rx.Dev, 3), setChannels(rx.Dev, 4))
	})
	if !carrier(t) {
		t.Error("it has no carrier when the call is done")
	}
}

// Sizes of rings are rounded up to multiples of 32; changes restart all queues within the call.
func TestLabImitatedIceRings(t *testing.T) {
	imitates(t, "ice")
	was := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) })
	if was.RX != 2048 || was.TX != 256 || was.Split != splitOff {
		t.Errorf("at first: %+v", was)
	}
	set := func(r rings) func() error { return func() error { return setRings(rx.Dev, r) } }
	errnos(t, map[string]func() error{"too few": set(rings{RX: 63}), "too many": set(rings{TX: 8161})},
		map[string]error{"too few": unix.EINVAL, "too many": unix.EINVAL})
	c := count(t)
	do(t, rx.NS, set(rings{RX: was.RX - 1}))
	if n := c.grown("rx0_stops"); n != 0 {
		t.Errorf("what is rounded up to what there is stopped queue 0 %d times", n)
	}
	do(t, rx.NS, set(rings{RX: 1000, TX: 97, Split: splitOn}))
	now := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) })
	if now.RX != 1024 || now.TX != 128 || now.Split != splitOn || now.Threshold != 0 || !carrier(t) ||
		c.grown("rx0_stops") != 1 {
		t.Errorf("%+v, carrier %v, queue 0 stopped %d times", now, carrier(t), c.grown("rx0_stops"))
	}
	c = count(t)
	transfer(t, listen(t, v4, 5104), 1<<20)
	if c.sum("split_packets") == 0 {
		t.Error("no packet was split")
	}
	do(t, rx.NS, set(was))
}

// While rx-hashing is off the table is, and reads, all zeros, and then is as the user has set it.
func TestLabImitatedIceRSS(t *testing.T) {
	imitates(t, "ice")
	hash := func(on bool) func() error {
		return func() error { return setFeature(rx.Dev, "rx-hashing", on) }
	}
	table := func() []uint32 {
		all := in(t, rx.NS, func() ([]uint32, error) { return getRSS(rx.Dev) })
		slices.Sort(all)
		return slices.Compact(all)
	}
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRSS(rx.Dev) }) })
	for i, x := range []struct {
		set  func() error
		want []uint32
	}{
		{hash(false), []uint32{0}},
		{hash(true), []uint32{0, 1, 2, 3}},
		{func() error { return setRSS(rx.Dev, 1, 3) }, []uint32{1, 3}},
		{hash(false), []uint32{0}},
		{hash(true), []uint32{1, 3}},
	} {
		do(t, rx.NS, x.set)
		if got := table(); !slices.Equal(got, x.want) {
			t.Errorf("step %d: queues %v, want %v", i, got, x.want)
		}
	}
}

// ice has no queue operations.
func TestLabImitatedIceBind(t *testing.T) {
	imitates(t, "ice")
	split(t, splitOn)
	if _, err := bindRX(t, newUdmabuf(t, devmemSize), boundQueue); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("%v, want EOPNOTSUPP", err)
	}
}
