// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

// A receive buffer is held where a turn has enough round trips to size it, by the shorter of the
// times that are known.
func TestEnoughTrips(t *testing.T) {
	for _, x := range []struct {
		opened, came uint64
		say          string
	}{
		{70, 8353, ""}, {70, 0, ""}, {0, 70, ""}, {1200, 8353, ""}, {8353, 70, ""},
		{1201, 1300, "a round trip of 1.201ms is too long for a turn of 24ms"},
		{100_000, 0, "too long"}, {0, 100_000, "too long"}, {0, 0, "not known"},
	} {
		info := counter.TCPInfo{Fields: []counter.TCPField{{Name: "rtt_us", Value: x.opened},
			{Name: "rcv_rtt_us", Value: x.came}}}
		err := enoughTrips(info, 24*time.Millisecond)
		if (err == nil) != (x.say == "") || err != nil && !strings.Contains(err.Error(), x.say) {
			t.Errorf("%+v: %v", x, err)
		}
	}
}
