// SPDX-License-Identifier: MIT

package endpoint

import (
	"sync"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/cgroup"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/tally"
)

// meters are what a run reads counters through that are not its flows' own: of the CPUs, of what
// polls, of the interface and the sockets. They are opened with the end, before the run's time
// begins: a slow machine takes a second for them, which the ramp-up may not have.
type meters struct {
	hardware *counter.Hardware
	groups   *cgroup.Groups   // nil: nobody says which they are
	pollers  *counter.Pollers // nil: nothing polls for the flows
	polledBy NAPIThreads
	tasks    *bpf.Tasks      // nil: eBPF cannot tell who has the CPUs
	tally    *tally.Reader   // nil: the interface cannot be asked
	more     []*tally.Reader // of the interfaces beside the first
	nic      *nicWatch
	missing  []string // warnings of what is not counted
}

// openMeters comes after the paths are prepared: those that take queues over restart them, which
// gives these other NAPI instances.
func openMeters(s wire.EndSpec, in *inside) (m meters) {
	m.openPollers(s)
	m.hardware = hardware.open(s.MeasureCPUs)
	if !s.Shares { // in turns nobody reads these
		m.openGroups()
	}
	m.openTasks(s)
	m.openTally(s, in)
	m.nic = watchNIC(s, m.tally.Device())
	for _, t := range m.more {
		m.nic.beside(t.Device())
	}
	return m
}

// fitTurns refuses an end with turns whose work is in threads of the kernel that nobody reads at
// the edges of turns.
func (m *meters) fitTurns(s wire.EndSpec) error {
	if !s.Shares || len(m.polledBy.PIDs) == 0 {
		return nil
	}
	return &fault.Unsupported{Mode: s.Mode(), Op: "order: turns: threads poll " + s.Dev +
		" (threaded NAPI), whose CPU time is not read in turns", Blocked: true,
		How: "use order: blocks, or end it: echo 0 > /sys/class/net/" + s.Dev + "/threaded"}
}

func (m *meters) close() {
	hardware.close(m.hardware)
	m.groups.Close()
	m.pollers.Close()
	m.closeTasks()
	m.tally.Close()
	for _, t := range m.more {
		t.Close()
	}
}

// heldMeters are those of an end until its run takes them, whose they are then.
type heldMeters struct {
	mu sync.Mutex
	m  meters
}

func (h *heldMeters) hold(m meters) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m = m
}

// take leaves none.
func (h *heldMeters) take() (m meters) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, h.m = h.m, meters{}
	return m
}

// close closes those that no run has taken.
func (h *heldMeters) close() {
	m := h.take()
	m.close()
}
