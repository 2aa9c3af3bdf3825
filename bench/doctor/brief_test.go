// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/lease"
)

func TestLook(t *testing.T) {
	b := Look()
	if b.Kernel == "" || b.CPUs < 1 {
		t.Errorf("%+v", b)
	}
	for _, c := range b.Cards {
		if c.Dev == "" || c.Dev == "lo" || c.Takes && c.Since == "" {
			t.Errorf("%+v", c)
		}
	}
}

// A run that goes on is not one that was killed.
func TestLeft(t *testing.T) {
	for state, want := range map[lease.State]int{lease.Alive: 0, lease.Finished: 0, lease.Rebooted: 0, lease.Owing: 1,
		lease.Broken: 1, lease.Refused: 1} {
		if n := left([]lease.Report{{State: state}}); n != want {
			t.Errorf("%s: %d, want %d", state, n, want)
		}
	}
}

// Nor does the check of leases warn of it.
func TestLeasesOf(t *testing.T) {
	for state, want := range map[lease.State]string{lease.Alive: "ok", lease.Finished: "ok", lease.Rebooted: "ok",
		lease.Owing: "warn", lease.Broken: "warn", lease.Refused: "warn"} {
		c := leasesOf([]lease.Report{{State: lease.Alive}, {State: state}, {State: lease.Rebooted}})
		if c.Status != want || (c.Fix != "") != (want == "warn") {
			t.Errorf("%s: %+v, want %s", state, c, want)
		}
	}
	if c := leasesOf(nil); c.Status != "ok" || c.Found != "none left" {
		t.Errorf("%+v", c)
	}
	if c := leasesOf([]lease.Report{{State: lease.Alive}, {State: lease.Alive}}); !strings.HasSuffix(c.Found, ": 2") {
		t.Errorf("%+v", c)
	}
}

func TestCardIsJudged(t *testing.T) {
	for _, x := range []struct {
		model, kernel string
		want          Card
	}{
		{"bnxt_en", "6.18.5", Card{Known: true, Since: "6.16", Takes: true}},
		{"mlx5_core", "6.12.1-cloud-amd64", Card{Known: true, Since: "6.17"}},
		{"gve", "6.12.0-124.8.1.el10_1.x86_64", Card{Known: true, Since: "6.18", Perhaps: true}},
		{"virtio_net", "7.3.4", Card{Known: true}},
		{"nobody", "7.3.4", Card{}},
	} {
		var c Card
		if c.judge(x.model, driver.Kernel{Release: x.kernel}); c != x.want {
			t.Errorf("%s in %s: %+v, want %+v", x.model, x.kernel, c, x.want)
		}
	}
}
