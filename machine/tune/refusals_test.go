// SPDX-License-Identifier: MIT

package tune

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that a sysctl, a file of sysfs or a signal may give has the table's words, and names
// the file.
func TestRefused(t *testing.T) {
	var fs FS
	governor := fs.governor("governor 0", 0)
	for _, x := range []struct {
		call   remedy.Call
		object string
		do     func() error
	}{
		{remedy.FileSysctl, "vm.nr_hugepages", func() error { return fs.SetSysctl("vm.nr_hugepages", "1") }},
		{remedy.FileSysctl, "vm.nr_hugepages", func() error { _, err := fs.Sysctl("vm.nr_hugepages"); return err }},
		{remedy.FileNetctl, "net.ipv4.tcp_rmem",
			func() error { return fs.SetSysctl("net.ipv4.tcp_rmem", "4096 131072 6291456") }},
		{remedy.FileNetctl, "net.ipv4.tcp_rmem", func() error { _, err := fs.Sysctl("net.ipv4.tcp_rmem"); return err }},
		{remedy.FileGovernor, "cpu0/cpufreq/scaling_governor", func() error { return governor.Set("performance") }},
		{remedy.FileGovernor, "cpu0/cpufreq/scaling_governor", func() error { _, err := governor.Get(); return err }},
		{remedy.FileLatency, "/dev/cpu_dma_latency", func() error { _, err := HoldLatency(0); return err }},
	} {
		remedytest.Try(t, x.call, x.object, remedytest.Denied(unix.SYS_OPENAT, x.do), unix.EINTR)
	}
}

func TestRefusedSignal(t *testing.T) {
	fs := FS{Proc: t.TempDir()}
	dir := filepath.Join(fs.Proc, strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(strconv.Itoa(os.Getpid())+" (irqbalance) S 1"),
		0o644); err != nil {
		t.Fatal(err)
	}
	remedytest.Try(t, remedy.Kill, "process "+strconv.Itoa(os.Getpid()), remedytest.Denied(unix.SYS_KILL,
		func() error { return fs.setIRQBalance(Running) }))
}
