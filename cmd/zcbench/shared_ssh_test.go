// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host/sshtest"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
)

// oneNIC is a host that has one interface, by which ssh comes, and the controller beside it,
// which sends.
type oneNIC struct {
	*sshtest.Server
	pair *veth.Pair
	sut  string
}

func newOneNIC(t *testing.T) *oneNIC {
	t.Helper()
	needRoot(t)
	built.Dir(t)
	pair := newPair(t)
	s := sshtest.Start(t, pair.SUT.Netns, pair.SUT.IPv4.String())
	t.Setenv("ZCBENCH_SSH", s.SSH())
	return &oneNIC{s, pair, "ssh:root@" + pair.SUT.IPv4.String()}
}

// start starts a program beside the controller.
func (h *oneNIC) start(t *testing.T, args ...string) (p *built.Process) {
	t.Helper()
	if err := h.pair.TG.Netns.Do(func() error { p = built.Start(t, "zcbench", args...); return nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

func (h *oneNIC) run(more ...string) []string {
	return append([]string{"run", "--sut", h.sut, "--tg", "local", "--rx", "tcp", "--tx", "tcp", "--pace", "1G",
		"--ramp-up", "200ms", "--duration", "400ms"}, more...)
}

// The only interface of a host is neither chosen nor taken from ssh, in whatever way it is
// asked for, unless the user says so.
func TestIntegrationSharedWithSSH(t *testing.T) {
	long.Test(t)
	h := newOneNIC(t)
	for _, more := range [][]string{
		nil,
		{"--dev", h.pair.SUT.Dev},
		{"--addr", h.pair.SUT.IPv4.String()},
		{"--rx-ring", "512"},
	} {
		p := h.start(t, h.run(more...)...)
		got := p.Wait(await.Hang)
		for _, want := range []string{h.pair.SUT.Dev + " carries zcbench's own connection: the ssh connection to " +
			h.pair.TG.IPv4.String() + " uses " + h.pair.SUT.Dev, "--shared-with-ssh"} {
			if got != 2 || !strings.Contains(p.Err.String(), want) {
				t.Errorf("%v: exit status %d, lacks %q\n%s%s", more, got, want, &p.Out, &p.Err)
			}
		}
	}
	p := h.start(t, "doctor", "--host", h.sut, "--dev", h.pair.SUT.Dev)
	if got := p.Wait(await.Hang); got != 0 || !strings.Contains(p.Out.String(), "warn     ssh's interface") ||
		!strings.Contains(p.Out.String(), "fix: name another interface") {
		t.Errorf("doctor: exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	out := filepath.Join(t.TempDir(), "out")
	p = h.start(t, h.run("--shared-with-ssh", "--mtu", "2000", "--out", out)...)
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) {
		t.Errorf("shared: exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	if recs := journal(t, out).Records; len(recs) != 1 || recs[0].SUT.Env.Dev != h.pair.SUT.Dev ||
		recs[0].Cell.MTU != 2000 {
		t.Errorf("%+v", recs)
	}
	if now := h.mtu(t); now != "4148" {
		t.Errorf("the MTU is %s", now)
	}
}

func (h *oneNIC) mtu(t *testing.T) (mtu string) {
	t.Helper()
	_, rest, _ := strings.Cut(inNetns(t, h.pair.SUT.Netns, "ip -o link show dev "+h.pair.SUT.Dev), " mtu ")
	mtu, _, _ = strings.Cut(rest, " ")
	return mtu
}

// A link that goes away for eight seconds because something of it is set costs the run
// nothing, where the user has said that it is ssh's, too. Usually it is lost after six.
func TestIntegrationSharedLinkAway(t *testing.T) {
	long.Test(t)
	h := newOneNIC(t)
	out := filepath.Join(t.TempDir(), "out")
	p := h.start(t, h.run("--shared-with-ssh", "--set", "sut:mtu=2000", "--out", out)...)
	if !await.So(func() bool { return h.mtu(t) == "2000" }) {
		t.Fatalf("the MTU is not set\n%s%s", &p.Out, &p.Err)
	}
	inNetns(t, h.pair.TG.Netns, "ip link set "+h.pair.TG.Dev+" down")
	await.Pause("the link is away longer than the usual limit of silence", 8*time.Second)
	inNetns(t, h.pair.TG.Netns, "ip link set "+h.pair.TG.Dev+" up")
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) {
		t.Errorf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	if now := h.mtu(t); now != "4148" {
		t.Errorf("the MTU is %s", now)
	}
}
