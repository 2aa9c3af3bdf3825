// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/near"
)

// ProbeNames are the probes that can run with a flow: eBPF programs and TCP_INFO
// (docs/probes.md), and samples (docs/profile.md).
var ProbeNames = []string{"latency", "syscalls", "zc", "drops", ProbeTCP, ProbeProfile}

// ProbeProfile samples what the measured CPUs execute.
const ProbeProfile = "profile"

// ProbeTCP asks the flow's own sockets how they fare.
const ProbeTCP = "tcp"

// NoProbe is the value of the factor in tables and files where nothing probes.
const NoProbe = "none"

// Of how many packets the latency probe looks at one, of a flow. At 100 Gbit/s some
// 200,000 packets a second come out of GRO: six programs that take 100 ns to look at
// one take a tenth of a core to look at all.
const (
	DefaultProbeSample = 16
	maxProbeSample     = 1024
)

// parseProbeSample reads a number of packets, of which one is looked at.
func parseProbeSample(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil {
		err = CheckProbeSample(n)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a power of two, 1 to %d", s, maxProbeSample)
	}
	return n, nil
}

// CheckProbeSample refuses what ParseProbeSample does.
func CheckProbeSample(n int) error {
	if n < 1 || n > maxProbeSample || n&(n-1) != 0 {
		return fmt.Errorf("%d is not a power of two, 1 to %d", n, maxProbeSample)
	}
	return nil
}

// JoinProbes formats probes, given by name in any order, as the value of [Cell].Probe:
// "latency+zc"; "" for none.
func JoinProbes(names []string) (string, error) {
	var out []string
	for _, n := range names {
		if !slices.Contains(ProbeNames, n) {
			return "", fmt.Errorf("unknown probe %q%s", n, near.Instead(n, "probes", ProbeNames))
		}
	}
	for _, n := range ProbeNames {
		if slices.Contains(names, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, "+"), nil
}

// parseProbe reads the option: none, or names joined by + or by commas.
func parseProbe(s string) (string, error) {
	if s == NoProbe {
		return "", nil
	}
	return JoinProbes(strings.Split(strings.ReplaceAll(s, ",", "+"), "+"))
}

// Probes splits the cell's Probe into names.
func (c *Cell) Probes() []string {
	if c.Probe == "" {
		return nil
	}
	return strings.Split(c.Probe, "+")
}
