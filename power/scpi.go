// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/lazy"
)

var scpiKind = sourceKind{summary: "power meter that speaks SCPI over TCP (Yokogawa WT)",
	example: "scpi=meter:10001?item=3",
	options: []string{"item"},
	reaches: asks(func(s Spec) string { return withPort(s.Target, scpiPort) }),
	check: func(s Spec) error {
		if _, err := scpiItem(s); err != nil {
			return err
		}
		return needAddress("the meter's address and port")(s)
	},
	open: func(s Spec) (Source, error) { return openSCPI(s) }}

// scpiPort is a common port for SCPI over a plain socket.
const scpiPort = "5025"

// scpi reads one item of a Yokogawa WT's numeric list, ":NUMERIC:NORMAL:VALUE? 3":
// in the list that the instrument starts with, items 1, 2 and 3 are volts,
// amperes and watts of element 1.
type scpi struct {
	info  info
	line  lineClient
	query string
}

func scpiItem(s Spec) (int, error) {
	text := s.Options.Get("item")
	if text == "" {
		return 3, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 255 {
		return 0, fmt.Errorf("item %q: must be 1..255, the place of the watts in the meter's numeric list", text)
	}
	return n, nil
}

func openSCPI(s Spec) (*scpi, error) {
	item, err := scpiItem(s)
	if err != nil {
		return nil, err
	}
	m := &scpi{query: fmt.Sprintf(":NUMERIC:NORMAL:VALUE? %d", item),
		info: info{Name: s.String(), Scope: ScopeWall, MinInterval: 100 * time.Millisecond,
			Averages: s.averages(), Uncertainty: s.declared(math.NaN()),
			Channels: []channel{{Name: "wall", Kind: power, Scope: ScopeWall}}}}
	m.line = lineClient{addr: withPort(s.Target, scpiPort), ending: "\n"}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	name, err := m.line.ask(ctx, "*IDN?")
	if err != nil {
		return nil, err
	}
	m.info.Device = shortened(name, mostName)
	if err := m.checkItem(ctx, item, s.Options.Has("item")); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// itemTime is how long a meter has to say what an item is. One that does not know the
// question says nothing.
const itemTime = time.Second

// mostItems is how many items of a meter's list are looked at.
const mostItems = 32

// checkItem asks what the item is: the list can be set at the meter, and that of one with
// several elements has the watts of each. A meter that does not say is believed, in doubt.
func (m *scpi) checkItem(ctx context.Context, item int, named bool) error {
	what, ok := m.itemIs(ctx, item)
	switch {
	case !ok:
		m.info.Doubts = []string{fmt.Sprintf("the meter does not say what item %d of its list is", item)}
		return nil
	case !isWatts(what):
		return &unavailable{fmt.Sprintf("item %d of the meter's list is %s, and not watts (P)", item,
			short(what)),
			"name the item that is P with item=N, or set the list at the meter: :NUMERIC:NORMAL:ITEM" +
				strconv.Itoa(item) + " P,1"}
	}
	m.info.Device += ", " + short(what)
	if named {
		return nil
	}
	var watts []string
	for i := 1; i <= mostItems; i++ {
		w, ok := m.itemIs(ctx, i)
		if !ok {
			break
		}
		if isWatts(w) {
			watts = append(watts, fmt.Sprintf("item %d (%s)", i, short(w)))
		}
	}
	if len(watts) > 1 {
		return &unavailable{"the meter has the watts of several elements: " + listed(watts),
			fmt.Sprintf("name one: scpi=ADDRESS?item=%d; SIGMA is their sum", item)}
	}
	return nil
}

var scpiItemForm = lazy.Regexp(`(?i)(?:^|:)(?:item|ite)(\d+)\s+([a-z][a-z0-9]*(?:,\s*\w+)*)$`)

// itemIs asks what an item of the list is, such as "P,1"; not ok where the meter's answer does not
// say.
func (m *scpi) itemIs(ctx context.Context, item int) (what string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, itemTime)
	defer cancel()
	answer, err := m.line.ask(ctx, fmt.Sprintf(":NUMERIC:NORMAL:ITEM%d?", item))
	if err != nil {
		return "", false
	}
	f := scpiItemForm().FindStringSubmatch(strings.TrimSpace(answer))
	if f == nil || f[1] != strconv.Itoa(item) {
		return "", false
	}
	return f[2], true
}

// isWatts reports whether an item is active power.
func isWatts(what string) bool {
	function, _, _ := strings.Cut(what, ",")
	return strings.EqualFold(function, "P")
}

func (m *scpi) Info() info { return m.info }

func (m *scpi) Read(ctx context.Context, v []int64) error {
	answer, err := m.line.ask(ctx, m.query)
	if err != nil {
		return err
	}
	w, err := parseNR3(answer)
	if err != nil {
		m.line.drop() // it may be out of step
		return err
	}
	v[0], err = micro(w)
	return err
}

// parseNR3 reads an IEEE 488.2 number. 9.91E+37 and NAN are no data, 9.9E+37
// and INF out of range.
func parseNR3(s string) (float64, error) {
	s = strings.TrimSpace(s)
	w, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the meter says %q, which is not a number", short(s))
	case math.IsNaN(w), w >= 9.9e37:
		return 0, errNoReading
	}
	return w, nil
}

func (m *scpi) Close() error {
	m.line.drop()
	return nil
}
