// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// inLabWithBMC runs zcbench in the lab, on a machine that has a BMC behind a KCS
// interface, with the kernel's own driver.
func inLabWithBMC(t *testing.T, out string, device []string, args ...string) *built.Process {
	t.Helper()
	if why := os.Getenv("ZCBENCH_LAB_WHY"); why != "" {
		t.Skip("no lab here: " + why)
	}
	if os.Getenv("ZCBENCH_LAB_TEST") == "" {
		t.Skip("boots the lab: set ZCBENCH_LAB_TEST=1, or run make test")
	}
	lab := []string{"lab", "exec", "--timeout", "5m", "--out", out}
	for _, a := range append(slices.Clip(device), "-device", "isa-ipmi-kcs,bmc=bmc") {
		lab = append(lab, "--qemu="+a)
	}
	for _, m := range []string{"ipmi_msghandler", "ipmi_si", "ipmi_devintf"} {
		lab = append(lab, "--load", m)
	}
	return built.Start(t, "zcbench", append(append(lab, "--", "zcbench"), args...)...)
}

// QEMU's own BMC knows no DCMI: the refusal comes from the BMC, by the kernel.
func TestLabIPMIRefused(t *testing.T) {
	long.Test(t)
	p := inLabWithBMC(t, t.TempDir(), []string{"-device", "ipmi-bmc-sim,id=bmc"}, "power", "--source", "ipmi")
	if got := p.Wait(5 * time.Minute); got != 2 || !strings.Contains(p.Err.String(), "completion code 0xc1") ||
		!strings.Contains(p.Err.String(), "fix: ") {
		t.Errorf("exit status %d: %s", got, &p.Err)
	}
}

// A run in the lab whose power a BMC says, through the kernel's driver. Half of
// its readings are 200 W, half 160 W, and every eighth is refused as busy.
func TestLabIPMI(t *testing.T) {
	long.Test(t)
	bmc := startVMBMC(t)
	bmc.answer = func(data []byte) []byte {
		switch {
		case !bytes.Equal(data, []byte{0xdc, 1, 0, 0}):
			return []byte{0xc7} // length
		case bmc.asked%8 == 7:
			return []byte{0xc0} // busy
		case bmc.asked%2 == 0:
			return dcmiPower(160) // 0xa0: a byte that the framing has to escape
		}
		return dcmiPower(200)
	}
	out := t.TempDir()
	p := inLabWithBMC(t, out, []string{"-chardev", "socket,id=vm,server=on,wait=off,path=" + bmc.path, "-device",
		"ipmi-bmc-extern,id=bmc,chardev=vm"},
		"run", "--sut", "netns:sut", "--tg", "netns:tg", "--rx", "tcp", "--tx", "tcp", "--message-size", "1M",
		"--power", "sut:ipmi",
		"--duration", "6s", "--power-guard", "2s", "--power-idle", "5s", "--out", "/out/run", "--gate",
		"foreign_cores=off", "--gate", "replace=0")
	// 1: the run is invalid because the emulated CPUs were late, which its power is not.
	if got := p.Wait(5 * time.Minute); got != 0 && got != 1 {
		t.Fatalf("exit status %d: %s\n%s", got, &p.Out, &p.Err)
	}
	j, err := results.Read(filepath.Join(out, "run", results.JournalFile))
	if err != nil || len(j.Records) != 1 {
		t.Fatalf("%d runs, %v", len(j.Records), err)
	}
	h := j.Records[0].SUT
	if h.PowerSource != "ipmi" || h.PowerW == nil || h.PowerIdleW == nil || *h.PowerW <= 160 || *h.PowerW >= 200 ||
		*h.PowerIdleW <= 160 || *h.PowerIdleW >= 200 {
		t.Errorf("power %v W, idle %v W, of %q; want some 180 (%q)", h.PowerW, h.PowerIdleW, h.PowerSource,
			j.Records[0].Warnings)
	}
	i := slices.IndexFunc(h.Series, func(s measure.Series) bool { return s.Name == "power_ipmi_board_w" })
	if i < 0 {
		t.Fatal("no series of readings")
	}
	seen := map[float64]int{}
	for _, w := range h.Series[i].V {
		seen[w]++
	}
	if len(seen) != 2 || seen[200] == 0 || seen[160] == 0 {
		t.Errorf("readings in watts, and how many: %v; want 200 and 160", seen)
	}
	n := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "power_ipmi_failed_readings" })
	if n < 0 || h.Metrics[n].Value == 0 {
		t.Error("no reading has failed, though the BMC was busy")
	}
	t.Logf("%v W, idle %v W, readings %v, the BMC was asked %d times", *h.PowerW, *h.PowerIdleW, seen, bmc.readings())
}

// dcmiPower is the answer to Get Power Reading.
func dcmiPower(watts uint16) []byte {
	le := binary.LittleEndian
	b := []byte{0, 0xdc}
	for _, w := range []uint16{watts, 80, 310, 210} { // now, least, most, mean
		b = le.AppendUint16(b, w)
	}
	b = le.AppendUint32(b, 0xa0a1aaa0) // time stamp
	return append(le.AppendUint32(b, 1000), 0x40)
}
