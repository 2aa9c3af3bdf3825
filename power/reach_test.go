// SPDX-License-Identifier: MIT

package power

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReaches(t *testing.T) {
	for text, want := range map[string][]string{
		"rapl":                          nil,
		"sut:rapl?uncertainty=1%":       nil,
		"hwmon=power_meter?label=PSU 1": nil,
		"ipmi":                          nil,
		"nvml?name=gpus":                nil,
		"rapl?root=/x":                  {"opens /x"},
		"hwmon?root=/x":                 {"opens /x"},
		"ipmi?device=/dev/watchdog":     {"opens /dev/watchdog"},
		"nvml?helper=/x":                {"runs /x"},
		"tg:command=echo 'a' $B?c":      {`runs /bin/sh -c 'echo '\''a'\'' $B?c'`},
		"csv=meter.csv?zone=UTC":        {"opens meter.csv"},
		"scpi=meter":                    {"contacts meter:5025"},
		"ptdaemon=meter:9":              {"contacts meter:9"},
		"snmp=apc@pdu":                  {"contacts pdu:161 with the secrets of ZCBENCH_SNMP_*"},
		"redfish=bmc":                   {"contacts https://bmc with the secrets of ZCBENCH_REDFISH_*"},
		"redfish=https://bmc?secrets=/root/bmc&ca=/ca": {"contacts https://bmc with the secrets of /root/bmc",
			"opens /ca", "opens /root/bmc"},
	} {
		s, err := ParseSpec(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, r := range s.Reaches() {
			got = append(got, r.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", text, d)
		}
	}
	if r := (Spec{Name: "newfangled"}).Reaches(); len(r) != 1 || r[0].Does != Runs {
		t.Errorf("a source that says nothing leads to %v", r)
	}
}

// Every source says what its words lead to, and so does every option: who adds one
// says here that it is a mere word, or has it reach.
func TestEveryWordIsJudged(t *testing.T) {
	words := []string{"label", "sensor", "gpu", "meter", "scope", "insecure", "chassis", "outlet", "inlet", "pdu",
		"oid", "scale", "version", "level", "auth", "priv", "item",
		"offset", "date", "zone", "time", "watts", "uncertainty", "averages", "name"}
	locals := []string{"rapl", "hwmon", "ipmi", "nvml"} // whose target, if they take one, is a mere word
	const mark = "/a/mark"
	for _, name := range names() {
		k := kinds[name]
		if k.reaches == nil {
			t.Errorf("%s does not say what its words lead to", name)
		}
		reached := func(text string) bool {
			s := Spec{Name: name, Target: mark, Options: nil}
			if option, ok := strings.CutPrefix(text, "?"); ok {
				s.Target, s.Options = "x", map[string][]string{option: {mark}}
			}
			return slices.ContainsFunc(s.Reaches(), func(r Reach) bool { return strings.Contains(r.What, mark) })
		}
		if local := slices.Contains(locals, name); reached("target") == local && name != "snmp" {
			t.Errorf("%s: its target is reached: %v", name, !local)
		}
		for _, o := range append(slices.Clone(k.options), commonOptions...) {
			if reached("?"+o) == slices.Contains(words, o) {
				t.Errorf("%s: option %s is a path or program, or it is a mere word: which?", name, o)
			}
		}
	}
}
