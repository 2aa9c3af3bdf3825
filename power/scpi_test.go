// SPDX-License-Identifier: MIT

package power

import (
	"strings"
	"testing"
)

// The item that is read is one of watts, and that of the only element, or the one that
// was named.
func TestSCPIItems(t *testing.T) {
	for name, c := range map[string]struct {
		items  map[string]string
		option string
		say    string
		doubt  bool
	}{
		"one element":    {map[string]string{"1": "U,1", "2": "I,1", "3": "P,1"}, "", "", false},
		"volts":          {map[string]string{"3": "U,1"}, "", "item 3 of the meter's list is U,1", false},
		"reactive power": {map[string]string{"3": "Q,1"}, "", "and not watts", false},
		"three elements": {map[string]string{"1": "P,1", "2": "P,2", "3": "P,3", "4": "P,SIGMA"}, "",
			"item 4 (P,SIGMA)", false},
		"one of three": {map[string]string{"1": "P,1", "2": "P,2", "3": "P,3", "4": "P,SIGMA"}, "?item=4", "",
			false},
		"the meter is quiet": {nil, "", "", true},
	} {
		srv := serveLines(t, "\n", func(line string) string {
			item, ok := strings.CutPrefix(line, ":NUMERIC:NORMAL:ITEM")
			item = strings.TrimSuffix(item, "?")
			switch {
			case ok && c.items == nil:
				return "0"
			case ok && c.items[item] == "":
				return ":NUM:NORM:ITEM" + item + " NONE"
			case ok:
				return ":NUM:NORM:ITEM" + item + " " + c.items[item]
			}
			return "230"
		})
		src, err := open(t, "scpi="+srv.addr+c.option)
		if c.say != "" {
			if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(fixOf(err), "item=") {
				t.Errorf("%s: %v, fix %q", name, err, fixOf(err))
			}
			continue
		}
		if err != nil || (len(src.Info().Doubts) > 0) != c.doubt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A line with the watts of several channels has none that is known to be meant.
func TestPTDaemonChannels(t *testing.T) {
	if w, err := parsePTDLine(
		"Time,01-22-2021 15:05:14.313,Watts,300,Volts,230,Ch1,Watts,200,Watts,100"); err == nil ||
		!strings.Contains(err.Error(), "channels") {
		t.Errorf("%v, %v", w, err)
	}
}
