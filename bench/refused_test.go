// SPDX-License-Identifier: MIT

package bench

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"github.com/zcbench/zcbench/results"
)

// says holds the reason and the fix of a run that failed to words that they have, and have not.
func says(t *testing.T, rec results.Record, want, never []string) {
	t.Helper()
	text := rec.Reason + "; fix: " + rec.Fix
	if rec.Verdict != results.Failed {
		t.Errorf("%s: %s", rec.Verdict, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q lacks %q", text, w)
		}
	}
	for _, w := range never {
		if strings.Contains(text, w) {
			t.Errorf("%q has %q", text, w)
		}
	}
}

// What keeps a flow from being opened, as a user of a run has it: the agents were reached, and the
// receiver listens.
func TestIntegrationFirewall(t *testing.T) {
	wrong := []string{"no route", "start the sender", "start the receiver", "cookie", "aborted"}
	for _, x := range []struct {
		name    string
		verdict vethtest.Verdict
		v6      bool
		want    []string
	}{
		{"port-unreachable", vethtest.PortUnreachable, false,
			[]string{"ECONNREFUSED", "answered ICMP port-unreachable"}},
		{"host-prohibited", vethtest.HostProhibited, false, []string{"EHOSTUNREACH", "answered ICMP host-prohibited"}},
		{"admin-prohibited", vethtest.AdminProhibited, false,
			[]string{"EHOSTUNREACH", "answered ICMP admin-prohibited"}},
		{"IPv6", vethtest.AdminProhibited6, true, []string{"EACCES", "answered ICMPv6 admin-prohibited"}},
		{"reset", vethtest.Reset, false, []string{"ECONNREFUSED", "answered with a reset", "the receiver listens"}},
		{"reset, IPv6", vethtest.Reset, true, []string{"ECONNREFUSED", "answered with a reset",
			"the receiver listens"}},
		{"drop", vethtest.Drop, false, []string{"nothing answers at", "drops packets to the data port"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newRig(t)
			r.Runner.Wait = time.Second
			if x.v6 {
				r.Runner.Opt.Addr = r.pair.SUT.IPv6.String()
			}
			vethtest.Firewall(t, r.pair.SUT, x.verdict, 0)
			rec := r.Runner.Run(t.Context(), interleaved(1, cell("tcp", "tcp"))[0])
			t.Log(rec.Reason, "; fix:", rec.Fix)
			says(t, rec, append(x.want, "TG: connect to", "firewall", "--port"), wrong)
		})
	}
}

// The way between the hosts carries smaller packets than both ends think.
func TestIntegrationMTUOfThePath(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Stall = time.Second
	r.Runner.Opt.Duration = time.Minute
	vethtest.Firewall(t, r.pair.SUT, vethtest.Drop, 1500)
	rec := r.Runner.Run(t.Context(), interleaved(1, cell("tcp", "tcp"))[0])
	t.Log(rec.Reason, "; fix:", rec.Fix)
	says(t, rec, []string{"TG: ", "the MTU of 4148 bytes", "ping -M do -s 4120 " + r.pair.SUT.IPv4.String(), "--mtu"},
		[]string{"no longer answers", "aborted"})
}

// It is named as well where the kernel gives up before we do.
func TestIntegrationMTUOfThePathByTheKernel(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Stall, r.Runner.Opt.Duration = time.Minute, time.Minute
	if err := r.pair.TG.Netns.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/tcp_retries2", []byte("1"),
			0o644)
	}); err != nil {
		t.Fatal(err)
	}
	vethtest.Firewall(t, r.pair.SUT, vethtest.Drop, 1500)
	rec := r.Runner.Run(t.Context(), interleaved(1, cell("tcp", "tcp"))[0])
	says(t, rec, []string{"ETIMEDOUT", "the MTU of 4148 bytes", "ping -M do -s 4120 " + r.pair.SUT.IPv4.String()},
		[]string{"no longer answers", "aborted"})
}

// Nobody has the address: it is no firewall.
func TestIntegrationNobodyThere(t *testing.T) {
	r := newRig(t)
	vethtest.Firewall(t, r.pair.TG, vethtest.Drop, 0) // what the receiver answers does not come
	r.Runner.Wait = time.Second
	rec := r.Runner.Run(t.Context(), interleaved(1, cell("tcp", "tcp"))[0])
	says(t, rec, []string{"drops packets to the data port"}, []string{"cookie", "aborted"})
}
