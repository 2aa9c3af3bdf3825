// SPDX-License-Identifier: MIT

package main

import "testing"

func TestThreaded(t *testing.T) {
	for version, want := range map[string]bool{
		"iperf 3.12": false, "iperf 3.15": false, "iperf 3.16": true, "iperf 3.21+": true, "iperf 3.21": true,
		"iperf 4.0": true, "iperf 2.1.9": false,
		"": false, "iperf 99999999999999999999.1": false, "iperf3 3.16": false,
	} {
		if err := (Tools{IperfVersion: version}).threaded(); (err == nil) != want {
			t.Errorf("%q: %v, want threads %v", version, err, want)
		}
	}
}
