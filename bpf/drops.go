// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"maps"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/cilium/ebpf"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// DropsOptions are the choices of [OpenDrops]. Zero values match all.
type DropsOptions struct {
	Netns   uint64 // inode of the network namespace that the packet belonged to
	Ifindex int    // of the interface by which it came, or was to leave
	Port    uint16 // of either end
	// Flow is a port that tells one flow from all else: packets that have it at either end
	// are in rows of their own. 0: rows have the port of the destination.
	Flow uint16
}

// Drops counts the packets that the kernel drops.
type Drops struct {
	Hooks []Hook
	set   *set

	keys []dropKey // room for a reading
	raw  []dropCount
	name dropNames
}

// dropKey is struct drop_key of drops.bpf.c.
type dropKey struct {
	Place    uint64
	Reason   uint32
	Netns    uint32
	Ifindex  uint32
	Port     uint16
	Protocol uint8
	Unused   uint8
}

// dropCount is struct drop_count of drops.bpf.c.
type dropCount struct{ Packets, SKBs uint64 }

func (c *dropCount) add(d dropCount) { c.Packets, c.SKBs = c.Packets+d.Packets, c.SKBs+d.SKBs }

// DropReading is what was dropped since the beginning, or between two readings.
type DropReading struct {
	rows    map[dropKey]dropCount
	unnamed dropCount // found no room in the program's table
}

// dropPrograms are the program's choices, the best first.
var dropPrograms = []string{dropsProgDropped, dropsProgDroppedWithoutSocket}

// OpenDrops loads the probe. Interfaces get the names that they have in the calling thread's
// network namespace. It needs root.
func OpenDrops(o DropsOptions) (_ *Drops, err error) {
	s, err := newSet(loadDrops, map[string]any{dropsVarOnlyNetns: uint32(o.Netns),
		dropsVarOnlyIfindex: uint32(o.Ifindex),
		dropsVarOnlyPort:    o.Port, dropsVarFlowPort: o.Flow})
	if err != nil {
		return nil, err
	}
	d := &Drops{set: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count drops: %w", err)
	}
	rows := int(s.maps.Maps[dropsMapDrops].MaxEntries())
	d.keys, d.raw = make([]dropKey, rows), make([]dropCount, rows*cpus)
	if d.name.reasons, err = readDropReasons(s.cache); err != nil {
		return nil, err
	}
	if d.name.here, err = NetnsInode(); err != nil {
		return nil, err
	}
	if d.name.links, err = rtnl.Dial(); err != nil {
		return nil, err
	}
	serves := stage{name: "drops", choices: [][]string{dropPrograms[:1], dropPrograms[1:]}}
	d.Hooks = serves.attach(func(program string) Hook { return s.hook("drops", program) }, s.unhook)
	if last := d.Hooks[len(d.Hooks)-1]; !last.there() {
		return nil, fmt.Errorf("count drops: %s: %s", last.Function, last.Reason)
	}
	return d, nil
}

// Read returns what was dropped since the beginning.
func (d *Drops) Read() (DropReading, error) {
	r := DropReading{rows: map[dropKey]dropCount{}}
	table := d.set.maps.Maps[dropsMapDrops]
	var cursor ebpf.MapBatchCursor
	n, err := table.BatchLookup(&cursor, d.keys, d.raw, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return r, fmt.Errorf("read the drops: %w", err)
	}
	cpus := len(d.raw) / len(d.keys)
	for i, k := range d.keys[:n] {
		var sum dropCount
		for _, c := range d.raw[i*cpus : (i+1)*cpus] {
			sum.add(c)
		}
		r.rows[k] = sum
	}
	var rest []dropCount
	if err := d.set.maps.Maps[dropsMapUnnamed].Lookup(uint32(0), &rest); err != nil {
		return r, fmt.Errorf("read the drops: %w", err)
	}
	for _, c := range rest {
		r.unnamed.add(c)
	}
	return r, nil
}

// Sub returns what came between two readings.
func (r DropReading) Sub(earlier DropReading) DropReading {
	out := DropReading{rows: maps.Clone(r.rows), unnamed: dropCount{r.unnamed.Packets - earlier.unnamed.Packets,
		r.unnamed.SKBs - earlier.unnamed.SKBs}}
	for k, c := range earlier.rows {
		now := out.rows[k]
		now = dropCount{now.Packets - c.Packets, now.SKBs - c.SKBs}
		if now.SKBs == 0 {
			delete(out.rows, k)
			continue
		}
		out.rows[k] = now
	}
	return out
}

// Add adds what came between two other readings.
func (r DropReading) Add(more DropReading) DropReading {
	out := DropReading{rows: maps.Clone(r.rows), unnamed: r.unnamed}
	out.unnamed.add(more.unnamed)
	if out.rows == nil {
		out.rows = map[dropKey]dropCount{}
	}
	for k, c := range more.rows {
		sum := out.rows[k]
		sum.add(c)
		out.rows[k] = sum
	}
	return out
}

// Named names the rows of a reading. The kernel's symbols are read when they are first asked for,
// which takes some 0.2 s of CPU time: not within a window.
func (d *Drops) Named(r DropReading) (DropTable, error) { return d.name.table(r) }

// Close detaches everything.
func (d *Drops) Close() error {
	err := d.set.close()
	if d.name.links != nil {
		err = errors.Join(err, d.name.links.Close())
	}
	return err
}

// DropMetrics describe dropped packets.
var DropMetrics = []measure.MetricDoc{
	{Names: "drop_packets drop_flow_packets drop_unnamed_packets drop_not_lost_packets",
		Units: "packets", Source: "eBPF",
		Meaning: "that the kernel dropped in the end's network namespace, those that GSO or GRO " +
			"made one of counted one by one; of them to or from the data port; for which there " +
			"was no row; beside them, freed as dropped though they were delivered"},
	{Names: "drop_REASON_at_FUNCTION_packets",
		Units: "packets", Source: "eBPF",
		Meaning: "of them, by the kernel's reason and the function that dropped them; the source " +
			"has the place in full and the interfaces"},
	{Names: "drop_counted_NAME",
		Units: "packets", Source: "counters",
		Meaning: "packets lost in that time by the kernel's exact counters, each packet counted " +
			"once; super-packets are one"},
	{Names: "drop_unattributed_packets",
		Units: "packets", Source: "eBPF",
		Meaning: "of those, how many the probe has not seen to be dropped"},
}
