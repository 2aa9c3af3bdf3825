// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/tune"
	"golang.org/x/sys/unix"
)

// fs is where the kernel's files are: /proc and /sys, or fixtures. The zero value
// is the running host.
type fs struct{ Proc, Sys string }

func (fs fs) path(root, def string, elem ...string) string {
	if root == "" {
		root = def
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// sysLine reads a small file without surrounding space, "" where there is none.
func (fs fs) sysLine(elem ...string) string {
	b, err := kernelfile.ReadFile(fs.path(fs.Sys, "/sys", elem...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// checks runs the checks of the host that bear on every figure.
func (fs fs) checks() []wire.Check {
	return []wire.Check{fs.hugePages(), fs.governor(), fs.irqbalance(), fs.iommu(), fs.lockdown(), fs.classes()}
}

func (fs fs) hugePages() wire.Check {
	c := wire.Check{Name: "huge pages", Needed: "32 free ones for --area huge and receive buffers longer than a page",
		Status: "ok"}
	total, free, sizeKB, err := fs.readHugePages()
	if err != nil {
		c.Status, c.Found, c.Fix = "warn", err.Error(), fault.Fix(err)
		return c
	}
	c.Found = fmt.Sprintf("%d of %d free, of %d KiB", free, total, sizeKB)
	if free < 32 {
		c.Status, c.Command = "warn", fmt.Sprintf("sysctl -w vm.nr_hugepages=%d", total-free+32)
		c.Fix = c.Command + ", or --huge-pages for the run only"
	}
	return c
}

// readHugePages reads /proc/meminfo (fs/proc/meminfo.c, mm/hugetlb.c).
func (fs fs) readHugePages() (total, free, sizeKB int, err error) {
	b, err := kernelfile.ReadFile(fs.path(fs.Proc, "/proc", "meminfo"))
	if err != nil {
		return 0, 0, 0, err
	}
	at := map[string]*int{"HugePages_Total:": &total, "HugePages_Free:": &free, "Hugepagesize:": &sizeKB}
	for _, l := range strings.Split(string(b), "\n") {
		f := strings.Fields(l)
		if len(f) < 2 || at[f[0]] == nil {
			continue
		}
		if *at[f[0]], err = strconv.Atoi(f[1]); err != nil {
			return 0, 0, 0, fmt.Errorf("meminfo: %w", err)
		}
	}
	if sizeKB == 0 {
		return 0, 0, 0, fmt.Errorf("the kernel has no huge pages (CONFIG_HUGETLBFS)")
	}
	return total, free, sizeKB, nil
}

func (fs fs) governor() wire.Check {
	c := wire.Check{Name: "frequency governor",
		Needed: "performance: with others, short runs depend on what ran before", Status: "ok",
		Found: "none (a virtual machine, or fixed in the firmware)"}
	if err := notTheCPUs(); err != nil && fs.Sys == "" {
		c.Status, c.Found, c.Fix = "warn", "not known: "+err.Error(), fault.Fix(err)
		return c
	}
	names := map[string]int{}
	for _, cpu := range (tune.FS{Proc: fs.Proc, Sys: fs.Sys}).Governed() {
		names[fs.sysLine("devices/system/cpu", fmt.Sprintf("cpu%d", cpu), "cpufreq/scaling_governor")]++
	}
	if len(names) == 0 {
		return c
	}
	var found []string
	for n, count := range names {
		found = append(found, fmt.Sprintf("%s on %d CPUs", n, count))
	}
	c.Found = strings.Join(found, ", ")
	if len(names) > 1 || names["performance"] == 0 {
		c.Status, c.Command = "warn", "cpupower frequency-set -g performance"
		c.Fix = c.Command + ", or --governor performance for the run only"
	}
	return c
}

func (fs fs) irqbalance() wire.Check {
	c := wire.Check{Name: "irqbalance", Needed: "stopped: it moves interrupts that were placed on purpose",
		Status: "ok"}
	s, err := (tune.FS{Proc: fs.Proc, Sys: fs.Sys}).Setting("irqbalance")
	if err == nil {
		c.Found, err = s.Get()
	}
	if err != nil {
		c.Status, c.Found, c.Fix = "warn", err.Error(), fault.Fix(err)
	}
	if c.Found == tune.None && fs.Proc == "" && inPIDNamespace() {
		c.Status, c.Found, c.Fix = "warn", "not seen: the host's processes are not, from this PID namespace",
			"look on the host: systemctl stop irqbalance"
	}
	if c.Found == tune.Running {
		c.Status, c.Command = "warn", "systemctl stop irqbalance"
		c.Fix = c.Command + ", or --stop-irqbalance for the run only"
	}
	return c
}

// inPIDNamespace reports whether this process sees only those of a PID namespace, such as of a
// container (include/linux/nsfs.h: PID_NS_INIT_INO is the first one's inode).
func inPIDNamespace() bool {
	var st unix.Stat_t
	return unix.Stat("/proc/self/ns/pid", &st) == nil && st.Ino != 0xEFFFFFFC
}

func (fs fs) iommu() wire.Check {
	c := wire.Check{Name: "IOMMU", Needed: "none, or passthrough: address translation costs time per buffer",
		Status: "ok", Found: "none"}
	units, _ := filepath.Glob(fs.path(fs.Sys, "/sys", "class/iommu/*"))
	if len(units) == 0 {
		return c
	}
	b, _ := kernelfile.ReadFile(fs.path(fs.Proc, "/proc", "cmdline"))
	c.Found = fmt.Sprintf("%d units, kernel command line has no iommu=pt", len(units))
	if strings.Contains(string(b), "iommu=pt") || strings.Contains(string(b), "iommu.passthrough=1") {
		c.Found = fmt.Sprintf("%d units, passthrough", len(units))
		return c
	}
	c.Status, c.Fix = "warn",
		"compare with iommu=pt on the kernel's command line; doctor --dev shows a device's own mode"
	return c
}
