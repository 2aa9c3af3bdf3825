// SPDX-License-Identifier: MIT

package nic

import (
	"net/netip"
	"strings"
	"testing"
)

// A rule for the same packets is told from one for others, and by what it does with them.
func TestSameMatch(t *testing.T) {
	at := netip.MustParseAddrPort
	four, six := spec(at("10.0.0.1:1"), at("10.0.0.2:2")), spec(at("[fd00::1]:1"), at("[fd00::2]:2"))
	change := func(s flowSpec, f func(*flowSpec)) flowSpec { f(&s); return s }
	for name, c := range map[string]struct {
		a, b flowSpec
		same bool
		does string
	}{
		"itself": {change(four, func(s *flowSpec) { s.cookie, s.location = 3, 7 }), four, true,
			"to RX queue 3"},
		"itself, IPv6":       {six, six, true, "to RX queue 0"},
		"of a context":       {change(four, func(s *flowSpec) { s.flowType |= flowRSS }), four, true, "RSS context"},
		"of a context, IPv6": {change(six, func(s *flowSpec) { s.flowType |= flowRSS }), six, true, "RSS context"},
		"that drops":         {change(four, func(s *flowSpec) { s.cookie = ruleDiscards }), four, true, "drops it"},
		"of a function":      {change(four, func(s *flowSpec) { s.cookie = 1 << 32 }), four, true, "elsewhere"},
		"another port":       {spec(at("10.0.0.1:1"), at("10.0.0.2:3")), four, false, "to RX queue 0"},
		"another address":    {spec(at("[fd00::1]:1"), at("[fd00::3]:2")), six, false, "to RX queue 0"},
		"the other family":   {six, four, false, "to RX queue 0"},
		"of any port":        {change(four, func(s *flowSpec) { s.mask[11] = 0 }), four, false, "to RX queue 0"},
		"with a MAC address": {change(four, func(s *flowSpec) { s.flowType |= 0x40000000 }), four, false,
			"to RX queue 0"},
		"mapped": {spec(at("[::ffff:10.0.0.1]:1"), at("[::ffff:10.0.0.2]:2")), four, true, "to RX queue 0"},
	} {
		if got := c.a.sameMatch(c.b); got != c.same || !strings.Contains(c.a.does(), c.does) {
			t.Errorf("%s: %v, %s; want %v, %s", name, got, c.a.does(), c.same, c.does)
		}
	}
}
