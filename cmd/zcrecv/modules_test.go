// SPDX-License-Identifier: MIT

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linked are the modules that zcrecv and zcsend are made of, and why. What is
// added here is downloaded, reviewed and carried to other people's hosts by
// everybody who wants to receive a few packets.
var linked = map[string]string{
	"github.com/cilium/ebpf":   "eBPF probes of a run (package bpf)",
	"github.com/google/pprof":  "profiles of a run (package profile), in the form that its tools open",
	"github.com/gosnmp/gosnmp": "instruments of an agent (package power), whose messages share its types",
	"github.com/mdlayher/genetlink": "netdev and ethtool of the kernel (package nic), links and routes " +
		"(package rtnl)",
	"github.com/mdlayher/netlink":        "as above",
	"github.com/mdlayher/socket":         "as above",
	"github.com/pawelgaczynski/giouring": "the second io_uring engine",
	"github.com/prometheus/procfs":       "/proc/net (package counter)",
	"github.com/spf13/cobra":             "command lines",
	"github.com/spf13/pflag":             "command lines",
	"golang.org/x/net":                   "mdlayher/netlink filters with its bpf",
	"golang.org/x/sync":                  "mdlayher/netlink and socket",
	"golang.org/x/sys":                   "system calls",
}

// The small programs stay small: they link the modules above and no other, and
// nothing of the controller, its reports and its plots.
func TestModules(t *testing.T) {
	for _, name := range []string{"zcrecv", "zcsend"} {
		out, err := exec.Command("go", "list", "-tags", "giouring", "-deps", "-f",
			"{{if .Module}}{{.Module.Path}} {{.ImportPath}}{{end}}", "../"+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		const own = "github.com/zcbench/zcbench"
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			module, path, _ := strings.Cut(line, " ")
			if module != own {
				got = append(got, module)
				continue
			}
			for _, far := range []string{"/bench", "/host", "/matrix", "/report", "/gate", "/stat", "/doctor", "/lab"} {
				if path == own+far {
					t.Errorf("%s links %s, which is the controller's", name, path)
				}
			}
		}
		slices.Sort(got)
		got = slices.Compact(got)
		var want []string
		for module := range linked {
			want = append(want, module)
		}
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the modules of %s (-want +got):\n%s\nfix: do without the new one, or name it in "+
				"modules_test.go with the reason", name, d)
		}
	}
}
