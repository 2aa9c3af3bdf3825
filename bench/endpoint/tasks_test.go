// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/metrics"
)

// burnOn is a busy loop in a process of its own.
func burnOn(t *testing.T, cpu int) (pid int) {
	t.Helper()
	loop := exec.Command("/bin/sh", "-c", "while :; do :; done")
	if err := loop.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loop.Process.Kill(); loop.Wait() })
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(loop.Process.Pid, &set); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, loop.Process.Pid, -20); err != nil { // before what else runs here
		t.Fatal(err)
	}
	return loop.Process.Pid
}

func onCPU(h *results.Host, name string, cpu int) *measure.Metric {
	for i := range h.Metrics {
		if m := &h.Metrics[i]; m.Name == name && strings.Join(m.Of, "") == strconv.Itoa(cpu) {
			return m
		}
	}
	return nil
}

// A busy loop on the flow's CPU is load of others there, with its name; one on another CPU is
// background, which the flow is not charged for. What works for the flow is nobody else's, in each
// mode.
func TestIntegrationOthersByTasks(t *testing.T) {
	kind.Timed(t)
	last := runtime.NumCPU() - 1
	if os.Geteuid() != 0 || last == 0 {
		t.Skip("needs root, and two CPUs")
	}
	if tasks, err := bpf.OpenTasks(bpf.TasksOptions{}); err != nil {
		t.Skip(err)
	} else {
		tasks.Close()
	}
	for _, mode := range []string{"tcp", "uring"} {
		for _, at := range []int{0, last} {
			t.Run(fmt.Sprintf("%s, others on %d", mode, at), func(t *testing.T) {
				rx, tx := rxSpec(mode, mib), txSpec("tcp", mib)
				rx.Dev, rx.Flows[0].CPU, tx.Flows[0].CPU = "lo", 0, 0
				pid := burnOn(t, at)
				sch := lasting(500 * time.Millisecond)
				r, s := runBoth(t, rx, tx, sch, sch)
				checkMoved(t, r, s, mode)
				checkOthers(t, &r.Host, pid, at, last)
			})
		}
	}
}

func checkOthers(t *testing.T, h *results.Host, pid, at, last int) {
	t.Helper()
	low, busy := onCPU(h, measure.MetricForeignCores, at), h.Value("cpu_busy_cores")
	background := h.Value(measure.MetricBackground)
	if low == nil || low.Source != measure.ByTasks || low.Value < .1 ||
		!strings.Contains(low.Quality, fmt.Sprintf("sh (pid %d) used 0.", pid)) {
		t.Fatalf("others on CPU %d: %+v", at, low)
	}
	if onCPU(h, measure.MetricFlowCores, 0) == nil || onCPU(h, measure.MetricFlowCores, last) != nil {
		t.Errorf("the flow's CPUs: %v and %v", onCPU(h, measure.MetricFlowCores, 0),
			onCPU(h, measure.MetricFlowCores, last))
	}
	if at == last && background < low.Value || h.CPUBusyCores == nil || *h.CPUBusyCores > busy-background+.01 {
		t.Errorf("background %g of busy %g, charged %v", background, busy, deref(h.CPUBusyCores))
	}
	for i := range h.Metrics {
		m := &h.Metrics[i]
		if m.Name != measure.MetricForeignCores {
			continue
		}
		for _, own := range []string{fmt.Sprintf("pid %d)", os.Getpid()), "ksoftirqd", "iou-"} {
			if strings.Contains(m.Quality, own) {
				t.Errorf("others: %s", m.Quality)
			}
		}
	}
	for _, m := range h.Rows() {
		if strings.HasPrefix(m.Name, "tasks_") || strings.HasPrefix(m.Name, "flow_cpu") ||
			m.Name == measure.MetricBackground {
			if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%s; background %.2f, busy %.2f, charged %.2f", low.Quality, background, busy, deref(h.CPUBusyCores))
}
