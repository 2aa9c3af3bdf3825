// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
)

// A flow whose address is on what stands on the interface that is named, or the other way
// around: counters and settings of queues are the port's, the MTU is set on both, and all
// is as before. The lab has VLANs and bonds (TestUpperInLab), which not every kernel has.
func TestIntegrationUpper(t *testing.T) {
	needRoot(t)
	for _, x := range []struct{ name, make, dev, flag, mtu string }{
		{"bridge, by its name", "ip addr flush dev zcsut; ip link add name up0 type bridge && ip link set zcsut " +
			"master up0", "up0", "over-bridge", "--mtu=6000"},
		{"bridge, by its port", "ip addr flush dev zcsut; ip link add name up0 type bridge && ip link set zcsut " +
			"master up0", "zcsut", "over-bridge", "--mtu=6000"},
		{"macvlan, by its port", "ip addr flush dev zcsut; ip link add link zcsut name up0 type macvlan mode bridge",
			"zcsut", "over-macvlan", "--mtu=6000"},
	} {
		t.Run(x.name, func(t *testing.T) {
			pair := newPair(t)
			inNetns(t, pair.SUT.Netns, x.make+" && ip addr add 10.77.0.1/24 dev up0 && ip link set up0 up")
			mtus := func() string {
				return inNetns(t, pair.SUT.Netns,
					"ip -o link show dev zcsut | sed 's/ qdisc.*//'; ip -o link show dev up0 | sed 's/ qdisc.*//'")
			}
			before := mtus()
			out := filepath.Join(t.TempDir(), "out")
			p := built.Start(t, "zcbench", "run", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg",
				"netns:"+pair.TG.Netns.Path(), "--dev", x.dev, x.mtu, "--gro", "off",
				"--rx", "tcp", "--tx", "tcp", "--touch", "verify", "--pace", "1G", "--ramp-up", "200ms", "--duration",
				"300ms", "--out", out)
			if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) {
				t.Fatalf("exit status %d\n%s%s", got, &p.Out, &p.Err)
			}
			if after := mtus(); after != before {
				t.Errorf("it was\n%sand is\n%s", before, after)
			}
			recs := journal(t, out).Records
			if len(recs) != 1 {
				t.Fatal(len(recs))
			}
			r := recs[0]
			if r.SUT.Env.Dev != "zcsut" || r.SUT.Env.Driver != "veth" || !slices.Contains(r.Flags, x.flag) ||
				*r.SUT.Mismatches != 0 || *r.SUT.TotalBytes == 0 {
				t.Errorf("on %s (%s), flags %q, %d bytes, %d wrong", r.SUT.Env.Dev, r.SUT.Env.Driver, r.Flags,
					*r.SUT.TotalBytes, *r.SUT.Mismatches)
			}
		})
	}
}

// A bridge of several ports: what belongs to a port is refused until one is named.
func TestIntegrationUpperUnknown(t *testing.T) {
	long.Test(t)
	needRoot(t)
	pair := newPair(t)
	inNetns(t, pair.SUT.Netns, "ip addr flush dev zcsut; ip link add name up0 type bridge && ip link set zcsut "+
		"master up0 && ip link add name other type veth peer name far && ip link set other master up0 && ip addr "+
		"add 10.77.0.1/24 dev up0 && ip link set up0 up")
	run := func(more ...string) (int, results.Record, string) {
		out := filepath.Join(t.TempDir(), "out")
		p := built.Start(t, "zcbench", append([]string{"run", "--sut", "netns:" + pair.SUT.Netns.Path(), "--tg",
			"netns:" + pair.TG.Netns.Path(), "--rx", "tcp", "--tx", "tcp",
			"--pace", "1G", "--ramp-up", "200ms", "--duration", "300ms", "--out", out}, more...)...)
		status := p.Wait(await.Hang)
		recs := journal(t, out).Records
		if len(recs) != 1 {
			t.Fatalf("%d records: %s", len(recs), &p.Err)
		}
		return status, recs[0], out
	}
	for _, x := range [][]string{{"--rx-ring", "512"}, {"--rx", "zcrx"}} {
		if status, r, _ := run(append(x, "--dev", "up0")...); status != 1 || r.Verdict != results.Unsupported ||
			!strings.Contains(r.Reason,
				"belongs to a port, and up0 (bridge) has several, or none here: zcsut, other") ||
			!strings.Contains(r.Fix, "--dev zcsut") {
			t.Errorf("%q: status %d, %s: %s; fix: %s", x, status, r.Verdict, r.Reason, r.Fix)
		}
	}
	if status, r, out := run("--dev", "up0"); status != 0 && !onlyLate(t, out) || !slices.ContainsFunc(r.Warnings,
		func(w string) bool { return strings.Contains(w, "not known: zcsut, other") }) {
		t.Errorf("status %d, %s: %s; %q", status, r.Verdict, r.Reason, r.Warnings)
	}
	if status, r, out := run("--dev", "zcsut", "--set", "sut:feature rx-gro=off"); status != 0 &&
		!onlyLate(t, out) || r.SUT.Env.Dev != "zcsut" {
		t.Errorf("status %d, %s: %s", status, r.Verdict, r.Reason)
	}
}

// Two ports of one machine in one namespace: their packets would stay on loopback.
func TestIntegrationStaysHome(t *testing.T) {
	needRoot(t)
	pair := newPair(t)
	inNetns(t, pair.SUT.Netns, "ip link add name p0 type veth peer name p1 && ip addr add 10.77.0.5/24 dev p0 && "+
		"ip link set p0 up && ip link set p1 up")
	here := "netns:" + pair.SUT.Netns.Path()
	p := built.Start(t, "zcbench", "run", "--sut", here, "--tg", here, "--rx", "tcp", "--tx", "tcp", "--dev", "zcsut",
		"--duration", "300ms")
	if got := p.Wait(await.Hang); got != 2 || !strings.Contains(p.Err.String(), "never leave the machine by zcsut") {
		t.Errorf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	// The other port answers for the first one's address.
	out := filepath.Join(t.TempDir(), "out")
	p = built.Start(t, "zcbench", "run", "--sut", here, "--tg", "netns:"+pair.TG.Netns.Path(), "--rx", "tcp", "--tx",
		"tcp", "--dev", "zcsut", "--pace", "1G", "--ramp-up", "200ms", "--duration", "300ms", "--out", out)
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) {
		t.Fatalf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	if r := journal(t, out).Records[0]; !slices.Contains(r.Flags, "arp-flux") || !slices.ContainsFunc(r.Warnings,
		func(w string) bool { return strings.Contains(w, "p0 (10.77.0.5/24)") }) {
		t.Errorf("flags %q, warnings %q", r.Flags, r.Warnings)
	}
}
