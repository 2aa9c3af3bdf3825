// SPDX-License-Identifier: MIT

package bpf_test

import (
	"testing"

	"github.com/zcbench/zcbench/bpf"
)

func TestIntegrationPath(t *testing.T) {
	p := newPair(t)
	c := in(t, p.SUT.Netns, func() (*bpf.Path, error) { return bpf.OpenPath(0, 0) })
	defer c.Close()
	for _, h := range c.Hooks {
		t.Logf("%-22s %-7s %-32s %s", h.Stage, h.Backend, h.Function, h.Reason)
	}
	sendUDP(t, p, p.SUT.IPv4, 100, 0)
	counts, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]uint64{}
	for _, n := range counts {
		v[n.Name] = n.Value
		t.Logf("%-22s %d %s", n.Name, n.Value, n.Unit)
	}
	if v["napi_polls"] == 0 || v["napi_packets"] < 100 {
		t.Errorf("100 packets passed: %d polls took %d", v["napi_polls"], v["napi_packets"])
	}
}
