// SPDX-License-Identifier: MIT

package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
)

// Which modes can have which way to encrypt, of all that there are: a new one is asked, too.
func TestEncryptionFits(t *testing.T) {
	fits := map[string]string{
		"ktls":    "rx tcp, rx uring, tx rr, tx sendfile, tx tcp, tx uring",
		"ktls-hw": "rx tcp, rx uring, tx sendfile, tx tcp, tx uring",
		"user":    "rx tcp, rx uring, rx zcrx, rx zcrx-nodev, tx rr, tx tcp, tx uring",
	}
	for tls, want := range fits {
		var got []string
		for _, m := range modes.All {
			c := Cell{RX: "tcp", TX: "tcp", TLS: tls}
			if m.Role == stream.RX {
				c.RX = m.Name
			} else {
				c.TX = m.Name
			}
			if !c.OneKind() || m.Kind != stream.Stream {
				continue
			}
			if no := CannotRun(&c, nil); no == nil {
				got = append(got, string(m.Role)+" "+m.Name)
			} else if !strings.HasPrefix(no.Reason, "tls "+tls+": ") || !strings.Contains(no.Reason, "use ") {
				t.Errorf("%s with %s: %s", tls, m.Name, no.Reason)
			}
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s; want %s", tls, s, want)
		}
	}
	for c, want := range map[Cell]string{
		{RX: "tcp", TX: "crr", TLS: "user"}:  "handshake",
		{RX: "udp", TX: "udp", TLS: "ktls"}:  "it applies to",
		{RX: "tcp", TX: "tcp", TLS: "tls13"}: "not one of none, ktls, ktls-hw, user",
		{RX: "zcrx", TX: "tcp", TLS: "user", Flows: 2, Queues: 1, QueueRings: 2,
			RingsIn: RingsProcesses}: "keep the rings in threads",
	} {
		if no := CannotRun(&c, nil); no == nil || !strings.Contains(no.Reason, want) {
			t.Errorf("%+v: %+v; want %q", c, no, want)
		}
	}
}

// The NIC's features are set where it is to encrypt, each at its end, and cells take turns with
// others but for that.
func TestEncryptionSets(t *testing.T) {
	text := func(role stream.Role, c Cell) string {
		var all []string
		for _, x := range SettingsOf(role, c, nil).Values {
			all = append(all, x.Name+"="+x.Value)
		}
		return strings.Join(all, " ")
	}
	hw := Cell{RX: "tcp", TX: "tcp", TLS: "ktls-hw"}
	both := hw
	both.Both = new(true)
	const rx, tx = "feature tls-hw-rx-offload=on", "feature tls-hw-tx-offload=on"
	if got := text(stream.RX, hw) + ", " + text(stream.TX, hw); got != rx+", "+tx {
		t.Error(got)
	}
	if got := text(stream.RX, both) + ", " + text(stream.TX, both); got != rx+" "+tx+", "+rx+" "+tx {
		t.Error(got)
	}
	cells := []Cell{{RX: "tcp", TX: "tcp"}, {RX: "tcp", TX: "tcp", TLS: "ktls"}, {RX: "tcp", TX: "tcp", TLS: "user"},
		hw}
	if got := text(stream.RX, cells[1]) + text(stream.TX, cells[2]); got != "" {
		t.Error(got)
	}
	if groups := TurnGroups(cells); len(groups) != 2 || len(groups[0]) != 3 {
		t.Errorf("%v", groups)
	}
}
