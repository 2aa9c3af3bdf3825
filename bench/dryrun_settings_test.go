// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// The dry run names every setting of both hosts, and every program, with the hosts or
// without them.
func TestDryRunOfSettings(t *testing.T) {
	e := experiment(t, `
name: everything
sut:
  host: ssh:root@sut
  dev: eth0
  queue: 2
  layouts: {1cpu: {app: 4, irq: 4}, 2cpu: {app: 5, irq: 4}}
  settings: {rx_ring: 4096, tx_ring: 1024, hugepages: 512, governor: performance, sysctl: {net.ipv4.tcp_rmem: 4096 87380  6291456, vm.max_map_count: 524240}}
tg:
  host: ssh+sudo:tg
  layouts: {1cpu: {app: 1, irq: 1}}
  settings: {rx_ring: 512, sysctl: {net.core.wmem_max: 1000000}}
factors: {rx: [tcp, zcrx], tx: tcp, gro: true, hw_gro: [true, false], big_tcp: 131072, tg_big_tcp: off, mtu: [1500, 4148], cpu_layout: [1cpu, 2cpu]}
`)
	secret, err := power.ParseSpec("command=/opt/curl -u admin:SECRET http://pdu")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	p := preview{spec: e.Spec, missing: func(results.Cell) *Missing { return nil }, power: PowerOptions{Sources: []power.Spec{secret}}}
	p.settings(&b)
	p.programs(&b)
	want := `
set on the hosts for the runs, and restored
  SUT:
    eth0: feature rx-gro = on
    eth0: feature rx-gro-hw = on | off
    eth0: gso-max-size = 131072
    eth0: gro-max-size = 131072
    eth0: gso-ipv4-max-size = 131072
    eth0: gro-ipv4-max-size = 131072
    eth0: mtu = 1500 | 4148
    eth0: ring rx = 4096
    eth0: ring tx = 1024
    sysctl net.ipv4.tcp_rmem = 4096 87380  6291456
    sysctl vm.max_map_count = 524240
    sysctl vm.nr_hugepages = 512
    governor of every CPU = performance
    eth0: rss = without queue 2
    eth0: feature rx-ntuple-filter = on
    eth0: rule = the flow to queue 2
    eth0: interrupt or rps of all queues = 1cpu: CPU 4 | 2cpu: CPU 4
    eth0: header-split = tcp-data-split on   (8 of 16 cells)
  TG:
    interface: gso-max-size = 65536
    interface: gro-max-size = 65536
    interface: gso-ipv4-max-size = 65536
    interface: gro-ipv4-max-size = 65536
    interface: mtu = 1500 | 4148
    interface: ring rx = 512
    sysctl net.core.wmem_max = 1000000
    interface: interrupt or rps of all queues = 1cpu: CPU 1 | 2cpu: chosen near the interface

programs to be started
  SUT: ssh root@sut, and zcbench's own agent there as that user
  TG: ssh tg, and zcbench's own agent there by sudo
  power: command=curl#XXXX, with the arguments that --power gives
`
	got := regexp.MustCompile(`curl#[0-9a-f]+`).ReplaceAllString(b.String(), "curl#XXXX")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if strings.Contains(got, "SECRET") {
		t.Error("the dry run tells a secret")
	}
}

// What the machine has once is set by one end. A plan that sets nothing says so.
func TestDryRunOfOneMachine(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\ntg: {settings: {hugepages: 5, governor: performance, sysctl: {net.ipv4.tcp_sack: 0}}}\n")
	var b bytes.Buffer
	preview{spec: e.Spec, missing: func(results.Cell) *Missing { return nil }, oneMachine: true}.settings(&b)
	if want := "\nset on the hosts for the runs, and restored\n  SUT: nothing\n  TG:\n    sysctl net.ipv4.tcp_sack = 0\n"; b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// What the agents really set is what the dry run said.
func TestIntegrationDryRunOfSettings(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem], tx: tcp,", "rx: tcp, tx: tcp, mtu: 4148, gro: false, cpu_layout: 2cpu,", 1)+
		"warmup: false\nsut: {settings: {sysctl: {net.ipv4.tcp_sack: 0}}}\n")
	var b bytes.Buffer
	if err := e.DryRun(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"zcsut: mtu = 4148\n", "zcsut: feature rx-gro = off\n", "    sysctl net.ipv4.tcp_sack = 0\n", "zcsut: interrupt or rps of all queues = 2cpu: CPU ", "zctg: mtu = 4148\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// The plan of the shipped reference experiment can be read without its hosts.
func TestDryRunOfTheReference(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "experiments", "battle-of-the-zcs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e := experiment(t, string(text))
	e.Spec.SUT.Host, e.Spec.TG.Host = "netns:zcbench-no-such", "netns:zcbench-no-such"
	var b bytes.Buffer
	if err := e.DryRun(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"could not ask the hosts what they can run:", "sysctl net.core.optmem_max = 4194304", "sysctl vm.nr_hugepages = 16384", "eth0: ring tx = 4096", "eth0: mtu = 4148"} {
		if n := strings.Count(b.String(), want); n < 1 {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// A cell's name begins no line of its own: it would pass for a section.
func TestDryRunOfForgedNames(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\n")
	e.Spec.Cells[0].ID = "tcp/tcp\n\nset on the hosts for the runs, and restored\n  SUT: nothing\x1b[8m"
	var b bytes.Buffer
	p := preview{spec: e.Spec, missing: func(results.Cell) *Missing { return nil }}
	p.cells(&b)
	if lines := strings.Split(strings.Trim(b.String(), "\n"), "\n"); len(lines) != 2 || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", lines)
	}
}
