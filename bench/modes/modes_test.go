// SPDX-License-Identifier: MIT

package modes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
)

func TestEveryModeResolves(t *testing.T) {
	all := All()
	if len(all) != len(stream.Modes) {
		t.Fatalf("%d paths for %d modes", len(all), len(stream.Modes))
	}
	for i, m := range stream.Modes {
		p, err := Find(m.Role, m.Name)
		if err != nil || p.Mode != m || all[i].Mode != m {
			t.Fatalf("%s %s: %+v, %v", m.Role, m.Name, p.Mode, err)
		}
		built := p.NewReceiver != nil || p.NewSender != nil
		if p.Probe == nil || m.Summary == "" || p.NewReceiver != nil && p.NewSender != nil {
			t.Errorf("%s %s: %+v", m.Role, m.Name, p)
		}
		if built && (m.Role == stream.RX) != (p.NewReceiver != nil) {
			t.Errorf("%s %s has the code of the other role", m.Role, m.Name)
		}
		err = p.Probe()
		if u := (*fault.Unsupported)(nil); err != nil && (!errors.As(err, &u) || u.Mode != m.Name || u.Fix() == "" || u.Reason() == "") {
			t.Errorf("%s %s: refused without mode, reason or fix: %v", m.Role, m.Name, err)
		}
		if !built && err == nil {
			t.Errorf("%s %s has no code but is said to run", m.Role, m.Name)
		}
	}
}

// A path whose name is not in the list of modes would never be found.
func TestEveryPathHasAMode(t *testing.T) {
	for role, byName := range paths {
		for name := range byName {
			if _, err := stream.LookupMode(role, name); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestUnknownModeListsTheNames(t *testing.T) {
	for _, c := range []struct {
		role stream.Role
		name string
	}{{stream.RX, "sendfile"}, {stream.TX, "zcrx"}, {stream.RX, ""}, {stream.RX, "TCP"}} {
		_, err := Find(c.role, c.name)
		if err == nil || !strings.Contains(err.Error(), strings.Join(stream.Names(c.role), ", ")) {
			t.Errorf("%s %q: %v", c.role, c.name, err)
		}
	}
}

func TestModeNamesAreUnique(t *testing.T) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		names := stream.Names(role)
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) || len(names) == 0 {
			t.Errorf("%s modes %q", role, names)
		}
	}
}

func TestProbesLeaveNothingBehind(t *testing.T) {
	for _, p := range All() {
		p.Probe() // what the process makes once
		before := streamtest.Holding(t)
		for range 3 {
			p.Probe()
		}
		streamtest.NoMore(t, before, 8<<20)
	}
}
