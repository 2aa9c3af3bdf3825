// SPDX-License-Identifier: MIT

package driver

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func TestModel(t *testing.T) {
	for name, want := range map[string]string{"mlx5_core": "mlx5_core", "softnic": "softnic",
		"softnic(mlx5)": "mlx5_core", "softnic(gve-old)": "gve", "softnic(x)": "", "": "", "new": "new"} {
		if got := Model(name); got != want || Of(name).Name != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if d := Of("new"); d.Known() || d.Receives != "" || d.WhyNoRules(Setup{}).Why != "" {
		t.Errorf("%+v", d)
	}
	if Own("softnic(mlx5)").Name != "softnic" || Own("mlx5_core").Name != "mlx5_core" {
		t.Error("the soft NIC's own is the soft NIC's")
	}
}

// A kernel's version judges a driver only where the version tells what is in the kernel.
func TestTakes(t *testing.T) {
	for _, x := range []struct {
		driver, release string
		foreign         bool
		want            answer
	}{
		{"gve", "6.18.0", false, Can}, {"gve", "6.17.12", false, NotYet}, {"gve", "6.15.0-rc3", false, NotYet},
		{"gve", "6.16.9", false, NotYet},
		{"bnxt_en", "6.16.0", false, Can}, {"bnxt_en", "6.15.11", false, NotYet},
		{"mlx5_core", "6.16.0", false, NotYet}, {"fbnic", "6.17.0", false, NotYet},
		{"softnic(gve-old)", "7.2.0", false, Can}, {"gve", "6.17.0", true, Perhaps}, {"gve", "6.18.0", true, Perhaps},
		{"mlx5_core", "7.2.0", true, Perhaps}, {"idpf", "7.2.0", true, unknown},
		{"gve", "6.17.0-1004-gcp", false, Perhaps},
		{"mlx5_core", "5.14.0-503.11.1.el9_5.x86_64", false, Perhaps}, {"mlx5_core", "6.12.0-124.8.1.el10_1.x86_64",
			false, Perhaps},
		{"idpf", "7.3.4", false, unknown}, {"new", "7.3.4", false, unknown}, {"gve", "weird", false, Can},
	} {
		if got := Of(x.driver).Takes(Kernel{x.release, x.foreign}); got != x.want {
			t.Errorf("%s of %s, foreign %v: %v, want %v", x.driver, x.release, x.foreign, got, x.want)
		}
	}
}

func TestUpstream(t *testing.T) {
	for release, want := range map[string]bool{"6.17.0": true, "6.17": true, "7.0.0-rc4": true,
		"6.12.48+deb13-amd64": true, "6.1.0-18-amd64": true, "6.12.9+bpo-amd64": false,
		"6.16.3-arch1-1": true, "6.16.3.arch1-1": true, "6.17.4-200.fc42.x86_64": true, "7.3.4+deb14-cloud-amd64": true,
		"5.14.0-503.11.1.el9_5.x86_64": false, "6.8.0-1021-gcp": false, "6.14.0-29-generic": false,
		"6.4.0-150600.23.7-default": false,
		"6.6.72+":                   false, "6.1.119-129.201.amzn2023.x86_64": false,
		"6.12.0-105.51.5.el9uek.x86_64": false,
		"6.16.0-custom":                 false, "": false} {
		if got := Upstream(release); got != want {
			t.Errorf("%s: %v", release, got)
		}
	}
}

// ENODATA says which kernel has what the driver lacks, and never that it is a bug.
func TestIgnored(t *testing.T) {
	for _, x := range []struct{ driver, release, why, fix string }{
		{"gve", "6.17.3", "(gve) does not hand provider memory on before Linux 6.18", "use Linux 6.18 or later"},
		{"bnxt_en", "6.15.1", "(bnxt_en) does not hand provider memory on before Linux 6.16",
			"use Linux 6.16 or later"},
		{"softnic(gve-old)", "7.2.13", "before Linux 6.18, and the driver of this kernel (7.2.13) does not either",
			"ethtool -i eth0"},
		{"new", "7.3.4", "does not hand provider memory on", "docs/nics.md"},
	} {
		got := Of(x.driver).Ignored("eth0", Kernel{Release: x.release})
		if !strings.Contains(got.Why, x.why) || !strings.Contains(got.Fix, x.fix) ||
			strings.Contains(got.Why+got.Fix, "bug") {
			t.Errorf("%s of %s: %+v", x.driver, x.release, got)
		}
	}
}

func TestResets(t *testing.T) {
	for setting, want := range map[string]string{
		"rss": "bnxt_en", "mtu": "bnxt_en mlx5_core idpf ice ionic e1000e", "feature rx-ntuple-filter": "bnxt_en",
		"feature rx-gro-hw": "mlx5_core bnxt_en gve idpf", "rx-buf-len": "gve", "coalesce rx-usecs": "",
		"feature rx-gro": "",
		"ring tx":        "mlx5_core bnxt_en fbnic gve virtio_net idpf ice ionic e1000e",
	} {
		var got []string
		for _, d := range All {
			if !slices.Equal(d.ResetBy(), unknownResets) && d.Name != "softnic" && d.Resets(setting) {
				got = append(got, d.Name)
			}
		}
		want := strings.Fields(want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", setting, got, want)
		}
	}
	if d := Of("new"); !d.Resets("channels") || !d.Resets("ring rx") || d.Resets("mtu") || d.Resets("rss") {
		t.Error("a new driver resets as most do")
	}
}

// What is known of a driver is in order: versions are versions, names are there once.
func TestTable(t *testing.T) {
	version := regexp.MustCompile(`^(\d+\.\d+)?$`)
	seen := map[string]bool{}
	for _, d := range All {
		if d.Name == "" || d.NIC == "" || seen[d.Name] || !version.MatchString(d.Receives) ||
			!version.MatchString(d.Sends) || d.Receives == "" && d.ReceivesIf != "" {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
		for _, lab := range d.Labs {
			if seen["lab "+lab] {
				t.Errorf("%s is imitated twice", lab)
			}
			seen["lab "+lab] = true
		}
	}
}
