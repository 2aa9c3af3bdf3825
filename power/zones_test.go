// SPDX-License-Identifier: MIT

package power

import (
	"strings"
	"testing"
)

// The user names zones, and then they are what is summed.
func TestRAPLZones(t *testing.T) {
	root := powercap(t, 262143328850)
	for option, want := range map[string]string{
		"zone=package-0": "", "zone=intel-rapl:1": "package_1", "zone=psys": "psys",
		"zone=package_0;package_0_dram": "package_0 package_0_dram",
		"zone=package-0_core":           "package_0_core", "zone=intel-rapl:0;intel-rapl:1": "package_0 package_1",
	} {
		src, err := open(t, "rapl?root="+root+"&"+option)
		if want == "" {
			want = "package_0"
		}
		if err != nil || summed(src) != want {
			t.Errorf("%s: %v", option, err)
			continue
		}
		scope := map[string]Scope{"psys": scopeBoard, "package_0 package_0_dram": scopeMemory,
			"package_0_core": scopeDevice}[want]
		if scope == "" {
			scope = ScopePackage
		}
		if got := src.Info().Scope; got != scope {
			t.Errorf("%s: scope %s, want %s", option, got, scope)
		}
	}
	for option, say := range map[string]string{
		"zone=package-7": "the zones are package_0,", "zone=package-0;package_0": "twice",
		"zone=package-0;psys": "unlike", "zone=package-0;package_0_core": "unlike",
	} {
		if _, err := open(t, "rapl?root="+root+"&"+option); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %q", option, err, say)
		}
	}
	for _, bad := range []string{"rapl?zone=", "rapl?zone=psys&scope=package"} {
		if _, err := ParseSpec(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// AMD's and Hygon's counters are those of sockets (rapl_msrs_are_pkg_scope): there dies
// are known to show one.
func TestRAPLOfSockets(t *testing.T) {
	for cpuinfo, want := range map[string]bool{
		"processor\t: 0\nvendor_id\t: AuthenticAMD\n": true, "vendor_id\t: HygonGenuine\n": true,
		"vendor_id\t: GenuineIntel\n": false, "": false} {
		if got := perSocket(cpuinfo); got != want {
			t.Errorf("%q: %v", cpuinfo, got)
		}
	}
	root, _ := dies(t, "package-0-die-0", "package-0-die-1", "package-1-die-0")
	r, err := openRAPL(root, raplUncertainty, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.info.NoSum == nil {
		t.Error("it is known before anything was seen")
	}
	r.socket, r.twins = true, nil
	r.pair(false)
	if got := summed(r); got != "package_0_die_0 package_1_die_0" || r.info.NoSum != nil {
		t.Errorf("summed %q, %+v", got, r.info.NoSum)
	}
}
