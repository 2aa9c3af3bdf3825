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

	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
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
	p := preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil },
		power: PowerOptions{Sources: []power.Spec{secret}}}
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
    eth0: receive softirq, by interrupts or RPS = CPU 4 (1cpu) | CPU 4 (2cpu)
    eth0: header-split = tcp-data-split on   (8 of 16 cells)
  TG:
    interface: gso-max-size = 65536
    interface: gro-max-size = 65536
    interface: gso-ipv4-max-size = 65536
    interface: gro-ipv4-max-size = 65536
    interface: mtu = 1500 | 4148
    interface: ring rx = 512
    sysctl net.core.wmem_max = 1000000
    interface: receive softirq, by interrupts or RPS = CPU 1 (1cpu) | chosen near the interface (2cpu)

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

// Without the hosts the dry run has the TG's layout as runs have it, as far as the hosts' names
// tell: on one machine one CPU, over loopback as found, unless the TG has a layout of its own.
func TestDryRunOfTGLayout(t *testing.T) {
	for _, x := range []struct{ sut, tg, layout, want string }{
		{"", "", "cpu_layout: 2cpu", "CPU 1 (1cpu)"},
		{"", "", "cpu_layout: 2cpu, tg_cpu_layout: 2cpu", "CPU 3 (2cpu)"},
		{"netns:a", "netns:b", "cpu_layout: 2cpu", "CPU 1 (1cpu)"},
		{"netns:a", "local", "cpu_layout: 2cpu", "CPU 1 (1cpu)"},
		{"netns:a", "netns:a", "cpu_layout: 2cpu", ""},
		{"local", "local", "cpu_layout: 1cpu", ""},
		{"ssh:a", "ssh:a", "cpu_layout: 2cpu", "CPU 3 (2cpu)"}, // two names may be one machine, and one two
		{"local", "ssh:a", "cpu_layout: 2cpu", "CPU 3 (2cpu)"},
	} {
		hosts := func(name, layout string) string {
			if name == "" {
				return layout
			}
			return "host: '" + name + "', " + layout
		}
		e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp, "+x.layout+"}\nsut: {"+
			hosts(x.sut, "layouts: {1cpu: {app: 5, irq: 5}, 2cpu: {app: 5, irq: 4}}")+
			"}\ntg: {"+hosts(x.tg, "layouts: {1cpu: {app: 1, irq: 1}, 2cpu: {app: 1, irq: 3}}")+"}\n")
		p := preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }}
		p.oneMachine, p.loopback = nearby(e.Spec.SUT.Host, e.Spec.TG.Host)
		var b bytes.Buffer
		p.settings(&b)
		_, tg, _ := strings.Cut(b.String(), "TG:")
		if _, got, _ := strings.Cut(strings.TrimSpace(tg), "by interrupts or RPS = "); got != x.want {
			t.Errorf("%q and %q, %s: %q, want %q in\n%s", x.sut, x.tg, x.layout, got, x.want, &b)
		}
	}
}

// Of several flows the dry run says which queues they come by, by what rules, and which CPU each
// queue has, with the numbers that are known: those of the NIC, or those that were asked for.
func TestDryRunOfSeveralFlows(t *testing.T) {
	for name, x := range map[string]struct {
		factors string
		queues  []int // of the NIC
		want    []string
	}{
		"one flow": {"rx: zcrx", []int{0, 1, 2, 3}, []string{"eth0: rss = without queue 3\n",
			"eth0: rule = the flow to queue 3\n"}},
		"a queue each": {"rx: devmem, flows: 2", []int{0, 1, 2, 3},
			[]string{"eth0: rss = without queues 2-3\n",
				"eth0: rule = an ntuple rule for each of 2 flows: flow 0 to queue 2, flow 1 to queue 3\n"}},
		"two queues": {"rx: zcrx, flows: 4, queues: 2, cpu_layout: 2cpu", []int{0, 1, 2, 3},
			[]string{"eth0: rss = without queues 2-3\n",
				"rule = an ntuple rule for each of 4 flows: flow 0 to queue 2, flow 1 to queue 3, flow 2 to queue 2, " +
					"flow 3 to queue 3\n",
				"eth0: receive softirq, by interrupts or RPS = CPUs 12,14 (2cpu): queue 2 to CPU 14, queue 3 to " +
					"CPU 12, " +
					"others in turn\n",
				"SUT: 4 flows: 2 threads, one for each RX queue, on CPUs 13,15\n",
				"TG: 4 flows: a thread each, on CPUs 9,11,13,15\n"}},
		"steered": {"rx: tcp, flows: 2, queues: 2, cpu_layout: 1cpu", []int{0, 1, 2, 3},
			[]string{"rule = an ntuple rule for each of 2 flows: flow 0 to queue 2, flow 1 to queue 3\n",
				"= CPUs 14-15 (1cpu): queue 2 to CPU 15, queue 3 to CPU 14, others in turn\n",
				"SUT: 2 flows: a thread each, on CPUs 14-15\n"}},
		"by the first": {"rx: tcp, flows: 3, queues: 2, queue: 1", nil, []string{"without queues 1-2\n",
			"flow 0 to queue 1, flow 1 to queue 2, flow 2 to queue 1\n"}},
		"by one": {"rx: tcp, flows: 3, queue: 1", nil,
			[]string{"without queue 1\n", "for each of 3 flows: all to queue 1\n"}},
		"not known": {"rx: zcrx, flows: 4, queues: 2", nil,
			[]string{"without the last 2 queues, whose numbers are looked up for each run\n",
				"an ntuple rule for each of 4 flows: flow n to number n mod 2 of these\n"}},
		"channels": {"rx: zcrx, flows: 2, channels: 8", []int{0, 1},
			[]string{"eth0: channels = ", "without queues 6-7\n"}},
		"many": {"rx: zcrx, flows: 12, queues: 3", []int{0, 1, 2, 3}, []string{"without queues 1-3\n",
			"for each of 12 flows: flow n to queue 1 + n mod 3\n",
			"SUT: 12 flows: 3 threads, one for each RX queue, on CPUs 13-15\n"}},
		"a control": {"rx: zcrx, flows: 2, control: wrong-queue", []int{0, 1, 2, 3},
			[]string{"for each of 2 flows: flow 0 to queue 2, but flow 1 to another queue, on purpose (control)\n"}},
		"by port": {"rx: tcp, flows: 3, queues: 2, steer: port", []int{0, 1, 2, 3},
			[]string{"without queues 2-3\n", "eth0: rss-context = over queues 2-3\n",
				"eth0: rule = one for all TCP flows to the data port: 3, into that context\n"}},
		"by port, a queue each": {"rx: tcp, flows: 3, steer: port", []int{0, 1, 2, 3},
			[]string{"eth0: rss-context = over queues 1-3\n"}},
		"one by port": {"rx: devmem, steer: port", []int{0, 1, 2, 3},
			[]string{"eth0: rss-context = over queue 3\n", "flows to the data port: 1, into that context\n"}},
		"by port, a control": {"rx: zcrx, flows: 2, steer: port, control: wrong-queue", []int{0, 1, 2, 3},
			[]string{"eth0: rss-context = over another queue, on purpose (control)\n"}},
		"as found": {"rx: tcp, flows: 2", []int{0, 1, 2, 3},
			[]string{"  SUT: nothing\n", "SUT: 2 flows: a thread each"}},
		"not enough": {"rx: zcrx, flows: 4", []int{0, 1, 2, 3},
			[]string{"eth0: take 4 of its 4 RX queues, but at least one must be left for other flows",
				"fix: make more queues: --channels 5"}},
		"beyond them": {"rx: tcp, flows: 2, queues: 2, queue: 3", []int{0, 1, 2, 3},
			[]string{"eth0: take 2 RX queues from queue 3 on, but it has 4"}},
		"not enough channels": {"rx: zcrx, flows: 4, channels: 4", []int{0, 1, 2, 3, 4, 5, 6, 7},
			[]string{"eth0: take 4 of its 4 RX queues, but at least one must be left for other flows",
				"fix: make more queues: --channels 5", "  SUT: nothing\n"}},
		"enough channels": {"rx: tcp, queue: 2, channels: 4", []int{0, 1},
			[]string{"without queue 2\n", "the flow to queue 2\n"}},
		"one flow beyond": {"rx: tcp, queue: 9", []int{0, 1, 2, 3}, []string{"eth0: find RX queue 9: it has 0-3",
			"fix: choose one of them (--queue), or make more: --channels 10", "  SUT: nothing\n"}},
		"beyond channels": {"rx: zcrx, queue: 4, channels: 4", []int{0, 1, 2, 3, 4, 5, 6, 7},
			[]string{"eth0: find RX queue 4: it has 0-3", "--channels 5"}},
		"the only queue": {"rx: tcp, queue: 0", []int{0},
			[]string{"eth0: keep RX queue 0 free of other flows: it has only 1 RX queue",
				"fix: make more queues: --channels 2", "  SUT: nothing\n"}},
		"not the only": {"rx: tcp, queue: 3", []int{0}, []string{"it has only 1 RX queue",
			"fix: make more queues: --channels 4"}},
		"no such host": {"rx: tcp, flows: 2, cpu_layout: 1cpu}\nsut: {cpu: [4, 6]", nil,
			[]string{"interface: receive softirq, by interrupts or RPS = CPUs 4,6 (1cpu), in turn\n",
				"SUT: 2 flows: a thread each, on CPUs 4,6\n"}},
	} {
		e := experiment(t, "name: x\nfactors: {tx: tcp, "+x.factors+"}\n")
		p := preview{spec: e.Spec, missing: func(c plan.Cell) *Missing { return plan.CannotRun(&c, nil) }}
		if name != "no such host" {
			o := options(e.Spec)
			o.SUTDev, o.TGDev, o.rxQueues[0] = "eth0", "eth0", x.queues
			o.may = [2][]int{upTo(16), upTo(16)}
			o.SUTFlows, o.TGFlows = []place.CPUs{{App: 15, Softirq: 14}}, []place.CPUs{{App: 15, Softirq: 14}}
			r := between("a", "b", o)
			p.stage = &stage{hosts: &hosts{SUT: r.SUT, TG: r.TG}, opt: o, spec: e.Spec}
			p.missing = func(c plan.Cell) *Missing { return (&Runner{SUT: r.SUT, TG: r.TG, Opt: o}).crammed(c) }
		}
		var b bytes.Buffer
		p.cells(&b)
		p.settings(&b)
		p.threads(&b)
		for _, want := range x.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, b.String())
			}
		}
	}
}

// What the machine has once is set by one end. A plan that sets nothing says so.
func TestDryRunOfOneMachine(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\ntg: {settings: {hugepages: 5, governor: "+
		"performance, sysctl: {net.ipv4.tcp_sack: 0}}}\n")
	var b bytes.Buffer
	preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }, oneMachine: true}.settings(&b)
	if want := "\nset on the hosts for the runs, and restored\n  SUT: nothing\n  TG:\n    sysctl " +
		"net.ipv4.tcp_sack = 0\n"; b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// A plan that writes payload to files says how much room they take, and where.
func TestDryRunOfWhatIsWritten(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp, then: [none, \"write:/var/tmp\"]}\n")
	var b bytes.Buffer
	preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }, oneMachine: true}.settings(&b)
	if want := "\nset on the hosts for the runs, and restored\n  SUT:\n    \"/var/tmp\": files without a name, " +
		"together up to 1 GiB, or half of what is free\n  TG: nothing\n"; b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// What the agents really set is what the dry run said.
func TestIntegrationDryRunOfSettings(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem], tx: tcp,",
		"rx: tcp, tx: tcp, mtu: 4148, gro: false, cpu_layout: 2cpu,", 1)+
		"warmup: false\nsut: {settings: {sysctl: {net.ipv4.tcp_sack: 0}}}\n")
	var b bytes.Buffer
	if err := e.DryRun(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"zcsut: mtu = 4148\n", "zcsut: feature rx-gro = off\n",
		"    sysctl net.ipv4.tcp_sack = 0\n", "zcsut: receive softirq, by interrupts or RPS = CPU ",
		"zctg: mtu = 4148\n"} {
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
	for _, want := range []string{"could not ask the hosts what they can run:", "sysctl net.core.optmem_max = 4194304",
		"sysctl vm.nr_hugepages = 16384", "eth0: ring tx = 4096", "eth0: mtu = 4148"} {
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
	p := preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }}
	p.cells(&b)
	if lines := strings.Split(strings.Trim(b.String(), "\n"), "\n"); len(lines) != 2 ||
		strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", lines)
	}
}
