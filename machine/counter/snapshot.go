// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/cgroup"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Config says what a snapshot reads. The zero value is everything that needs no
// name, on the running host.
type Config struct {
	FS FS
	// CPUs are the measured CPUs, nil for all online ones.
	CPUs []int
	// Dev is the interface to read, "" for none.
	Dev string
	// More are interfaces beside Dev, of flows that have several.
	More []string
	// Sends: the end sends. Rates per packet are of the packets that Dev sent, not of those that
	// it received.
	Sends bool
	// Sockets are the flows' TCP sockets.
	Sockets []int
	// Threads names threads of this process whose own CPU time is reported,
	// such as "data_path": their TIDs.
	Threads map[string]int
	// ForeignThreshold is the foreign load in cores that gets a flag, 0 for
	// DefaultForeignThreshold.
	ForeignThreshold float64
	// End is set for the snapshot that ends the window. Taking one costs
	// fractions of a millisecond of CPU time; so that this lies outside the
	// window, the one that begins it reads the CPU columns last, and the one
	// that ends it reads them first, the rest in mirrored order.
	End bool
	// Hardware is read too, unless it is nil. Both snapshots of a window must have
	// the same.
	Hardware *Hardware
	// Pollers are read too, in the same way.
	Pollers *Pollers
	// Tasks are read too, in the same way: who had the CPUs. Of those that it does not tell of, and
	// where it is nil, /proc/schedstat is asked.
	Tasks TaskReader
	// Groups are the control groups of this process, read in the same way.
	Groups *cgroup.Groups
	// OfFlow leaves out all that is of the host: a [TurnSum] has that of the flow's turns. DevOfAll
	// reads Dev nevertheless, whose counters then are of all that had turns in the window.
	OfFlow, DevOfAll bool
}

// Snapshot is every counter at one edge of the window. A part that could not be
// read is nil or zero and has a warning.
type Snapshot struct {
	Config  Config
	CPU     CPUSnapshot
	Threads []ThreadTimes // of this process
	Rusage  Rusage
	TCP     []TCPInfo // of each socket
	Link    *rtnl.Link
	More    []*rtnl.Link // of Config.More
	Softnet []procfs.SoftnetStat
	Softirq Softirqs
	Netstat Netstat
	Heat    heat // of the snapshot that ends the window

	IdleStates []IdleState
	Throttle   []Throttle
	Hardware   EventCounts
	Pollers    []pollerTimes
	Groups     *cgroup.Reading
	Tasks      *TaskTimes
	Schedstat  Schedstat

	CostNs   int64 // CPU time that taking it used on its thread
	TookNs   int64 // and how long it took
	Warnings []string
}

// Take reads a snapshot on the calling thread: the network counters are those
// of its namespace. A part that this host does not have is missing with a
// warning, and so are the CPU columns where another file stands at their place. It fails
// only when these cannot be read at all.
func Take(cfg Config) (Snapshot, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, cpuFrom := Monotonic(), ownThreadClock()
	s := Snapshot{Config: cfg}
	parts := s.parts()
	var err error
	for i := range parts {
		p := parts[i]
		if cfg.End {
			p = parts[len(parts)-1-i]
		}
		switch perr := p.read(); {
		case perr == nil:
		case p.must && kernelfile.IsNotKernels(perr):
			s.CPU = CPUSnapshot{AtNs: Monotonic(), Missing: perr.Error()} // the rest is true
		case p.must:
			err = errors.Join(err, perr)
		default:
			s.Warnings = append(s.Warnings, "not measured: "+perr.Error())
		}
	}
	s.TookNs, s.CostNs = Monotonic()-from, ownThreadClock()-cpuFrom
	if err != nil {
		return Snapshot{}, fmt.Errorf("take snapshot: %w", err)
	}
	return s, nil
}

type part struct {
	must bool
	read func() error
}

// parts lists the readers in the order of a beginning snapshot: from what is
// least tied to the window's edge to the CPU columns, with the thread clocks
// next to those because foreign load is their difference.
func (s *Snapshot) parts() []part {
	fs := s.Config.FS
	if s.Config.OfFlow {
		var parts []part
		if s.Config.DevOfAll {
			parts = []part{{read: func() (err error) { s.Link, err = ReadLink(s.Config.Dev); return }}}
		}
		return append(append(parts, s.sockets()...),
			part{read: func() (err error) { s.Threads, err = readThreads(fs, 0); return }})
	}
	parts := []part{
		{read: func() (err error) { s.Groups, err = s.Config.Groups.Read(); return }},
		{read: func() error {
			if s.Config.End { // after the load, not before it
				s.Heat = readHeat(fs, s.Config.CPUs)
			}
			return nil
		}},
		{read: func() (err error) { s.Netstat, err = ReadNetstat(fs); return }},
		{read: func() (err error) { s.Softirq, err = ReadSoftirqs(fs); return }},
		{read: func() (err error) { s.Softnet, err = ReadSoftnet(fs); return }},
	}
	parts = append(parts,
		part{read: func() (err error) { s.Throttle, err = ReadThrottle(fs, s.Config.CPUs); return }},
		part{read: func() (err error) { s.IdleStates, err = ReadIdleStates(fs, s.Config.CPUs); return }})
	if dev := s.Config.Dev; dev != "" {
		parts = append(parts, part{read: func() (err error) { s.Link, err = ReadLink(dev); return }})
	}
	s.More = make([]*rtnl.Link, len(s.Config.More))
	for i, dev := range s.Config.More {
		parts = append(parts, part{read: func() (err error) { s.More[i], err = ReadLink(dev); return }})
	}
	return append(append(parts, s.sockets()...),
		part{read: func() (err error) { s.Rusage, err = ReadRusage(); return }},
		part{read: func() (err error) { s.Hardware, err = s.Config.Hardware.Read(s.Config.End); return }},
		part{read: func() (err error) { s.Threads, err = readThreads(fs, 0); return }},
		part{read: func() (err error) { s.Pollers, err = s.Config.Pollers.Read(); return }},
		part{read: s.readTasks},
		part{must: true, read: func() (err error) { s.CPU, err = ReadCPU(fs); return }})
}

// readTasks reads who had the CPUs, and what the kernel sums up, for CPUs that cannot be read.
func (s *Snapshot) readTasks() (err error) {
	s.Schedstat, err = readSchedstat(s.Config.FS)
	if s.Config.Tasks == nil {
		return err
	}
	s.Tasks, err = s.Config.Tasks.Read() // what is missing of the other matters to none
	return err
}

// sockets lists the readers of the flows' sockets.
func (s *Snapshot) sockets() (parts []part) {
	s.TCP = make([]TCPInfo, len(s.Config.Sockets))
	for i, fd := range s.Config.Sockets {
		parts = append(parts, part{read: func() (err error) { s.TCP[i], err = ReadTCPInfo(fd); return }})
	}
	return parts
}
