// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const plain = "name: x\nfactors: {rx: tcp, tx: tcp}\n"

func TestPowerOfAFile(t *testing.T) {
	s := mustParse(t, plain+`power_interval: 50ms
power_guard: 0s
power:
  - auto
  - sut:hwmon=power_meter?label=PSU 1, left
  - "tg:command=cat /x | tr , . ?scope=wall"
  - later
`)
	var got []string
	for _, p := range s.Power.Sources {
		got = append(got, fmt.Sprintf("%s %s %s", s.Place(p), p.Spec.Host, p.Text))
	}
	want := []string{"x.yaml:6:5  auto", "x.yaml:7:5 sut sut:hwmon=power_meter?label=PSU 1, left",
		"x.yaml:8:5 tg tg:command=cat /x | tr , . ?scope=wall", "x.yaml:9:5  later"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if p := s.Power; *p.Interval != 50*time.Millisecond || *p.Guard != 0 || p.Idle != nil {
		t.Errorf("%+v", p)
	}
	if s = mustParse(t, plain+"power: rapl\n"); len(s.Power.Sources) != 1 || s.Power.Sources[0].Spec.Name != "rapl" {
		t.Errorf("%+v", s.Power)
	}
	if s = mustParse(t, plain+"power: []\n"); s.Power.Sources != nil {
		t.Errorf("%+v", s.Power)
	}
}

// How power is measured is compared by itself, with what flags say: the hash of a plan
// is the one that its journals have.
func TestPowerIsNotInTheHash(t *testing.T) {
	if a, b := mustParse(t, plain), mustParse(t, plain+"power: rapl\npower_idle: 1s\n"); a.Hash() != b.Hash() {
		t.Error("another hash")
	}
}

func TestPowerErrors(t *testing.T) {
	for text, want := range map[string]string{
		"power: [rapl, nosuch]\n": `x.yaml:3:15: power source "nosuch": unknown; the ` +
			`sources are command, csv, `,
		"power: [rapl, \"rapl, SECRET\"]\n": "x.yaml:3:15: power source of an unknown kind: unknown",
		"power:\n  - rapl\n  - sut:rapl\n":  "x.yaml:5:5: power source rapl is named twice",
		"power: [\"sut:auto\"]\n":           "x.yaml:3:9: power source \"auto\"",
		"power: rapl?rooot=/x\n":            "x.yaml:3:8: power source rapl: unknown option \"rooot\"",
		"power: redfish=http://bmc\n": "x.yaml:3:8: power source redfish: http sends user and " +
			"password in the clear",
		"power: {rapl: true}\n":                         "x.yaml:3:",
		"power:\n":                                      "want one value, this is nothing",
		"power: [[rapl]]\n":                             "want one value, this is a list",
		"power: |\n  command=a\n  b\n":                  "line break",
		"power: \"command=a\\nb\"\n":                    "x.yaml:3:8: a power source has a line break",
		"power: \"command=\\e[2J\"\n":                   "control character",
		"power: [" + strings.Repeat("rapl,", 50) + "]":  "named twice",
		"power: [" + strings.Repeat("auto,", 101) + "]": "more than 100 power sources",
		"power: \"command=sshpass -p SECRET ssh h x\"\n": "x.yaml:3:8: the command has a secret in it (what " +
			"sshpass takes for a password)",
		"power: \"command=X_TOKEN=SECRET curl h\"\n": "the command has a secret in it (X_TOKEN)",
		"power: \"command=a\\n-p SECRET\"\n":         "line break",
		"power: rapl\npower: rapl\n":                 "already defined",
		"power_interval: 9ms\n":                      "x.yaml:3:17: 9ms is outside 10ms..1s",
		"power_interval: 2s\n":                       "outside 10ms..1s",
		"power_idle: -1s\n":                          "x.yaml:3:13: -1s is outside",
		"power_guard: 25h\n":                         "x.yaml:3:14: 25h0m0s is outside",
	} {
		_, err := Parse("x.yaml", []byte(plain+text))
		if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s%v\nwant %s", text, err, want)
		}
	}
}

// Whatever of a file runs a program, asks an address or opens a path is for the user
// to allow; sensors are not.
func TestUntrusted(t *testing.T) {
	for text, want := range map[string]string{
		"rapl":                         "",
		"auto":                         "",
		"later":                        "",
		"[auto, sut:ipmi, tg:hwmon=x]": "",
		"nvml":                         "",
		"command=true": "x.yaml:3:8: power source command runs a program named by the file: " +
			"read the file, then allow it with --trust-file",
		"[rapl, \"sut:command=x?name=a\"]": "x.yaml:3:15: power source command runs",
		"nvml?helper=/x":                   "power source nvml runs a program",
		"redfish=https://evil":             "power source redfish contacts an address",
		"snmp=apc@evil":                    "power source snmp contacts an address",
		"scpi=evil":                        "power source scpi contacts an address",
		"ptdaemon=evil":                    "power source ptdaemon contacts an address",
		"csv=/etc/shadow":                  "power source csv opens a path",
		"ipmi?device=/dev/watchdog":        "power source ipmi opens a path",
		"rapl?root=/x":                     "power source rapl opens a path",
		"hwmon?root=/x":                    "power source hwmon opens a path",
	} {
		err := mustParse(t, plain+"power: "+text+"\n").Untrusted()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// No other key of a file names a program: power sources are the only way, and they
// are asked for.
func TestAFileNamesNoOtherProgram(t *testing.T) {
	for _, key := range []string{"command", "exec", "hooks", "before", "after", "env", "ssh", "out", "include_file",
		"trust_file", "trust-file"} {
		for text, where := range map[string]string{key + ": x\n": "the experiment", "sut: {" + key + ": x}\n": "sut"} {
			if _, err := Parse("x.yaml", []byte(plain+text)); err == nil ||
				!strings.Contains(err.Error(), "unknown key") {
				t.Errorf("%s of %s: %v", key, where, err)
			}
		}
	}
	for _, key := range []string{"power", "power_interval"} {
		if _, err := Parse("x.yaml", []byte(plain+"sut: {"+key+": x}\n")); err == nil ||
			!strings.Contains(err.Error(), "unknown key") {
			t.Errorf("sut.%s: %v", key, err)
		}
	}
}
