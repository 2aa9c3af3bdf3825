// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// Where the SUT and its agent are is known before any host is reached, or refused as wrong input.
func TestContainerOf(t *testing.T) {
	cell := func(lease string, mtu int) plan.Cell {
		return plan.Cell{RX: "zcrx", TX: "tcp", LeaseQueue: lease, MTU: mtu}
	}
	spec := func(host, dev string, cells ...plan.Cell) *matrix.Spec {
		return &matrix.Spec{SUT: matrix.End{Host: host, Dev: dev}, Cells: cells}
	}
	on := cell("eth0:3", 0)
	c, err := containerOf(spec("netns:ct", "nk0", on, on))
	if err != nil || c.netns != "/run/netns/ct" || c.agentHost() != "local" || c.setting() != (plan.Setting{
		Name: "netkit 3 nk0 /run/netns/ct", Value: "present"}) {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = containerOf(spec("netns:ct", "nk0", cell("netns:nic/eth0:3", 0)))
	if err != nil || c.agentHost() != "netns:nic" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := containerOf(spec("ssh:a", "", cell("", 0))); c != nil || err != nil {
		t.Errorf("without a lease: %+v, %v", c, err)
	}
	for want, s := range map[string]*matrix.Spec{
		"must be the same for all cells of a plan": spec("netns:ct", "nk0", on, cell("", 0)),
		"mtu must be the same":                     spec("netns:ct", "nk0", on, cell("eth0:3", 9000)),
		`not "ssh:a"`:                              spec("ssh:a", "nk0", on),
		"must be its network namespace":            spec("", "nk0", on),
		"name the interface that it has there":     spec("netns:ct", "", on),
		"the path of its network namespace":        spec("netns:./ct", "nk0", on),
		"that is the SUT's own network namespace":  spec("netns:ct", "nk0", cell("netns:ct/eth0:3", 0)),
	} {
		_, err := containerOf(s)
		if wrong := (*inputError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The lease is among what the SUT's host is to have set, its sysctls are the container's, and its
// receiver is there.
func TestContainerSettings(t *testing.T) {
	c := &container{lease: plan.Lease{Dev: "eth0", Queue: 3}, dev: "nk0", netns: "/run/netns/ct"}
	o := Options{SUTDev: "eth0", container: c}
	cell := plan.Cell{RX: "zcrx", TX: "tcp", LeaseQueue: "eth0:3"}
	sut, tg := settingsOf(o, cell)
	if !slices.Contains(sut.Values, c.setting()) || sut.Dev != "eth0" || sut.Inside != c.netns || sut.Check() != nil {
		t.Errorf("SUT: %+v, %v", sut, sut.Check())
	}
	if !tg.IsZero() || tg.Inside != "" {
		t.Errorf("TG: %+v", tg)
	}
	rx, tx := o.end(cell, stream.RX, "10.0.0.1:0"), o.end(cell, stream.TX, "10.0.0.1:1")
	if rx.Inside == nil || rx.Inside.Netns != c.netns || rx.Cell.Queue == nil || *rx.Cell.Queue != 3 ||
		tx.Inside != nil {
		t.Errorf("%+v, %+v", rx.Inside, tx.Inside)
	}
}

// Several flows have the leased queue, whichever it is. In turns a mode that takes no memory comes
// by another one, and both keep the same queues free of others.
func TestContainerQueues(t *testing.T) {
	for lease, beside := range map[int]int{7: 6, 3: 7} {
		cells := turning("zcrx", "tcp")
		for i := range cells {
			cells[i].Flows, cells[i].Queues, cells[i].LeaseQueue = 4, 1, fmt.Sprint("eth0:", lease)
		}
		o := Options{SUTDev: "eth0"}
		o.rxQueues[index(stream.RX)] = upTo(8)
		if parts := o.fitQueues(cells); len(parts) != 1 {
			t.Errorf("lease %d: %+v", lease, parts)
		}
		share := shareQueues(cells)
		for i, want := range []int{lease, beside} {
			o.beside = nil
			if got, err := o.flowQueues(cells[i]); err != nil || !slices.Equal(got, slices.Repeat([]int{lease}, 4)) {
				t.Errorf("lease %d, %s alone: %v, %v", lease, cells[i].RX, got, err)
			}
			o.beside = share[i]
			if got, err := o.flowQueues(cells[i]); err != nil || !slices.Equal(got, slices.Repeat([]int{want}, 4)) {
				t.Errorf("lease %d, %s in turns: %v, %v, want %d", lease, cells[i].RX, got, err, want)
			}
		}
	}
}

// An interface that is there already has an address of its own, and is of kind netkit.
func TestContainersOwnInterface(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces")
	}
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	there := &container{dev: p.SUT.Dev, netns: p.SUT.Netns.Path()}
	if err := there.look(); err == nil || !strings.Contains(err.Error(), "is of kind veth") {
		t.Errorf("veth: %v", err)
	}
	none := &container{dev: "nk0", netns: p.SUT.Netns.Path()}
	if err := none.look(); err != nil || none.addrs != nil {
		t.Errorf("none: %v, %v", none.addrs, err)
	}
	gone := &container{dev: "nk0", netns: "/run/netns/no-such"}
	if err := gone.look(); err == nil || !strings.Contains(err.Error(), "/run/netns/no-such") {
		t.Errorf("no namespace: %v", err)
	}
	own := &container{dev: "nk0", netns: "x", addrs: []string{"10.0.0.7", "fd00::7"}}
	for _, x := range []struct {
		given string
		ipv6  bool
		want  string
	}{{"", false, "10.0.0.7"}, {"", true, "fd00::7"}, {"fd00::7", false, "fd00::7"}, {"10.0.0.8", false, ""}} {
		if a, err := own.address(x.given, x.ipv6); a != x.want || (err == nil) != (x.want != "") {
			t.Errorf("%+v: %s, %v", x, a, err)
		}
	}
}
