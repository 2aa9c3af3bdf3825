// SPDX-License-Identifier: MIT

package survey_test

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/survey"
)

// A NIC with rings, channels, coalescing and header split shows them, and a ring that is set is
// the fact that differs. Its address is not in it.
func TestLabNIC(t *testing.T) {
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest: go test -exec "$PWD/bin/zcbench lab exec --" ./machine/survey`)
	}
	e := guest.Ends[0]
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // ends with the goroutine: it is in another namespace
		leave, err := guest.Enter(e.NS)
		if err == nil {
			defer leave()
			err = ofNIC(t, e.Dev)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func ofNIC(t *testing.T, dev string) error {
	devs := survey.Devs{Port: dev}
	before := survey.Whole(survey.FS{}, devs)
	for _, name := range []string{"nic/driver", "nic/ring rx", "nic/ring tx", "nic/channels", "nic/header split",
		"nic/feature rx-gro", "nic/MTU", "nic/RSS", "nic/steering rules",
		"sysctl/net.ipv4.conf.DEV.rp_filter", "sysctl/net.ipv4.tcp_rmem", "boot/id", "kernel/command line"} {
		if v, ok := before.Value(name); !ok {
			t.Errorf("no %s", name)
		} else {
			t.Logf("%s: %s", name, v)
		}
	}
	d, err := nic.Open(dev)
	if err != nil {
		return err
	}
	defer d.Close()
	rings, err := d.Rings()
	if err != nil {
		return err
	}
	if err := d.SetRing("rx", rings.RX/2); err != nil {
		return err
	}
	after := before.Now(survey.Live(survey.FS{}, devs))
	if err := d.SetRing("rx", rings.RX); err != nil {
		return err
	}
	if all := survey.Diff(before, after); len(all) != 1 || all[0].Name != "nic/ring rx" {
		for _, x := range all {
			t.Errorf("differs: %s", x.Name)
		}
	}
	i, err := net.InterfaceByName(dev)
	if err == nil && strings.Contains(string(before.Encode()), i.HardwareAddr.String()) {
		t.Errorf("the address %v is in it", i.HardwareAddr)
	}
	return err
}
