// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var scpiKind = sourceKind{summary: "power meter that speaks SCPI over TCP (Yokogawa WT)", example: "scpi=meter:10001?item=3",
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
	info  Info
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
		info: Info{Name: s.String(), Scope: ScopeWall, MinInterval: 100 * time.Millisecond, Uncertainty: s.declared(math.NaN()),
			Channels: []Channel{{Name: "wall", Kind: Power, Scope: ScopeWall}}}}
	m.line = lineClient{addr: withPort(s.Target, scpiPort), ending: "\n"}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	name, err := m.line.ask(ctx, "*IDN?")
	if err != nil {
		return nil, err
	}
	m.info.Device = shortened(name, mostName)
	return m, nil
}

func (m *scpi) Info() Info { return m.info }

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
