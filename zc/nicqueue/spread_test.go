// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"
)

func TestSpread(t *testing.T) {
	s := spread{mode: "zcrx", dev: "eth0", has: []int{0, 1, 2, 3},
		more: func(n string) string { return "ethtool -L eth0 combined " + n }}
	at := func(n int) *int { return &n }
	for name, x := range map[string]struct {
		first         *int
		queues, flows int
		want          []int
		why, fix      string
	}{
		"one flow":          {nil, 0, 1, []int{3}, "", ""},
		"each its own":      {nil, 0, 3, []int{1, 2, 3}, "", ""},
		"asked for":         {nil, 2, 2, []int{2, 3}, "", ""},
		"in turn":           {nil, 2, 5, []int{2, 3, 2, 3, 2}, "", ""},
		"all on one":        {at(2), 1, 4, []int{2, 2, 2, 2}, "", ""},
		"from the first on": {at(0), 3, 3, []int{0, 1, 2}, "", ""},
		"more than flows":   {at(1), 3, 2, []int{1, 2}, "", ""},
		"all": {nil, 0, 4, nil, "take 4 of its 4 RX queues, but at least one must be left",
			"ethtool -L eth0 combined 5; or use fewer: --queues, or --flows"},
		", but it has":    {nil, 9, 9, nil, "take 9 of its 4 RX queues", "combined 10"},
		"beyond the last": {at(3), 2, 2, nil, "take 2 RX queues from queue 3 on, but it has 4", "combined 5"},
		"not there":       {at(-1), 1, 1, nil, "from queue -1 on", ""},
	} {
		got, err := s.over(x.first, x.queues, x.flows)
		if !slices.Equal(got, x.want) || (err == nil) != (x.why == "") {
			t.Errorf("%s: %v, %v; want %v", name, got, err, x.want)
		}
		if err != nil && (!strings.Contains(err.Error(), x.why) || !strings.Contains(fault.Fix(err), x.fix)) {
			t.Errorf("%s: %v; fix: %s", name, err, fault.Fix(err))
		}
		if err != nil && !fault.IsBlocked(err) {
			t.Errorf("%s: what was asked for counts as a feature that is missing", name)
		}
	}
	// Of a leased queue only the first is named: the last queue may be that.
	for first, want := range map[int][]int{1: {1, 3, 2}, 3: {3, 2, 1}} {
		leased := s
		leased.alone = true
		if got, err := leased.over(&first, 3, 3); err != nil || !slices.Equal(got, want) {
			t.Errorf("leased %d: %v, %v; want %v", first, got, err, want)
		}
		if got, err := leased.over(&first, 4, 4); err == nil {
			t.Errorf("leased %d: all queues: %v", first, got)
		}
	}
	beyond := 4
	if got, err := (spread{has: s.has, more: s.more, alone: true}).over(&beyond, 1, 1); err == nil {
		t.Errorf("leased, and not there: %v", got)
	}
	if _, err := (spread{mode: "zcrx", dev: "eth0"}).over(nil, 0, 2); err == nil ||
		!strings.Contains(err.Error(), "shows no RX queues") || !strings.Contains(fault.Fix(err), "bring it up") {
		t.Errorf("an interface that is down: %v; fix: %s", err, fault.Fix(err))
	}
	one := spread{mode: "zcrx", dev: "eth0", has: []int{0}, more: s.more}
	if _, err := one.over(nil, 0, 1); err == nil || fault.Fix(err) != "make more queues: ethtool -L eth0 combined 2" {
		t.Errorf("an interface of one queue: %v; fix: %s", err, fault.Fix(err))
	}
}

func TestSpreadRefused(t *testing.T) {
	_, err := Spread(stream.Mode{Name: "zcrx"}, "no-such-if", nil, false, 0, 2)
	if u := (*fault.Unsupported)(nil); !errors.As(err, &u) ||
		!strings.Contains(err.Error(), "find interface no-such-if") {
		t.Error(err)
	}
}

// Queue 0 of gve is refused to modes that take it over, for which it would have to be stopped.
// Flows that are only steered may come by it.
func TestSpreadOverFirstOfGve(t *testing.T) {
	const name = "../../bench/doctor/testdata/records/softnic-gve.json"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	record, err := tape.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []stream.Mode{{Name: "takes", Role: stream.RX, Traits: stream.UsesNICQueue | stream.NeedsDev},
		{Name: "has-no-nic", Role: stream.RX, Traits: stream.UsesNICQueue}, {Name: "none", Role: stream.RX}} {
		refused := m.Name == "takes"
		var ids []int
		err := record.Replay(func() (err error) {
			ids, err = Spread(m, record.Dev, new(int), false, 1, 2)
			return err
		})
		if refused != (err != nil && strings.Contains(err.Error(), "gve refuses to stop queue 0")) || !refused &&
			!slices.Equal(ids, []int{0, 0}) {
			t.Errorf("%s: queues %v, %v", m.Name, ids, err)
		}
	}
}
