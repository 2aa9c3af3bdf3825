// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/plan/modes"
)

// openTasks begins to count who has the CPUs, after it is known what polls for the flows.
func (m *meters) openTasks(s wire.EndSpec) {
	o, err := tasksOf(s)
	if err == nil {
		m.tasks, err = counting.open(o, slices.Concat(m.polledBy.PIDs, generators(s)))
	}
	if err != nil {
		m.missing = append(m.missing, "load of others is not told by tasks, but by /proc alone: "+fault.Reason(err))
	}
}

// generators finds the kernel's threads that make an end's frames.
func generators(s wire.EndSpec) (pids []int) {
	path, err := modes.Find(s.Role, s.Mode())
	if err != nil || !slices.Contains(path.Needs, stream.NeedPktgen) {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range all {
		comm, err := kernelfile.ReadFile(name)
		pid, perr := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && perr == nil && strings.HasPrefix(string(comm), "kpktgend_") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (m *meters) closeTasks() {
	counting.close(m.tasks)
	m.tasks = nil
}

// taskReader returns nil where there is none, and not a pointer that is nil.
func (m *meters) taskReader() counter.TaskReader {
	if m.tasks == nil {
		return nil
	}
	return m.tasks
}

// turnTasks is the same of turns.
func (m *meters) turnTasks() counter.TurnTasks {
	if m.tasks == nil {
		return nil
	}
	return m.tasks
}

// sharedTasks are the programs of an agent, one for all ends of the same interfaces: on each task
// switch there is no second one.
type sharedTasks struct {
	mu  sync.Mutex
	all map[string]*heldTasks // by what they were opened with
}

type heldTasks struct {
	*bpf.Tasks
	ends int
}

var counting sharedTasks

func (c *sharedTasks) open(o bpf.TasksOptions, serving []int) (*bpf.Tasks, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprint(o)
	if h := c.all[key]; h != nil {
		h.ends++
		return h.Tasks, h.Serve(serving)
	}
	o.Serving = serving
	t, err := bpf.OpenTasks(o)
	if err != nil {
		return nil, err
	}
	if c.all == nil {
		c.all = map[string]*heldTasks{}
	}
	c.all[key] = &heldTasks{t, 1}
	return t, nil
}

// close closes those that no end needs any more; nil: there are none.
func (c *sharedTasks) close(t *bpf.Tasks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, h := range c.all {
		if h.Tasks != t {
			continue
		}
		if h.ends--; h.ends == 0 {
			h.Close()
			delete(c.all, key)
		}
	}
}

// tasksOf finds whose softirq is the flow's: that of its interface and of those below it. Others'
// brings nothing of the flow where it comes from hardware, or by loopback, and where both ends of a
// veth link are the flow's; behind a bridge it may. Where the flows have several interfaces, of
// which the program knows one of the other end's, others' are nobody's.
func tasksOf(s wire.EndSpec) (o bpf.TasksOptions, err error) {
	for n := range s.NPorts() {
		own, err := tasksOn(s.On(s.PortOf(n)))
		if err != nil {
			return own, err
		}
		if n == 0 {
			o = own
			continue
		}
		for _, i := range own.Ifindexes {
			if !slices.Contains(o.Ifindexes, i) {
				o.Ifindexes = append(o.Ifindexes, i)
			}
		}
		o.OthersForeign, o.ByPacket = false, o.ByPacket || own.ByPacket
	}
	return o, nil
}

func tasksOn(s wire.EndSpec) (o bpf.TasksOptions, err error) {
	inode, err := bpf.NetnsInode()
	if o.Netns = uint32(inode); err != nil || s.Dev == "" {
		return o, err
	}
	stack, err := rtnl.ReadStack()
	if err != nil {
		return o, err
	}
	l, ok := stack.Named(s.Dev)
	if !ok {
		return o, fmt.Errorf("there is no interface %s", s.Dev)
	}
	o.OthersForeign = true
	for _, x := range slices.Concat(stack.Below(l), stack.Ports(l)) {
		if !slices.Contains(o.Ifindexes, x.Index) {
			o.Ifindexes = append(o.Ifindexes, x.Index)
		}
		hardware := x.Kind == ""
		bottom := len(stack.Below(x)) == 1 && !x.Joins() && !x.LowerElsewhere
		if bottom && !hardware {
			o.OthersForeign = false
		}
		o.OthersForeign = o.OthersForeign && !x.LowerElsewhere
	}
	if p := s.Pair; p != nil {
		o.PairIfindex, o.PairNetns = p.Index, uint32(p.Netns)
		if p.Linked && l.Peer == p.Index {
			o.OthersForeign, o.ByPacket = true, true
		}
	}
	o.ByPacket = o.ByPacket || s.Dev == "lo"
	return o, nil
}
