package results

import (
	"fmt"
	"slices"
	"strings"
)

// ProbeNames are the eBPF probes that can run with a flow (docs/probes.md).
var ProbeNames = []string{"latency", "syscalls", "zc"}

// noProbe is the value of the factor in tables and files where nothing probes.
const noProbe = "none"

// JoinProbes is the value of [Cell].Probe for probes by name, in any order:
// "latency+zc"; "" for none.
func JoinProbes(names []string) (string, error) {
	var out []string
	for _, n := range names {
		if !slices.Contains(ProbeNames, n) {
			return "", fmt.Errorf("unknown probe %q; there are %s", n, strings.Join(ProbeNames, ", "))
		}
	}
	for _, n := range ProbeNames {
		if slices.Contains(names, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, "+"), nil
}

// ParseProbe reads the factor as files have it: none, or names joined by +.
func ParseProbe(s string) (string, error) {
	if s == noProbe {
		return "", nil
	}
	return JoinProbes(strings.Split(s, "+"))
}

// Probes are the names in the cell's Probe.
func (c *Cell) Probes() []string {
	if c.Probe == "" {
		return nil
	}
	return strings.Split(c.Probe, "+")
}

func orNoProbe(s string) string {
	if s == "" {
		return noProbe
	}
	return s
}
