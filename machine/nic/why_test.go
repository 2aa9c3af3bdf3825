// SPDX-License-Identifier: MIT

package nic

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/driver"
)

// Why a driver does not follow has a name where it is known, and nothing is said where not.
func TestWhyNot(t *testing.T) {
	on, off := Feature{Known: true, Hard: true, Active: true}, Feature{Known: true, Hard: true}
	striding := map[string]bool{"rx_striding_rq": true}
	for _, x := range []struct {
		c        circumstances
		feature  string
		on       bool
		why, fix string
	}{
		{circumstances{driver: driver.Of("bnxt_en"), queues: 74}, FeatureNTuple, true, "no rules with 74 RX rings",
			"ethtool -L eth0 combined N"},
		{circumstances{driver: driver.Of("ice"), queues: 74}, FeatureNTuple, true, "", ""},
		{circumstances{driver: driver.Of("bnxt_en"), queues: 74}, FeatureNTuple, false, "", ""},
		{circumstances{driver: driver.Of("mlx5_core"), flags: map[string]bool{"rx_striding_rq": true,
			"rx_cqe_compress": true}}, FeatureHWGRO, true, "rx_cqe_compress",
			"ethtool --set-priv-flags eth0 rx_cqe_compress off"},
		{circumstances{driver: driver.Of("mlx5_core"), flags: map[string]bool{"rx_striding_rq": false}}, FeatureHWGRO,
			true, "legacy RQ", "ethtool --set-priv-flags eth0 rx_striding_rq on"},
		{circumstances{driver: driver.Of("mlx5_core"), flags: striding}, FeatureHWGRO, true, "", "dmesg"},
		{circumstances{driver: driver.Of("mlx5_core"), flags: striding, split: SplitOn}, FeatureHWGRO, false,
			"as long as header split", "tcp-data-split off"},
		{circumstances{driver: driver.Of("mlx5_core"), flags: striding, xdp: true}, FeatureHWGRO, true, "XDP",
			"xdp off"},
		{circumstances{features: map[string]Feature{"rx-checksum": off}}, FeatureHWGRO, true, "rx-checksum",
			"ethtool -K eth0 rx on"},
		{circumstances{features: map[string]Feature{"rx-checksum": on, "rx-fcs": on}}, FeatureHWGRO, true, "rx-fcs",
			"rx-fcs off"},
		{circumstances{driver: driver.Of("bnxt_en"), features: map[string]Feature{FeatureGRO: off}}, FeatureHWGRO, true,
			"rx-gro", "--gro on"},
		{circumstances{driver: driver.Of("ice"), features: map[string]Feature{FeatureGRO: on}}, FeatureHWGRO, true, "",
			""},
		{circumstances{driver: driver.Of("bnxt_en")}, FeatureGRO, true, "", ""},
	} {
		x.c.dev = "eth0"
		why, fix := x.c.whyFeature(x.feature, x.on)
		if !says(why, x.why) || !says(fix, x.fix) {
			t.Errorf("%+v, %s %v: why %q, fix %q", x.c, x.feature, x.on, why, fix)
		}
	}
}

// says reports whether a text has what is wanted, and is empty if nothing is.
func says(text, want string) bool { return strings.Contains(text, want) && (want != "" || text == "") }

func TestWhyNotRestarted(t *testing.T) {
	for _, x := range []struct {
		c        circumstances
		why, fix string
	}{
		{circumstances{driver: driver.Of("mlx5_core"), flags: map[string]bool{"tx_port_ts": true}}, "tx_port_ts",
			"ethtool --set-priv-flags eth0 tx_port_ts off"},
		{circumstances{driver: driver.Of("mlx5_core"), htb: true}, "HTB", "tc qdisc del dev eth0 root"},
		{circumstances{driver: driver.Of("mlx5_core"), flags: map[string]bool{"rx_cqe_compress": true}},
			"mlx5 does not restart a queue that time-stamps received packets while it compresses completions",
			"rx_cqe_compress off"},
		{circumstances{driver: driver.Of("mlx5_core")}, "before Linux 6.17", "dmesg"},
		{circumstances{driver: driver.Of("bnxt_en")}, "physical function", "firmware"},
		{circumstances{driver: driver.Of("ice")}, "", ""},
	} {
		x.c.dev = "eth0"
		if got := x.c.driver.WhyNotRestarted(x.c.setup()); !says(got.Why, x.why) || !says(got.Fix, x.fix) {
			t.Errorf("%+v: %+v", x.c, got)
		}
	}
}

func TestWhyRing(t *testing.T) {
	for _, x := range []struct {
		model, ring string
		want, got   int
		why, fix    string
	}{
		{"bnxt_en", "rx", 4096, 2047, "payload rings", "--rx-ring 2047"},
		{"mlx5_core", "rx", 1000, 1024, "rounds it up", "--rx-ring 1024"},
		{"ice", "tx", 9000, 8160, "the driver's maximum", "--tx-ring 8160"},
	} {
		if why, fix := whyRing(driver.Of(x.model), x.ring, x.want, x.got); !says(why, x.why) || !says(fix, x.fix) {
			t.Errorf("%+v: why %q, fix %q", x, why, fix)
		}
	}
}

func TestLongestBuffer(t *testing.T) {
	for name, want := range map[string]int{"bnxt_en": 32 << 10, "softnic(bnxt)": 32 << 10, "softnic(mlx5)": 128 << 10,
		"fbnic": 4096, "ice": 0, "softnic": 0} {
		if got, ok := (Driver{Name: name}).LongestBuffer(); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
}
