// SPDX-License-Identifier: MIT

package nic

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/setting"
	"github.com/zcbench/zcbench/machine/veth"
)

func TestIRQAffinity(t *testing.T) {
	defer func(old string) { procRoot = old }(procRoot)
	procRoot = t.TempDir()
	path := filepath.Join(procRoot, "irq/55/smp_affinity_list")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("0-3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := IRQAffinity(55); err != nil || got != "0-3" {
		t.Errorf("%q, %v", got, err)
	}
	if err := setIRQAffinity(55, "2"); err != nil {
		t.Error(err)
	}
	if got, err := IRQAffinity(55); err != nil || got[:1] != "2" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := IRQAffinity(56); err == nil || err.(*fault.Error).Fix() == "" {
		t.Errorf("an interrupt that is not there: %v", err)
	}
}

// Settings that every kernel lets a virtual interface have, on the real loopback
// interface of a namespace of our own.
func TestIntegrationLinkSettings(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a network namespace")
	}
	inNewNetns(t, func() error {
		d, err := Open("lo")
		if err != nil {
			return err
		}
		defer d.Close()
		for name, value := range map[string]string{"mtu": "9000", "gso-max-size": "131072", "gro-max-size": "131072",
			"gso-ipv4-max-size": "70000", "gro-ipv4-max-size": "70000",
			"feature rx-gro": "off", "feature tx-tcp-segmentation": "off", "rps 0": "1"} {
			s, err := d.Setting(name)
			if err != nil {
				return err
			}
			before, err := s.Get()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if err := setting.Apply(s, "lo", value); err != nil {
				t.Errorf("%s to %s: %v", name, value, err)
			}
			if err := setting.Apply(s, "lo", before); err != nil {
				t.Errorf("%s back to %s: %v", name, before, err)
			}
		}
		cookie, err := d.Netns()
		if err == nil && cookie == 0 {
			t.Error("the namespace has no cookie")
		}
		return err
	})
}

// inNewNetns runs f in a network namespace that goes with it.
func inNewNetns(t *testing.T, f func() error) {
	t.Helper()
	ns, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := ns.Do(f); err != nil {
		t.Fatal(err)
	}
}

// RPS sends the packets of an interface's first queue to the CPUs that are named.
func TestIntegrationSteerByRPS(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a network namespace")
	}
	inNewNetns(t, func() error {
		if err := SteerByRPS("lo", 0); err != nil {
			return err
		}
		d, err := Open("lo")
		if err != nil {
			return err
		}
		defer d.Close()
		s, err := d.Setting("rps 0")
		if err != nil {
			return err
		}
		got, err := s.Get()
		if err == nil && got != "1" {
			t.Errorf("steered by %q", got)
		}
		if err := SteerByRPS("no-such", 0); err == nil {
			t.Error("an interface that is not there is steered")
		}
		return err
	})
}
