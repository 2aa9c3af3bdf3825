// SPDX-License-Identifier: MIT

package mk

import (
	"regexp"
	"strings"
	"testing"
)

// figures are the folders whose code makes figures, or decides, by files of the kernel's. They open
// them by internal/kernelfile, which refuses what a container has put at their place.
var figures = regexp.MustCompile(`^(machine/(counter|place|survey|tune|tally|ledger|nic|kallsyms)|bench/(doctor|` +
	`endpoint|agent)|bpf|profile|packet|power|tools/versus)/.*\.go$`)

// openers are the calls that do not look. What a library reads is looked at before
// (kernelfile.Check).
var openers = regexp.MustCompile(
	`\b(os\.(ReadFile|Open|OpenFile)|unix\.Open(at2?)?|procfs\.NewFS|procfs\.NewDefaultFS)\(`)

// otherwise are the files with such calls, with the reason.
var otherwise = map[string]string{
	"machine/counter/fs.go":       "looks at the files that procfs will read",
	"machine/survey/survey.go":    "looks at the open descriptor",
	"machine/survey/sysctl.go":    "a folder: its files are looked at",
	"machine/tune/sysctl.go":      "a network namespace",
	"machine/tune/latency.go":     "a device",
	"machine/tune/manager.go":     "a file of a service manager",
	"machine/nic/tph.go":          "of a sysfs that it mounts itself, which nothing covers",
	"machine/nic/irqs.go":         "of that sysfs",
	"machine/nic/offpci.go":       "of that sysfs",
	"machine/nic/affinity.go":     "of that sysfs; of /proc it looks at them",
	"machine/nic/device.go":       "a network namespace",
	"machine/nic/pktgen.go":       "is written to",
	"packet/xdp/kernelpktgen.go":  "is written to",
	"bpf/latency.go":              "a cgroup's folder, for the kernel",
	"bpf/internal/sysnum/main.go": "sources, to generate",
	"power/csv.go":                "a log of another program's",
	"power/ipmi_uapi.go":          "a device",
	"power/redfish.go":            "a certificate",
	"power/secret.go":             "a file of secrets",
	"profile/symbol/symbol.go":    "a program that was mapped",
}

// Every figure comes of the kernel's own files.
func TestKernelFiles(t *testing.T) {
	used, seen := map[string]bool{}, 0
	for _, f := range tracked(t, figures) {
		if dir := f.path[:strings.LastIndexByte(f.path, '/')]; strings.HasSuffix(f.path, "_test.go") || helper(dir) {
			continue
		}
		seen += strings.Count(f.text, "kernelfile.")
		for i, line := range strings.Split(f.text, "\n") {
			call := openers.FindString(line)
			switch {
			case call == "" || strings.HasPrefix(strings.TrimSpace(line), "//"):
			case otherwise[f.path] == "":
				t.Errorf("%s:%d: %s...): open the kernel's files by internal/kernelfile, or say in "+
					"mk/kernelfiles_test.go why not", f.path, i+1, call)
			default:
				used[f.path] = true
			}
		}
	}
	for path := range otherwise {
		if !used[path] {
			t.Errorf("%s opens nothing otherwise any more: take it off the list", path)
		}
	}
	if seen < 20 {
		t.Errorf("only %d uses of kernelfile: these are no longer the folders", seen)
	}
}
