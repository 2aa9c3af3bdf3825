// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/setting"
)

// FS is where the kernel's files are: /proc and /sys, or fixtures. The zero value
// is the running host.
type FS struct{ Proc, Sys, Run string }

func (fs FS) proc(elem ...string) string { return under(fs.Proc, "/proc", elem) }
func (fs FS) sys(elem ...string) string  { return under(fs.Sys, "/sys", elem) }

// processes lists the folders of the processes. A pattern that goes on below them would read each,
// and the kernel makes what is read.
func (fs FS) processes() []string {
	dirs, _ := filepath.Glob(fs.proc("[0-9]*")) // the pattern is right
	return dirs
}

func under(root, def string, elem []string) string {
	if root == "" {
		root = def
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// failed makes the error of a file: op says what was to be done with it.
func failed(call remedy.Call, op, path, value string, err error) error {
	return remedy.Error(call, op, err, remedy.On{Path: path, Value: value})
}

// Setting finds a setting by name:
//
//	sysctl NAME     its words, one space between them; vm.nr_hugepages counts huge pages
//	governor CPU    a frequency governor
//	irqbalance      running, stopped
//
// It holds no other, whoever asks: a sysctl that is not on the list is a *[Refused].
func (fs FS) Setting(name string) (setting.Setting, error) {
	word, arg, _ := strings.Cut(name, " ")
	switch word {
	case "sysctl":
		return fs.sysctlSetting(arg)
	case "governor":
		cpu, err := cpuNumber(arg)
		if err != nil {
			return setting.Setting{}, err
		}
		return guarded(fs.governor(name, cpu)), nil
	}
	if name == "irqbalance" {
		return guarded(setting.Setting{Name: name, Canon: canonicalBalance, Get: fs.irqbalance, Set: fs.setIRQBalance}),
			nil
	}
	return setting.Setting{}, fmt.Errorf("unknown setting %.80q of a host", name)
}

// governor makes a setting of /sys/devices/system/cpu/cpuN/cpufreq/scaling_governor
// (drivers/cpufreq/cpufreq.c).
func (fs FS) governor(name string, cpu int) setting.Setting {
	path := fs.sys("devices/system/cpu", fmt.Sprintf("cpu%d", cpu), "cpufreq/scaling_governor")
	return setting.Setting{Name: name, Canon: canonicalGovernor,
		Get: func() (string, error) {
			b, err := kernelfile.ReadFile(path)
			if err != nil {
				return "", failed(remedy.FileGovernor, "read "+path, path, "", err)
			}
			return strings.TrimSpace(string(b)), nil
		},
		Set: func(v string) error {
			if err := os.WriteFile(path, []byte(v), 0); err != nil {
				return failed(remedy.FileGovernor, "write "+v+" to "+path, path, v, err)
			}
			return nil
		}}
}

// Governed lists the CPUs that have a frequency governor, ascending.
func (fs FS) Governed() []int {
	files, _ := filepath.Glob(fs.sys("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	var cpus []int
	for _, f := range files {
		name := filepath.Base(filepath.Dir(filepath.Dir(f)))
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "cpu")); err == nil {
			cpus = append(cpus, n)
		}
	}
	slices.Sort(cpus)
	return cpus
}
