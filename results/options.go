// SPDX-License-Identifier: MIT

package results

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// Options are all options, in the order in which tables show them. A new one is a field of
// [Cell] and an entry here.
var Options = []Option{
	{Name: "rx", Column: "rx_mode", Type: "string", Help: "receive mode", Kind: OfModes, Role: stream.RX, Default: "tcp",
		Takes: "a receive mode", words: func() []string { return stream.Names(stream.RX) }, value: mode(stream.RX, func(c *Cell) *string { return &c.RX })},
	{Name: "tx", Column: "tx_mode", Type: "string", Help: "send mode", Kind: OfModes, Role: stream.TX, Default: "tcp",
		Takes: "a send mode", words: func() []string { return stream.Names(stream.TX) }, value: mode(stream.TX, func(c *Cell) *string { return &c.TX })},

	{Name: "gro", Type: "on|off", Help: "set the receiver's GRO for the run", Kind: OfHost, Role: stream.RX, Sets: []string{"feature rx-gro"},
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.GRO })},
	{Name: "hw_gro", Type: "on|off", Help: "set the receiver's hardware GRO (rx-gro-hw) for the run", Kind: OfHost, Role: stream.RX, Sets: []string{"feature rx-gro-hw"},
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.HWGRO })},
	{Name: "header_split", Since: 3, Type: "on|off", Help: "have the NIC split headers from payload for the run, or not, of modes that do not do so by themselves",
		Kind: OfHost, Role: stream.RX, Sets: []string{"header-split"}, concerns: leavesHeaders,
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.HeaderSplit })},
	{Name: "big_tcp", Column: "big_tcp_bytes", Type: "bytes|off", Help: "set the largest GSO and GRO packet of both interfaces, IPv4 and IPv6 (off: 65536)",
		Kind: OfHost, Role: stream.RX, Sets: packetSizes, Also: "tg_big_tcp",
		Takes: "off, or bytes of the SUT's largest packet", value: bigTCP(func(c *Cell) *int { return &c.BigTCPBytes })},
	{Name: "tg_big_tcp", Column: "tg_big_tcp_bytes", Type: "bytes|off", Help: "set another size on the TG's interface",
		Kind: OfHost, Role: stream.TX, Sets: packetSizes,
		Takes: "off, or bytes of the TG's largest packet", value: bigTCP(func(c *Cell) *int { return &c.TGBigTCPBytes })},
	{Name: "cpu_layout", Flag: "layout", Type: "string", Help: "1cpu: softirq and application on one CPU; 2cpu: each on its own (default: as found)",
		Kind: OfRun, Role: stream.RX, Takes: "1cpu or 2cpu", Words: layouts, value: oneOf(func(c *Cell) *string { return &c.CPULayout }, layouts...)},
	{Name: "tg_cpu_layout", Since: 3, Flag: "tg-layout", Type: "string", Help: "the layout of the TG's CPUs (default: as the SUT's)",
		Kind: OfRun, Role: stream.TX, Takes: "1cpu or 2cpu", Words: layouts, value: oneOf(func(c *Cell) *string { return &c.TGCPULayout }, layouts...)},
	{Name: "rx_buf_len", Type: "bytes", Help: "bytes of one of the NIC's buffers, a power of two; 0: a page", Kind: OfPath, Role: stream.RX, concerns: hasNICQueue,
		Takes: "bytes of a receive buffer, a power of two", value: number(func(c *Cell) *int { return &c.RXBufLen }, bufLen(stream.MaxBufLen), shortBytes)},
	{Name: "mtu", Type: "int", Help: "set both interfaces' MTU for the run, bytes; 0: as found", Kind: OfHost, Sets: []string{"mtu"},
		Takes: "bytes in 1280..65535", value: number(func(c *Cell) *int { return &c.MTU }, orZero(within(1280, 65535)), shortBytes)},
	{Name: "message", Flag: "message-size", Column: "message_bytes", Type: "bytes", Help: "application message: what the sender hands over in one call (suffixes K, M, G: powers of 1024); of datagrams 64 unless told otherwise",
		Kind: OfPath, Default: "64M", Takes: "bytes that the sender hands over in one call", value: size(func(c *Cell) *int { return &c.MessageBytes }, 1, stream.MaxMessageBytes)},
	{Name: "read", Flag: "read-size", Column: "read_bytes", Type: "bytes", Help: "most bytes of one receive call; 0: the mode's default", Kind: OfPath, Role: stream.RX, concerns: byTCP,
		Takes: "bytes that the receiver asks for in one call", value: size(func(c *Cell) *int { return &c.ReadBytes }, 0, stream.MaxMessageBytes)},
	{Name: "rx_buffer", Since: 3, Column: "rx_buffer_bytes", Type: "bytes", Help: "the application's receive buffer, used again and again; hot: 256K, cold: 64M; 0: as long as a message", Kind: OfPath, Role: stream.RX, concerns: buffered,
		Takes: "bytes of the receiver's buffer, at least 16K; hot: 256K, which stays in the cache; cold: 64M", value: rxBuffer(func(c *Cell) *int { return &c.RXBuffer })},
	{Name: "token_batch", Type: "int", Help: "fragments to gather before they go back to the NIC, at most 1024; 1: after every read; 0: 512", Kind: OfPath, Role: stream.RX, concerns: returnsTokens,
		Takes: "fragments in 1..1024; 0: 512", value: count(func(c *Cell) *int { return &c.TokenBatch }, 0, stream.MaxTokenBatch)},
	{Name: "touch", Type: "string", Help: "what the receiver does with the payload: none, read (every cache line), verify (every byte by its position)",
		Kind: OfPath, Role: stream.RX, Default: "none",
		Takes: "none, read or verify", Words: touches, value: oneOf(func(c *Cell) *string { return &c.Touch }, touches...)},
	{Name: "congestion", Column: "congestion_asked", Type: "string", Help: "congestion control of the flow's socket, such as cubic (default: the host's)", Kind: OfPath, concerns: byTCP,
		Takes: "a congestion control such as cubic", value: word(func(c *Cell) *string { return &c.Congestion }, "a congestion control, such as cubic")},
	{Name: "control", Type: "string", Help: WrongQueue + ": steer the flow to another queue than the mode's, a run that must be found out to copy", Kind: OfRun, Role: stream.RX, concerns: takesQueue,
		Takes: "none, or " + WrongQueue + ": steer the flow to another queue than the mode's", Words: []string{"none", WrongQueue},
		value: noneOr(func(c *Cell) *string { return &c.Control }, parseControl, AsFound)},
	{Name: "probe", Type: "strings", Help: "probes to run with every flow, into metrics and report: " + strings.Join(ProbeNames, ", "), Kind: OfRun, Many: ",",
		Takes: "none, or probes joined by +: " + strings.Join(ProbeNames, ", "), Words: ProbeNames,
		value: noneOr(func(c *Cell) *string { return &c.Probe }, ParseProbe, NoProbe)},
	{Name: "probe_sample", Since: 3, Type: "int", Help: "the latency probe looks at one packet in so many, a power of two: the same packets at all stages; 0: 16", Kind: OfRun,
		Takes: "a power of two, 1 to 1024; 0: 16", value: number(func(c *Cell) *int { return &c.ProbeSample }, orZero(ParseProbeSample), nil)},

	{Name: "rcvbuf", Since: 3, Column: "rcvbuf_bytes", Type: "bytes", Help: "SO_RCVBUF in bytes; 0 leaves the kernel's auto-tuning", Kind: OfPath,
		Takes: "bytes; 0 leaves the kernel's auto-tuning", value: size(func(c *Cell) *int { return &c.RcvBuf }, 0, maxSocketBuffer)},
	{Name: "sndbuf", Since: 3, Column: "sndbuf_bytes", Type: "bytes", Help: "SO_SNDBUF in bytes; 0 leaves the kernel's auto-tuning", Kind: OfPath,
		Takes: "bytes; 0 leaves the kernel's auto-tuning", value: size(func(c *Cell) *int { return &c.SndBuf }, 0, maxSocketBuffer)},
	{Name: "pace", Since: 3, Column: "pace_bits_ps", Type: "bit/s|N%", Help: "payload bits per second to keep to (suffixes K, M, G: powers of 1000), or N% of what the slowest of the compared cells does without; none: as fast as it can", Kind: OfPath, Role: stream.TX,
		Takes: "none; payload bits per second, at least 1M; or N%, 1 to 90, of the unpaced median of the slowest of the compared cells", value: pace},
	{Name: "uring_engine", Since: 3, Column: "uring_engine_asked", Type: "string", Help: "implementation of the ring: " + strings.Join(uringEngines, ", ") + " (default: " + uringEngines[0] + ")",
		Kind: OfPath, concerns: stream.Mode.UsesRing,
		Takes: "an implementation of the ring", Words: uringEngines, value: word(func(c *Cell) *string { return &c.UringEngine }, "an implementation of the ring")},
	{Name: "gather", Since: 3, Column: "gather_us", Type: "duration", Help: "for how long a receiver that has taken all that was there lets more come before it looks again; io_uring's from 6.12 on (default: 0, not at all)",
		Kind: OfPath, Role: stream.RX, concerns: byTCP,
		Takes: "a duration of whole microseconds", value: microseconds(func(c *Cell) **int { return &c.GatherUs }, stream.MaxGather)},

	{Name: "udp_batch", Since: 3, Type: "int", Help: "datagrams that a call moves at most; 1: a call for each (default: 64)", Kind: OfPath, concerns: inBatches,
		Takes: fmt.Sprintf("datagrams in 1..%d; 0: as many as there can be", stream.MaxBatch), value: count(func(c *Cell) *int { return &c.UDPBatch }, 0, stream.MaxBatch)},
	{Name: "udp_segmentation", Since: 3, Type: "on|off", Help: "set the sender's offload of UDP segmentation (tx-udp-segmentation) for the run; off: the kernel makes the packets before they are sent, also over veth, which makes none of its own",
		Kind: OfHost, Role: stream.TX, Sets: []string{"feature tx-udp-segmentation"}, concerns: segments,
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.UDPSegment })},
	{Name: "xdp_touch", Since: 3, Type: "string", Help: "what an XDP program does with a frame's bytes: " + strings.Join(stream.XDPTouches, ", ") + " (default: read; of what goes back: swap-macs)",
		Kind: OfPath, Role: stream.RX, concerns: runsXDP,
		Takes: "what an XDP program does with a frame's bytes", Words: stream.XDPTouches, value: oneOf(func(c *Cell) *string { return &c.XDPTouch }, stream.XDPTouches...)},
	{Name: "xdp_attach", Since: 3, Type: "string", Help: "where an XDP program runs: native, in the driver, or generic, where the stack begins (default: native)",
		Kind: OfPath, Role: stream.RX, concerns: runsXDP,
		Takes: "native or generic", Words: stream.XDPAttaches, value: oneOf(func(c *Cell) *string { return &c.XDPAttach }, stream.XDPAttaches...)},
	{Name: "xdp_redirect", Since: 3, Type: "string", Help: "where xdp-redirect sends frames: to the CPU of the receiver's thread, or out again by the interface (default: cpu)",
		Kind: OfPath, Role: stream.RX, concerns: redirects,
		Takes: "cpu or dev", Words: stream.XDPRedirects, value: oneOf(func(c *Cell) *string { return &c.XDPRedirect }, stream.XDPRedirects...)},
	{Name: "tuples", Since: 3, Type: "int", Help: "5-tuples that generated frames belong to in turn, told apart by their source ports (default: 1)", Kind: OfPath, concerns: ofFrames,
		Takes: fmt.Sprintf("5-tuples in 1..%d", stream.MaxTuples), value: number(func(c *Cell) *int { return &c.Tuples }, within(1, stream.MaxTuples), func(raw string) string { return cmp.Or(raw, "1") })},
	{Name: "burst", Since: 3, Type: "int", Help: "generated frames that leave together at a pace (default: 1)", Kind: OfPath, Role: stream.TX, concerns: ofFrames,
		Takes: fmt.Sprintf("frames in 1..%d", stream.MaxBurst), value: number(func(c *Cell) *int { return &c.Burst }, within(1, stream.MaxBurst), func(raw string) string { return cmp.Or(raw, "1") })},

	{Name: "queue", Since: 3, Type: "int", Help: "RX queue that the flow is to come by; modes that take one over take it (default: the last), of others the flow is steered to it (default: as found)",
		Kind: OfPath, Role: stream.RX, concerns: byTCP,
		Takes: "the number of an RX queue", value: optionalNumber(func(c *Cell) **int { return &c.Queue }, within(0, 65535))},
	{Name: "flows", Since: 3, Type: "int", Help: "flows to run at the same time, each with a thread of its own; one window measures all (default: 1)", Kind: OfPath,
		Takes: fmt.Sprintf("flows in 1..%d", stream.MaxFlows), value: number(func(c *Cell) *int { return &c.Flows }, within(1, stream.MaxFlows), func(raw string) string { return cmp.Or(raw, "1") })},
	{Name: "queues", Since: 3, Type: "int", Help: "RX queues that the flows are spread over, from --queue on, or the last ones (default: one a flow of modes that take queues over, of others as found)",
		Kind: OfPath, Role: stream.RX, concerns: byTCP,
		Takes: fmt.Sprintf("RX queues in 1..%d, at most as many as flows", stream.MaxFlows), value: count(func(c *Cell) *int { return &c.Queues }, 1, stream.MaxFlows)},
	{Name: "steer_queue", Since: 3, Type: "int", Help: "steer the flow to this RX queue instead: a control run that must be found out to copy", Kind: OfPath, Role: stream.RX, concerns: hasNICQueue,
		Takes: "the number of an RX queue", value: optionalNumber(func(c *Cell) **int { return &c.SteerTo }, within(0, 65535))},
	{Name: "area", Since: 3, Type: "string", Help: "memory for payload: " + strings.Join(stream.AreaKinds, ", ") + " (default: pages; devmem: udmabuf; huge with a long --rx-buf-len)",
		Kind: OfPath, Role: stream.RX, concerns: hasNICQueue,
		Takes: "a kind of memory for payload", Words: stream.AreaKinds, value: oneOf(func(c *Cell) *string { return &c.Area }, stream.AreaKinds...)},
	{Name: "area_bytes", Since: 3, Flag: "area-size", Type: "bytes", Help: "bytes of memory for payload; 0: 64M; devmem: four times the NIC's ring, and --hold", Kind: OfPath, Role: stream.RX, concerns: hasNICQueue,
		Takes: "bytes of memory for payload", value: size(func(c *Cell) *int { return &c.AreaBytes }, 0, stream.MaxAreaBytes)},
	{Name: "refill_entries", Since: 3, Type: "int", Help: "size of the ring by which buffers go back; 0: as many as there are buffers", Kind: OfPath, Role: stream.RX, concerns: ringsPayload,
		Takes: "entries of the refill ring", value: count(func(c *Cell) *int { return &c.RefillEntries }, 0, stream.MaxRefillEntries)},
	{Name: "cq_entries", Since: 3, Type: "int", Help: "size of the completion queue; 0: 8192", Kind: OfPath, Role: stream.RX, concerns: ringsPayload,
		Takes: "entries of the completion queue", value: count(func(c *Cell) *int { return &c.CQEntries }, 0, stream.MaxCQEntries)},
	{Name: "hold", Since: 3, Column: "hold_bytes", Type: "bytes", Help: "bytes of payload to keep before the oldest buffer goes back", Kind: OfPath, Role: stream.RX, concerns: hasNICQueue,
		Takes: "bytes of payload to keep", value: size(func(c *Cell) *int { return &c.HoldBytes }, 0, stream.MaxAreaBytes)},

	{Name: "rx_ring", Since: 3, Type: "int", Help: "set the RX descriptors per queue of both interfaces", Kind: OfHost, Sets: []string{"ring rx"},
		Takes: "descriptors of a queue", value: count(func(c *Cell) *int { return &c.RXRing }, 0, 1<<20)},
	{Name: "tx_ring", Since: 3, Type: "int", Help: "set the TX descriptors per queue of both interfaces", Kind: OfHost, Sets: []string{"ring tx"},
		Takes: "descriptors of a queue", value: count(func(c *Cell) *int { return &c.TXRing }, 0, 1<<20)},
	{Name: "channels", Since: 3, Type: "int", Help: "set the number of queues of both interfaces", Kind: OfHost, Sets: []string{"channels"},
		Takes: "queues", value: count(func(c *Cell) *int { return &c.Channels }, 0, 1<<16)},
	{Name: "set", Since: 3, Type: "[sut:|tg:]NAME=VALUE", Help: `set anything else of the interfaces, such as "coalesce rx-usecs=5" (repeatable; docs/settings.md)`, Kind: OfHost, Many: "; ",
		Takes: "settings of the interfaces, joined by ;", value: others(func(c *Cell) *string { return &c.Set })},
	{Name: "sysctl_profile", Since: 3, Type: "string", Help: "set a group of sysctls on both hosts: " + strings.Join(Profiles, ", "), Kind: OfHost,
		Takes: "a group of sysctls: " + strings.Join(Profiles, ", "), Words: Profiles, value: oneOf(func(c *Cell) *string { return &c.SysctlProfile }, Profiles...)},
	{Name: "hugepages", Since: 3, Flag: "huge-pages", Type: "int", Help: "set the number of huge pages of both hosts", Kind: OfHost, Sets: []string{"sysctl vm.nr_hugepages"},
		Takes: "huge pages of the default size", value: count(func(c *Cell) *int { return &c.HugePages }, 0, 1<<24)},
	{Name: "governor", Since: 3, Column: "governor_asked", Type: "string", Help: "set the frequency governor of all CPUs of both hosts, such as performance", Kind: OfHost, Sets: []string{"governor"},
		Takes: "a frequency governor, such as performance", value: word(func(c *Cell) *string { return &c.Governor }, "a governor, such as performance")},
	{Name: "max_idle_us", Since: 3, Type: "int", Help: "keep the CPUs of both hosts out of idle states that take longer to leave, microseconds", Kind: OfHost, Sets: []string{"idle"},
		Takes: "microseconds", value: optionalNumber(func(c *Cell) **int { return &c.MaxIdleUs }, within(0, 1<<30))},
	{Name: "stop_irqbalance", Since: 3, Type: "bool", Help: "stop irqbalance on both hosts for the run", Kind: OfHost, Sets: []string{"irqbalance"},
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.StopBalance })},
}

// Profiles are the groups of sysctls that package tune knows.
var Profiles = []string{"reference"}

// maxSocketBuffer is half of what the kernel can count: it doubles what it is given.
const maxSocketBuffer = 1 << 30

var (
	onOffWords  = []string{"on", "off"}
	layouts     = []string{"1cpu", "2cpu"}
	touches     = []string{"none", "read", "verify"}
	packetSizes = []string{"gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size"}
)

func buffered(m stream.Mode) bool      { return m.Buffered }
func leavesHeaders(m stream.Mode) bool { return !m.SplitsHeaders }
func runsXDP(m stream.Mode) bool       { return m.XDP }
func redirects(m stream.Mode) bool     { return m.Redirects }
func ofFrames(m stream.Mode) bool      { return m.Kind == stream.Frame }
func byTCP(m stream.Mode) bool         { return m.Kind == stream.Stream }
func inBatches(m stream.Mode) bool     { return m.Batches }
func segments(m stream.Mode) bool      { return m.Segments }
func hasNICQueue(m stream.Mode) bool   { return m.NICQueue }
func ringsPayload(m stream.Mode) bool  { return m.NICQueue && !m.DMABuf }
func returnsTokens(m stream.Mode) bool { return m.NICQueue && m.DMABuf }

// takesQueue: the mode takes a queue over, so that a flow can miss it.
func takesQueue(m stream.Mode) bool { return m.NICQueue && m.NeedsDev }

// uringEngines are those of package uring, whichever are built in; the first is the default.
var uringEngines = []string{string(uring.Native), string(uring.Giouring)}

func mode(role stream.Role, at func(*Cell) *string) value {
	return text(at, func(s string) error {
		_, err := stream.LookupMode(role, s)
		return err
	})
}

// orZero lets 0 stand for "as found".
func orZero(parse func(string) (int, error)) func(string) (int, error) {
	return func(s string) (int, error) {
		if s == "0" {
			return 0, nil
		}
		return parse(s)
	}
}
