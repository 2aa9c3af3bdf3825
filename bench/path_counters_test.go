// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// bridgedRig is two hosts with a bridge between them, in a namespace of its own:
// tg:eth0 - p1 - br0 - p2 - sut:eth0. It leaves out what a rig has beside a runner.
func bridgedRig(t *testing.T) (r *Runner, between *veth.Netns) {
	t.Helper()
	return bridgedRigOf(t, func(ns *veth.Netns, _ string) string { return "netns:" + ns.Path() })
}

// bridgedRigOf is bridgedRig whose hosts are reached as told.
func bridgedRigOf(t *testing.T, hostOf func(ns *veth.Netns, name string) string) (r *Runner, between *veth.Netns) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	t.Setenv(lease.DirEnv, t.TempDir())
	var all [3]*veth.Netns // the TG's, the bridge's, the SUT's
	for i := range all {
		n, err := veth.NewNetns()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		if err := n.Do(quietIPv6); err != nil {
			t.Fatal(err)
		}
		all[i] = n
	}
	inNetns(t, all[1], "ip link add br0 type bridge", "ip link set br0 up")
	for i, at := range []int{0, 2} {
		port := fmt.Sprintf("p%d", i+1)
		inNetns(t, all[1], "ip link add "+port+" type veth peer name eth0 netns "+all[at].Path())
		inNetns(t, all[1], "ip link set "+port+" master br0 up")
		inNetns(t, all[at], "ip link set lo up", fmt.Sprintf("ip address add 10.77.0.%d/24 dev eth0", i+1),
			"ip link set eth0 up")
	}
	dial := func(ns *veth.Netns, name string) *host.Host {
		h, err := host.Dial(t.Context(), hostOf(ns, name), host.Options{ToolVersion: version.Tool(), Name: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		return h
	}
	r = &Runner{TG: dial(all[0], "tg"), SUT: dial(all[2], "sut"), Session: newSession(),
		Opt: Options{Duration: time.Second, RampUp: 100 * time.Millisecond, RampDown: 100 * time.Millisecond,
			Addr: "10.77.0.2", MTU: veth.DefaultMTU, SUTDev: "eth0", TGDev: "eth0"}}
	if err := r.Opt.PlaceCPUs(t.Context(), r.SUT, r.TG); err != nil {
		t.Fatal(err)
	}
	return r, all[1]
}

// quietIPv6 keeps the namespace's interfaces from saying anything by themselves.
func quietIPv6() error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0o644)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without IPv6
	}
	return err
}

// inNetns runs commands in a namespace.
func inNetns(t *testing.T, ns *veth.Netns, commands ...string) {
	t.Helper()
	for _, c := range commands {
		words := strings.Fields(c)
		var out []byte
		err := ns.Do(func() (err error) {
			out,
				err = exec.Command(words[0], words[1:]...).CombinedOutput()
			return err
		})
		if strings.Contains(string(out), "qdisc kind is unknown") { // ENOENT of a kernel without sch_tbf
			t.Skipf("this kernel has no tbf: %s", out)
		}
		if err != nil {
			t.Fatalf("%s: %v: %s (make test installs it: apt-get install iproute2)", c, err, out)
		}
	}
}

// step finds one of a path's.
func step(t *testing.T, p *results.AlongPath, name string) *results.PathStep {
	t.Helper()
	for i := range p.Between {
		if s := &p.Between[i]; p.Step(s) == name {
			return s
		}
	}
	t.Fatalf("no step %s: %+v", name, p.Between)
	return nil
}

// What a bridge's port drops during a run is found between its two ports, within the bounds, and
// nowhere else: the interfaces' counters, the queueing discipline's own, and what the two ends
// counted tell the same.
func TestIntegrationAlongThePath(t *testing.T) {
	kind.Timed(t)
	r, between := bridgedRig(t)
	c := plan.Cell{ID: "x", RX: "udp", TX: "udp", MessageBytes: 1000, PaceBitsPS: 16e6,
		Path: "tg:eth0,netns:between/p1,netns:between/br0,netns:between/p2,sut:eth0"}
	namedNetns(t, "between", between)
	run := func() *results.Record {
		rec := r.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK || rec.SUT.Path == nil || rec.TG.Path != nil || rec.SUT.Path.Check() != nil {
			t.Fatalf("%s: %s (%s), %v: %+v", rec.Verdict, rec.Reason, rec.Fix, rec.Warnings, rec.SUT.Path)
		}
		for _, m := range rec.SUT.Rows() {
			if strings.HasPrefix(m.Name, "path_") {
				if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
					t.Error(err)
				}
			}
		}
		return &rec
	}
	const port, out, in = "netns:between/p1 rx -> netns:between/p2 tx", "tg:eth0 tx -> netns:between/p1 rx",
		"netns:between/p2 tx -> sut:eth0 rx"
	rec := run()
	for _, name := range []string{out, port, in} {
		s := step(t, rec.SUT.Path, name)
		t.Logf("%s: %d sent, lost %d, %d to %d", name, *s.Sent, *s.Lost, *s.LostLeast, *s.LostMost)
		if *s.Sent < 500 || *s.LostLeast > 0 || *s.LostMost < 0 || *s.UntoldLeast > 0 {
			t.Errorf("%s: %+v where nothing is lost", name, s)
		}
	}
	inNetns(t, between, "tc qdisc add dev p2 root tbf rate 8mbit burst 4k limit 8k")
	rec = run()
	s := step(t, rec.SUT.Path, port)
	t.Logf("%d sent, lost %d, %d to %d, told %+v; the ends lost %d", *s.Sent, *s.Lost, *s.LostLeast, *s.LostMost,
		s.Told, *rec.SUT.Packets.Lost)
	if len(s.Told) != 1 || s.Told[0].Name != "qdisc drops" || s.Told[0].Packets < 300 {
		t.Fatalf("told by %+v", s.Told)
	}
	drops := int64(s.Told[0].Packets)
	if *s.UntoldLeast > 0 || *s.UntoldMost < 0 || *s.LostMost-*s.LostLeast > drops/2 ||
		*rec.SUT.Packets.Lost < s.Told[0].Packets*9/10 {
		t.Errorf("%d dropped: %+v; the ends lost %d", drops, s, *rec.SUT.Packets.Lost)
	}
	for _, name := range []string{out, in} {
		if s := step(t, rec.SUT.Path, name); *s.LostLeast > 0 || *s.LostMost < 0 || len(s.Told) > 0 {
			t.Errorf("%s: %+v, but nothing was lost there", name, s)
		}
	}
}

// namedNetns gives a namespace a name for as long as the test runs.
func namedNetns(t *testing.T, name string, ns *veth.Netns) {
	t.Helper()
	was := openNamed
	openNamed = func(path string) (*veth.Netns, error) {
		if strings.HasSuffix(path, "/"+name) {
			path = ns.Path()
		}
		return veth.OpenNetns(path)
	}
	t.Cleanup(func() { openNamed = was })
}

// What cannot be followed is refused with its place in the list.
func TestPathsThatCannotBe(t *testing.T) {
	local := &host.Host{Spec: host.Spec{Kind: "local"}}
	for list, want := range map[string]string{
		"tg:lo,sut:nosuch9": `interface 2, "sut:nosuch9", at byte 7: no such interface`,
		"nosuch9,sut:lo":    `interface 1, "nosuch9", at byte 1: no such interface`,
		"sut:lo":            "at least two interfaces",
	} {
		if _, err := openPath(t.Context(), list, local, local); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
}
