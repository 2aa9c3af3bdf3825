// SPDX-License-Identifier: MIT

package results

import "github.com/zcbench/zcbench/machine/measure"

// Profiled is where the busy time of an end's measured CPUs went (docs/profile.md). The profile
// itself lies beside the journal, see [ProfileFile].
type Profiled struct {
	Event   string   `json:"event"` // what samples came by: cycles, cpu-clock
	Hz      int      `json:"hz"`
	Samples *float64 `json:"samples"`
	Lost    *float64 `json:"lost_samples"`
	// SampledBusyCores is how busy the CPUs were by the samples alone; nil: cycles of CPUs at an
	// unknown speed do not tell.
	SampledBusyCores *float64 `json:"sampled_busy_cores,omitempty"`
	// Between are those of a window with turns that were taken in nobody's: they are in no profile.
	Between *float64 `json:"between_turns_samples,omitempty"`
	// ReaderCores is what it took to empty the samples' rings; what samples themselves take is
	// part of what they interrupt.
	ReaderCores *float64 `json:"reader_cores,omitempty"`
	// Packets are those that IP took or sent (after GRO), WirePackets those of the wire that they
	// were, and WireSource what counted these ([WirePackets]); nil: nothing did.
	Packets     *float64       `json:"packets,omitempty"`
	WirePackets *float64       `json:"wire_packets,omitempty"`
	WireSource  string         `json:"wire_packets_source,omitempty"`
	Busy        ProfiledPart   `json:"busy"`      // of all classes together
	Classes     []ProfiledPart `json:"classes"`   // the largest first
	Functions   []ProfiledPart `json:"functions"` // likewise, of those with most time of their own
}

// ProfiledPart is a part of the busy time, in nanoseconds: per kB of 1000 bytes of payload, per
// packet that the kernel's IP took or sent (after GRO), and per packet of the wire. Total has what
// it called in it; classes have none.
type ProfiledPart struct {
	Name           string   `json:"name,omitempty"`
	Where          string   `json:"where,omitempty"` // of a function: thread, softirq, interrupt
	Class          string   `json:"class,omitempty"` // of a function
	SelfPerKB      *float64 `json:"self_ns_per_kb,omitempty"`
	SelfPerPacket  *float64 `json:"self_ns_per_packet,omitempty"`
	SelfPerWire    *float64 `json:"self_ns_per_wire_packet,omitempty"`
	TotalPerKB     *float64 `json:"total_ns_per_kb,omitempty"`
	TotalPerPacket *float64 `json:"total_ns_per_packet,omitempty"`
	TotalPerWire   *float64 `json:"total_ns_per_wire_packet,omitempty"`

	// Of a class, and of all: cycles, instructions and misses of the last-level cache per kB, by
	// samples of each; nil: there is no such counter.
	CyclesPerKB       *float64 `json:"cycles_per_kb,omitempty"`
	InstructionsPerKB *float64 `json:"instructions_per_kb,omitempty"`
	LLCMissesPerKB    *float64 `json:"llc_misses_per_kb,omitempty"`
}

// IPC returns instructions per cycle; nil: it is not known.
func (p *ProfiledPart) IPC() *float64 {
	if p.CyclesPerKB == nil || p.InstructionsPerKB == nil || !(*p.CyclesPerKB > 0) {
		return nil
	}
	return new(*p.InstructionsPerKB / *p.CyclesPerKB)
}

// MostFunctions is how many functions of an end a record has; the profile has all.
const MostFunctions = 60

// profileSource is how the source of a profile's metric begins.
const profileSource = "perf"

// rows turns the profile into rows of metrics.csv.
func (p *Profiled) rows() (out []measure.Metric) {
	if p == nil {
		return nil
	}
	from := func(source, name, unit string, v *float64) {
		if v != nil {
			out = append(out, measure.Metric{Name: "profile_" + name, Unit: unit, Value: *v, Source: source})
		}
	}
	add := func(name, unit string, v *float64) { from(profileSource+" "+p.Event, name, unit, v) }
	add("samples", "1", p.Samples)
	add("lost_samples", "1", p.Lost)
	add("between_turns_samples", "1", p.Between)
	add("sampled_busy_cores", "cores", p.SampledBusyCores)
	from("sampler", "reader_cores", "cores", p.ReaderCores)
	from(p.WireSource, "wire_packets", "packets", p.WirePackets)
	add("busy_ns_per_kb", "ns/kB", p.Busy.SelfPerKB)
	add("busy_ns_per_packet", "ns", p.Busy.SelfPerPacket)
	add("busy_ns_per_wire_packet", "ns", p.Busy.SelfPerWire)
	done := func(name string, c *ProfiledPart) {
		add(name+"_instructions_per_kb", "1/kB", c.InstructionsPerKB)
		add(name+"_ipc", "1", c.IPC())
		add(name+"_llc_misses_per_kb", "1/kB", c.LLCMissesPerKB)
	}
	done("busy", &p.Busy)
	for _, c := range p.Classes {
		name := "class_" + metricWord(c.Name)
		done(name, &c)
		add(name+"_ns_per_kb", "ns/kB", c.SelfPerKB)
		add(name+"_ns_per_packet", "ns", c.SelfPerPacket)
		add(name+"_ns_per_wire_packet", "ns", c.SelfPerWire)
	}
	seen := map[string]bool{}
	for _, f := range p.Functions {
		name := "function_" + metricWord(f.Where) + "_" + metricWord(f.Name)
		if seen[name] {
			continue // another module's function of that name, with less
		}
		seen[name] = true
		add(name+"_self_ns_per_kb", "ns/kB", f.SelfPerKB)
		add(name+"_self_ns_per_packet", "ns", f.SelfPerPacket)
		add(name+"_self_ns_per_wire_packet", "ns", f.SelfPerWire)
		add(name+"_total_ns_per_kb", "ns/kB", f.TotalPerKB)
		add(name+"_total_ns_per_packet", "ns", f.TotalPerPacket)
		add(name+"_total_ns_per_wire_packet", "ns", f.TotalPerWire)
	}
	return out
}
