// SPDX-License-Identifier: MIT

package modes

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
)

func TestEveryModeIsWhole(t *testing.T) {
	for _, m := range All {
		if got, err := Find(m.Role, m.Name); err != nil || got.Summary != m.Summary {
			t.Fatalf("%s %s: %+v, %v", m.Role, m.Name, got, err)
		}
		if m.Summary == "" || (m.NewReceiver != nil) == (m.NewSender != nil) ||
			(m.Role == stream.RX) != (m.NewReceiver != nil) {
			t.Errorf("%s %s: %+v", m.Role, m.Name, m)
		}
		if m.Has(stream.NeedsDev) && (m.ProbeDevice == nil || m.Has(stream.UsesNICQueue) && m.Role == stream.RX &&
			(m.ProbeProvider == nil || m.ProbeQueue == nil)) {
			t.Errorf("%s %s needs an interface, and cannot try one", m.Role, m.Name)
		}
		err := m.Support("")
		if u := (*fault.Unsupported)(nil); err != nil && (!errors.As(err, &u) || u.Mode != cmp.Or(m.SendsAs, m.Name) ||
			u.Fix() == "" || u.Reason() == "") {
			t.Errorf("%s %s: refused without mode, reason or fix: %v", m.Role, m.Name, err)
		}
	}
}

func TestUnknownModeListsTheNames(t *testing.T) {
	for _, c := range []struct {
		role stream.Role
		name string
	}{{stream.RX, "sendfile"}, {stream.TX, "zcrx"}, {stream.RX, ""}} {
		_, err := Find(c.role, c.name)
		if err == nil || !strings.Contains(err.Error(), strings.Join(Names(c.role), ", ")) {
			t.Errorf("%s %q: %v", c.role, c.name, err)
		}
	}
	if _, err := Find(stream.RX, "TCP"); err == nil || !strings.Contains(err.Error(), "did you mean tcp?") {
		t.Error(err)
	}
}

func TestModeNamesAreUnique(t *testing.T) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		names := Names(role)
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) || len(names) == 0 {
			t.Errorf("%s modes %q", role, names)
		}
	}
}

func TestProbesLeaveNothingBehind(t *testing.T) {
	for _, p := range All {
		p.Support("") // what the process makes once
		before := streamtest.Holding(t)
		for range 3 {
			p.Support("")
		}
		streamtest.NoMore(t, before, 8<<20)
	}
}

// Flows of all kinds can be opened.
func TestTransportOfEachKind(t *testing.T) {
	for _, m := range All {
		if Transports[m.Kind] == nil {
			t.Errorf("%s %s carries %v, and no transport opens such flows", m.Role, m.Name, m.Kind)
		}
	}
}

func TestEveryModeNameFits(t *testing.T) {
	for _, m := range All {
		b, err := stream.Hello{TXMode: m.Name, MessageBytes: 64 << 20, PeriodBytes: 251 * 4096,
			Duration: time.Second, Flows: 1}.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := stream.ParseHello(b); err != nil || got.TXMode != m.Name {
			t.Errorf("%s: %+v, %v", m.Name, got, err)
		}
	}
}
