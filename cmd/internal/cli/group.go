// SPDX-License-Identifier: MIT

package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zcbench/zcbench/plan"
)

// Group is what flags are about, in help.
type Group string

// The groups, in their order.
const (
	groupFlow      Group = "Flow"
	groupHosts     Group = "Hosts"
	groupSettings  Group = "NIC and host settings (restored after the run)"
	groupPlacement Group = "Placement"
	groupPower     Group = "Power"
	groupProbes    Group = "Probes"
	groupRuns      Group = "Runs"
	groupOutput    Group = "Output"
)

// groups are all groups.
var groups = []Group{groupFlow, groupHosts, groupSettings, groupPlacement, groupPower, groupProbes, groupRuns,
	groupOutput}

// members are the flags of each group that are no options of a run: those follow from their kind.
var members = map[Group]string{
	groupFlow:      "mode answers listen duration accept-timeout connect-timeout cookie stall max-copied",
	groupHosts:     "sut tg dev tg-dev addr port ipv6 ipv4 veth netns dir shared-with-ssh lease-queue",
	groupPlacement: "sut-cpu tg-cpu cpu cpus tg-cpus node tg-node layout tg-layout",
	groupPower:     "power power-idle power-guard power-interval",
	groupProbes:    "probe probe-sample path sample-interval",
	groupRuns: "repetitions warmup warmup-duration ramp-up ramp-down rest seed order turn gate control " +
		"dry-run whole resume resume-changed require-verdict trust-file loss resolution confirm trials modes " +
		"min-runs timeout for for-time",
	groupOutput: "out json verbose help help-all version",
}

// GroupsOf finds the groups of a flag; one, unless a list is wrong.
func GroupsOf(name string) (out []Group) {
	for _, g := range groups {
		for word := range strings.FieldsSeq(members[g]) {
			if word == name {
				out = append(out, g)
			}
		}
	}
	for i := range plan.Options {
		o := &plan.Options[i]
		if o.FlagName() != name {
			continue
		}
		switch o.Kind { // of those that say how a run is made the lists above tell
		case plan.OfModes, plan.OfPath:
			out = append(out, groupFlow)
		case plan.OfHost:
			out = append(out, groupSettings)
		}
	}
	return out
}

// firstKey is the annotation of a command with the flags that matter most.
const firstKey = "zcbench_first_flags"

// First names the flags of a command that its help shows; all others are shown in groups, by
// --help-all.
func First(cmd *cobra.Command, names ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[firstKey] = strings.Join(names, " ")
	cmd.Flags().VarPF(&helpAll{cmd}, helpAllFlag, "", "help for all flags, in groups").NoOptDefVal = "true"
}

// FirstOf returns the flags that First has named.
func FirstOf(cmd *cobra.Command) []string { return strings.Fields(cmd.Annotations[firstKey]) }

const helpAllFlag = "help-all"

// helpAll is the flag --help-all: it asks for --help, and that it was given means all of it.
type helpAll struct{ cmd *cobra.Command }

func (h *helpAll) String() string { return "" }
func (h *helpAll) Type() string   { return "bool" }

func (h *helpAll) Set(s string) error {
	h.cmd.InitDefaultHelpFlag()
	return h.cmd.Flags().Set("help", s)
}

// given reports whether a flag that asks for help was given.
func given(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Changed
}

// placeholders are what stands for the value of flags, by their names; all others by their types.
var placeholders = map[string]string{
	"rx": "MODE", "tx": "MODE", "mode": "MODE", "answers": "MODE", "sut": "HOST", "tg": "HOST", "host": "HOST",
	"peer": "HOST",
	"dev":  "IF", "tg-dev": "IF", "addr": "ADDR", "out": "DIR", "listen": "ADDR:PORT", "power": "SOURCE",
	"source": "SOURCE",
	"probe":  "PROBE", "cpus": "APP,SOFTIRQ", "tg-cpus": "APP,SOFTIRQ", "node": "NODE", "tg-node": "NODE",
	"layout": "LAYOUT", "tls": "WHO", "poll": "HOW",
	"tg-layout": "LAYOUT", "congestion": "CC", "governor": "NAME", "area": "KIND", "tx-area": "KIND", "touch": "HOW",
	"netns":  "NETNS",
	"record": "FILE",
	"replay": "FILE", "flame": "FILE", "folded": "FILE", "csv": "FILE", "cache": "DIR", "kernel": "KERNEL",
	"metric": "COLUMN",
	"about":  "FACTOR", "base": "CELL", "end": "sut|tg", "equivalent": "PERCENT", "fail-if-slower": "PERCENT",
	"if-unsure":  "STATUS",
	"prometheus": "ADDR:PORT", "cgroup": "DIR", "pid": "PID", "syscalls": "PID", "log": "LOG", "only": "NAME",
	"env":  "NAME=VALUE",
	"file": "PATH", "load": "MODULE", "qemu": "ARG", "nic": "DRIVER", "softnic": "PARAMS", "cookie": "HEX",
	"uring-engine": "ENGINE",
	"control":      "FAULT", "sysctl-profile": "NAME", "max-idle-us": "US", "cpu": "CPU", "sut-cpu": "CPU",
	"tg-cpu": "CPU",
	"mem":    "MIB",
	"stamp":  "WHERE", "modes": "MODES", "dir": "DIR",
}

// ofTypes are what stands for values of a type.
var ofTypes = map[string]string{
	"string": "TEXT", "strings": "LIST", "stringArray": "TEXT", "int": "N", "uint": "N", "uint16": "PORT",
	"float64": "N", "float": "N",
	"duration": "TIME", "bytes": "BYTES",
}

// placeholder stands for a flag's value; "" for one that takes none.
func placeholder(f *pflag.Flag) string {
	t := f.Value.Type()
	if t == "bool" {
		return ""
	}
	if p, ok := placeholders[f.Name]; ok {
		return p
	}
	if p, ok := ofTypes[t]; ok {
		return p
	}
	return t // says itself what it is: on|off
}
