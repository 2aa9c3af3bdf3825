// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// Options are all options, in the order in which tables show them. A new one is a field of
// [Cell] and an entry here.
var Options = []Option{
	{Name: "rx", Column: "rx_mode", Type: "string", Help: "receive mode", Kind: OfModes, Role: stream.RX,
		Default: "tcp",
		Takes:   "a receive mode", words: func() []string { return modes.Names(stream.RX) },
		value: mode(stream.RX, func(c *Cell) *string { return &c.RX })},
	{Name: "tx", Column: "tx_mode", Type: "string", Help: "send mode", Kind: OfModes, Role: stream.TX, Default: "tcp",
		Takes: "a send mode", words: func() []string { return modes.Names(stream.TX) },
		value: mode(stream.TX, func(c *Cell) *string { return &c.TX })},

	{Name: "gro", Type: "on|off", Help: "GRO of the receiver", Kind: OfHost, Role: stream.RX,
		Sets:  []string{"feature rx-gro"},
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.GRO })},
	{Name: "hw_gro", Type: "on|off", Help: "hardware GRO (rx-gro-hw) of the receiver", Kind: OfHost, Role: stream.RX,
		Sets:  []string{"feature rx-gro-hw"},
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.HWGRO })},
	{Name: "header_split", Since: 3, Type: "on|off",
		Help: "header split on the NIC, for modes that do not set it themselves",
		Kind: OfHost, Role: stream.RX, Sets: []string{"header-split"}, concerns: leavesHeaders,
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.HeaderSplit })},
	{Name: "big_tcp", Column: "big_tcp_bytes", Type: "bytes|off",
		Help: "largest GSO and GRO packet on both interfaces, IPv4 and IPv6 (off: 65536)",
		Kind: OfHost, Role: stream.RX, Sets: packetSizes, Also: "tg_big_tcp",
		Takes: "off, or bytes of the SUT's largest packet",
		value: bigTCP(func(c *Cell) *int { return &c.BigTCPBytes })},
	{Name: "tg_big_tcp", Column: "tg_big_tcp_bytes", Type: "bytes|off",
		Help: "like --big-tcp, but only for the TG's interface",
		Kind: OfHost, Role: stream.TX, Sets: packetSizes,
		Takes: "off, or bytes of the TG's largest packet",
		value: bigTCP(func(c *Cell) *int { return &c.TGBigTCPBytes })},
	{Name: "cpu_layout", Flag: "layout", Type: "string",
		Help: "1cpu: softirq and application share a CPU; 2cpu: one CPU each (default: as found)",
		Kind: ofRun, Role: stream.RX, Takes: "1cpu or 2cpu", Words: layouts,
		value: oneOf(func(c *Cell) *string { return &c.CPULayout }, layouts...)},
	{Name: "tg_cpu_layout", Since: 3, Flag: "tg-layout", Type: "string",
		Help: "CPU layout of the TG (default: the same as the SUT's)",
		Kind: ofRun, Role: stream.TX, Takes: "1cpu or 2cpu", Words: layouts,
		value: oneOf(func(c *Cell) *string { return &c.TGCPULayout }, layouts...)},
	{Name: "rx_buf_len", Type: "bytes", Help: "size of the NIC's receive buffers, a power of two; 0: one page",
		Kind: OfPath, Role: stream.RX, concerns: has(stream.UsesNICQueue),
		Takes: "bytes of a receive buffer, a power of two", value: number(func(c *Cell) *int { return &c.RXBufLen },
			bufLen(stream.MaxBufLen), shortBytes)},
	{Name: "mtu", Type: "int", Help: "MTU of both interfaces in bytes; 0: as found", Kind: OfHost,
		Sets:  []string{"mtu"},
		Takes: "bytes in 1280..65535", value: number(func(c *Cell) *int { return &c.MTU }, orZero(within(1280, 65535)),
			shortBytes)},
	{Name: "message", Flag: "message-size", Column: "message_bytes", Type: "bytes",
		Help: "bytes that the sender passes in one call; suffixes K, M, G (powers of 1024); datagrams default to 64",
		Kind: OfPath, Default: "64M", besides: has(stream.RoundTrips), instead: []string{"request", "response"},
		Takes: "bytes that the sender passes in one call", value: size(func(c *Cell) *int { return &c.MessageBytes },
			1, stream.MaxMessageBytes)},
	{Name: "read", Plenty: More, Flag: "read-size", Column: "read_bytes", Type: "bytes",
		Help: "most bytes that one receive call requests; 0: the mode's default", Kind: OfPath, Role: stream.RX,
		concerns: byTCP,
		Takes:    "bytes that the receiver requests in one call",
		value: size(func(c *Cell) *int { return &c.ReadBytes },
			0, stream.MaxMessageBytes)},
	{Name: "rx_buffer", Since: 3, Column: "rx_buffer_bytes", Type: "bytes",
		Help: "size of the application's receive buffer, which is reused; hot: 256K, cold: 64M; 0: one message",
		Kind: OfPath, Role: stream.RX, concerns: has(stream.Buffered),
		Takes: "bytes of the receiver's buffer, at least 16K; hot: 256K, which stays in the cache; cold: 64M",
		value: rxBuffer(func(c *Cell) *int { return &c.RXBuffer })},
	{Name: "token_batch", Plenty: Less, Type: "int",
		Help: "fragments to collect before returning them to the NIC, at most 1024; 1: return after every read; 0: 512",
		Kind: OfPath, Role: stream.RX, concerns: has(stream.UsesNICQueue | stream.DMABuf),
		Takes: "fragments in 1..1024; 0: 512", value: count(func(c *Cell) *int { return &c.TokenBatch }, 0,
			stream.MaxTokenBatch)},
	{Name: "touch", Type: "string",
		Help: "what the receiver does with the payload: none, read (every cache line) or verify (every byte)",
		Kind: OfPath, Role: stream.RX, Default: "none",
		Takes: "none, read or verify", Words: touches, value: oneOf(func(c *Cell) *string { return &c.Touch },
			touches...)},
	{Name: "congestion", Column: "congestion_asked", Type: "string",
		Help: "congestion control of the flow, such as cubic (default: the host's)", Kind: OfPath, concerns: byTCP,
		Takes: "a congestion control such as cubic", value: word(func(c *Cell) *string { return &c.Congestion },
			"a congestion control, such as cubic")},
	{Name: "control", Type: "string", Help: WrongQueue +
		": negative control that steers the flow to another queue than the mode's; must be reported as copied",
		Kind: ofRun, Role: stream.RX, concerns: stream.Mode.TakesQueue,
		Takes: "none, or " + WrongQueue + ": steer the flow to another queue than the mode's",
		Words: []string{"none", WrongQueue},
		value: noneOr(func(c *Cell) *string { return &c.Control }, parseControl, AsFound)},
	{Name: "probe", Type: "strings", Help: "probes to run with every flow: " + strings.Join(ProbeNames, ", "),
		Kind: ofRun, Many: ",",
		Takes: "none, or probes joined by +: " + strings.Join(ProbeNames, ", "), Words: ProbeNames,
		value: noneOr(func(c *Cell) *string { return &c.Probe }, parseProbe, NoProbe)},
	{Name: "probe_sample", Since: 3, Type: "int",
		Help:  "latency probe: sample 1 in N packets, the same ones at every stage; N is a power of two; 0: 16",
		Kind:  ofRun,
		Takes: "a power of two, 1 to 1024; 0: 16", value: number(func(c *Cell) *int { return &c.ProbeSample },
			orZero(parseProbeSample), nil)},

	{Name: "path", Since: 3, Type: "IFS", Help: "interfaces that the packets pass, in order, separated by " +
		"commas, to find where some are lost: tg:IF, sut:IF, IF, or netns:NAME/IF (docs/path.md)", Kind: ofRun,
		Takes: "interfaces in one word, such as \"tg:eth0,vif1,br0,vif2,sut:eth0\"",
		value: text(func(c *Cell) *string { return &c.Path }, checkPath)},

	{Name: "turn", Since: 3, Type: "duration", OfPlan: true,
		Help: "length of a turn; none: the cell is made alone, as a block", Kind: ofRun,
		Takes: "a duration in 10ms..10s, or none: the cell is made alone, as a block",
		value: value{raw: func(c *Cell) string { return c.Turn },
			set:  func(c *Cell, s string) (err error) { c.Turn, err = parseTurn(s); return err },
			show: func(raw string) string { return cmp.Or(raw, usualTurn) },
			zero: func(c *Cell) { c.Turn = "" }}},

	{Name: "rcvbuf", Plenty: More, Since: 3, Column: "rcvbuf_bytes", Type: "bytes",
		Help: "receive socket buffer (SO_RCVBUF); 0: kernel auto-tuning", Kind: OfPath,
		Takes: "bytes; 0 leaves the kernel's auto-tuning", value: size(func(c *Cell) *int { return &c.RcvBuf }, 0,
			maxSocketBuffer)},
	{Name: "sndbuf", Plenty: More, Since: 3, Column: "sndbuf_bytes", Type: "bytes",
		Help: "send socket buffer (SO_SNDBUF); 0: kernel auto-tuning", Kind: OfPath,
		Takes: "bytes; 0 leaves the kernel's auto-tuning", value: size(func(c *Cell) *int { return &c.SndBuf }, 0,
			maxSocketBuffer)},
	{Name: "pace", Since: 3, Column: "pace_bits_ps", Type: "bit/s|N%", Help: "payload rate to hold, in bit/s " +
		"(suffixes K, M, G: powers of 1000), or N% of the unpaced rate of the slowest compared cell; loss-free: " +
		"each run searches for the highest rate without loss (packets); none: as fast as possible", Kind: OfPath,
		Role: stream.TX, besides: has(stream.RoundTrips), instead: []string{"rr_rate"},
		Takes: "none; payload bits per second, at least 1M; N%, 1 to 90, of the unpaced median of the slowest of " +
			"the compared cells; or loss-free: each run is a search (packets)", value: pace},
	{Name: "object", Since: 3, Column: "object_bytes", Type: "bytes",
		Help: "bursts: bytes of an object, of which each " +
			"flow sends one every so often (--every), as fast as it can; delivery times are of whole objects",
		Kind: OfPath, Role: stream.TX, concerns: sendsBulk,
		Takes: "bytes of an object", value: number(func(c *Cell) *int { return &c.ObjectBytes },
			sizeWithin(1, stream.MaxMessageBytes), nil)},
	{Name: "every", Since: 3, Column: "every_us", Type: "duration", Help: "how often an object of a flow is due; one " +
		"that is not whole by then is late", Kind: OfPath, Role: stream.TX, concerns: sendsBulk,
		Takes: "a duration of whole microseconds, 100us to 1s",
		value: number(func(c *Cell) *int { return &c.EveryUs }, parseEvery, nil)},
	{Name: "fan_in", Since: 3, Type: "int", Help: "how many flows' objects are due at the same moment; those of " +
		"others are spread over --every (default: all flows')", Kind: OfPath, Role: stream.TX, concerns: sendsBulk,
		Takes: "flows, of which there are a multiple", value: count(func(c *Cell) *int { return &c.FanIn }, 1,
			stream.MaxFlows)},
	{Name: "both", Since: 3, Type: "on|off",
		Help: "each end sends and receives at once, by the two modes of the cell; " +
			"with as many flows each way", Kind: OfPath, concerns: byTCP, besides: has(stream.Connects),
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.Both })},
	{Name: "then", Type: "string",
		Help: "what the receiving application does with the payload: none; forward, pass it " +
			"on to the TG, which verifies it; splice, likewise by splice(2); " + thenTo + "DIR, write it to a " +
			"file in that folder of its host (docs/then.md)", Kind: OfPath,
		concerns: byTCP,
		besides:  has(stream.RoundTrips), Default: "none", Words: thens, Into: thenTo,
		why:   "a request is answered, and neither passed on nor written",
		Takes: strings.Join(thens, ", ") + ", or " + thenTo + "DIR: a folder, by its path from the root",
		value: noneOr(func(c *Cell) *string { return &c.Then }, parseThen, "none")},
	{Name: "uring_engine", Since: 3, Column: "uring_engine_asked", Type: "string",
		Help: "io_uring implementation: " + strings.Join(uringEngines, ", ") + " (default: " + uringEngines[0] + ")",
		Kind: OfPath, concerns: has(stream.UsesRing),
		Takes: "an io_uring implementation", Words: uringEngines,
		value: word(func(c *Cell) *string { return &c.UringEngine }, "an io_uring implementation")},
	{Name: "gather", Since: 3, Column: "gather_us", Type: "duration", Help: "how long a receiver that has " +
		"drained its queue waits for more data before it checks again; with io_uring from Linux 6.12 (default: " +
		"0, no wait)",
		Kind: OfPath, Role: stream.RX, concerns: byTCP,
		Takes: "a duration of whole microseconds", value: microseconds(func(c *Cell) **int { return &c.GatherUs },
			stream.MaxGather)},
	{Name: "poll", Type: "string", Help: "who takes packets from the receiver's queues, and with round trips from " +
		"the sender's too: irq: softirq; busy: the application; suspend: the application, without interrupts while " +
		"it keeps up; threaded: NAPI threads; threaded-busy: ones that never rest (default: irq; docs/polling.md)",
		Kind: OfPath, concerns: bySocket, Takes: strings.Join(polls, ", "), Words: polls, value: poll},
	{Name: "busy_poll", Since: 3, Column: "busy_poll_us", Type: "duration", Help: "how long a call that finds no " +
		"data busy-polls the queue before it sleeps, at both ends: SO_BUSY_POLL with SO_PREFER_BUSY_POLL; " +
		"io_uring from Linux 6.9 (default: the host's net.core.busy_read)",
		Kind: OfPath, concerns: bySocket, Takes: "a duration of whole microseconds, at most 100ms",
		value: plainMicroseconds(func(c *Cell) *int { return &c.BusyPollUs }, maxBusyPoll)},
	{Name: "tls", Type: "string", Help: "who encrypts the payload at both ends, AES-GCM 128: none; ktls: the kernel " +
		"(TLS 1.3); ktls-hw: the NIC; user: the application (docs/tls.md)",
		Kind: OfPath, concerns: byTCP, Default: "none", Sets: tlsFeatures,
		Takes: "none, ktls, ktls-hw or user", Words: tlsWays,
		value: noneOr(func(c *Cell) *string { return &c.TLS }, parseTLS, "none")},
	{Name: "request", Since: 3, Column: "request_bytes", Type: "bytes",
		Help: "bytes of a request (default: 1; for datagrams 18, the minimum)", Kind: OfPath, Role: stream.TX,
		concerns: has(stream.RoundTrips),
		Takes:    "bytes of a request, at most 1M", value: number(func(c *Cell) *int { return &c.Request },
			sizeWithin(1, stream.MaxTripBytes), orOne)},
	{Name: "response", Since: 3, Column: "response_bytes", Type: "bytes",
		Help: "bytes of the receiver's answer to a request (default: 1; for datagrams 18, the minimum)", Kind: OfPath,
		Role: stream.TX, concerns: has(stream.RoundTrips),
		Takes: "bytes of an answer, at most 1M", value: number(func(c *Cell) *int { return &c.Response },
			sizeWithin(1, stream.MaxTripBytes), orOne)},
	{Name: "in_flight", Since: 3, Type: "int",
		Help: "outstanding requests per flow, with tx crr connections (default: 1)", Kind: OfPath,
		Role: stream.TX, concerns: has(stream.RoundTrips),
		Takes: fmt.Sprintf("requests in 1..%d", stream.MaxInFlight),
		value: number(func(c *Cell) *int { return &c.InFlight }, within(1, stream.MaxInFlight), orOne)},
	{Name: "rr_rate", Since: 3, Type: "int", Help: "requests per second of all flows together, timed from when " +
		"each was due (default: send the next when an answer arrives)", Kind: OfPath, Role: stream.TX,
		concerns: has(stream.RoundTrips),
		Takes:    fmt.Sprintf("requests per second in 1..%d", stream.MaxTripsPerS),
		value:    count(func(c *Cell) *int { return &c.RRRate }, 1, stream.MaxTripsPerS)},
	{Name: "rr_timeout", Since: 3, Column: "rr_timeout_us", Type: "duration",
		Help: "how long a sender of requests by datagrams waits for an answer before it counts the request as " +
			"lost (default: 200ms)",
		Kind: OfPath, Role: stream.TX, concerns: trippingPackets,
		Takes: "a duration of whole microseconds, at most 10s",
		value: plainMicroseconds(func(c *Cell) *int { return &c.RRTimeoutUs }, stream.MaxTripTimeout)},

	{Name: "fastopen", Since: 3, Type: "on|off", Help: "open the connections of requests by TCP Fast Open: the " +
		"request is in the first packet once both hosts know each other; sets net.ipv4.tcp_fastopen to 3 on both",
		Kind: OfPath, concerns: has(stream.Connects), Sets: []string{fastOpen},
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.FastOpen })},
	{Name: "udp_batch", Since: 3, Type: "int", Help: "most datagrams per call; 1: one call each (default: 64)",
		Kind: OfPath, concerns: has(stream.Batches),
		Takes: fmt.Sprintf("datagrams in 1..%d; 0: as many as possible", stream.MaxBatch),
		value: count(func(c *Cell) *int { return &c.UDPBatch }, 0, stream.MaxBatch)},
	{Name: "udp_segmentation", Since: 3, Type: "on|off", Help: "set the sender's UDP segmentation offload " +
		"(tx-udp-segmentation) for the run; off: the kernel segments before sending, also over veth, which does " +
		"not segment",
		Kind: OfHost, Role: stream.TX, Sets: []string{"feature tx-udp-segmentation"}, concerns: has(stream.Segments),
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.UDPSegment })},
	{Name: "xdp_touch", Since: 3, Type: "string", Help: "what an XDP program does with a frame's bytes: " +
		strings.Join(stream.XDPTouches, ", ") + " (default: read; for frames sent back: swap-macs)",
		Kind: OfPath, Role: stream.RX, concerns: has(stream.XDP),
		Takes: "what an XDP program does with a frame's bytes", Words: stream.XDPTouches,
		value: oneOf(func(c *Cell) *string { return &c.XDPTouch }, stream.XDPTouches...)},
	{Name: "xdp_attach", Since: 3, Type: "string",
		Help: "where an XDP program runs: native (in the driver) or generic (at the start of the stack) " +
			"(default: native)",
		Kind: OfPath, Role: stream.RX, concerns: attachesXDP,
		Takes: "native or generic", Words: stream.XDPAttaches,
		value: oneOf(func(c *Cell) *string { return &c.XDPAttach }, stream.XDPAttaches...)},
	{Name: "xdp_redirect", Since: 3, Type: "string", Help: "where xdp-redirect sends frames: to the CPU of the " +
		"receiver's thread (cpu), back out of the interface (dev), out of another one (dev:NAME), or to AF_XDP " +
		"sockets, copied (xsk) or zero copy (xsk-zc) (default: cpu)",
		Kind: OfPath, Role: stream.RX, concerns: has(stream.Redirects),
		Takes: strings.Join(stream.XDPRedirects, ", ") + ", or dev:NAME: an interface of the receiver's",
		Words: stream.XDPRedirects, value: text(func(c *Cell) *string { return &c.XDPRedirect }, stream.CheckRedirect)},
	{Name: "tuples", Since: 3, Type: "int",
		Help: "5-tuples that generated frames rotate through, by source port (default: 1)", Kind: OfPath,
		concerns: ofFrames,
		Takes:    fmt.Sprintf("5-tuples in 1..%d", stream.MaxTuples),
		value: number(func(c *Cell) *int { return &c.Tuples }, within(1, stream.MaxTuples),
			func(raw string) string { return cmp.Or(raw, "1") })},
	{Name: "burst", Since: 3, Type: "int", Help: "burst length: paced frames sent back to back (default: 1)",
		Kind: OfPath, Role: stream.TX, concerns: ofFrames,
		Takes: fmt.Sprintf("frames in 1..%d", stream.MaxBurst), value: number(func(c *Cell) *int { return &c.Burst },
			within(1, stream.MaxBurst), func(raw string) string { return cmp.Or(raw, "1") })},

	{Name: "generator_cpus", Since: 3, Places: true, Type: "CPUs",
		Help: "CPUs of the TG that generate frames independently, such as 2-5 (default: that of the sender's thread)",
		Kind: OfPath, Role: stream.TX, concerns: ofFrames,
		Takes: "a list of CPUs, such as 2-5 or 2,3", value: cpus(func(c *Cell) *string { return &c.GenCPUs })},

	{Name: "queue", Since: 3, Places: true, Type: "int",
		Help: "RX queue of the flow: zero-copy modes take it over (default: " +
			"the last); flows of other modes are steered to it (default: not steered)",
		Kind: OfPath, Role: stream.RX, concerns: byTCP,
		Takes: "the number of an RX queue", value: optionalNumber(func(c *Cell) **int { return &c.Queue },
			within(0, 65535))},
	{Name: "flows", Since: 3, Places: true, Type: "int",
		Help: "parallel flows, measured together, each with its own thread, " +
			"or that of its queue where the mode takes queues over (default: 1)", Kind: OfPath,
		Takes: fmt.Sprintf("flows in 1..%d", stream.MaxFlows), value: number(func(c *Cell) *int { return &c.Flows },
			within(1, stream.MaxFlows), orOne)},
	{Name: "queues", Since: 3, Places: true, Type: "int",
		Help: "number of RX queues to spread the flows over, starting at " +
			"--queue, else the last ones (default: one per flow for modes that take queues over, else as found)",
		Kind: OfPath, Role: stream.RX, concerns: byTCP,
		Takes: fmt.Sprintf("RX queues in 1..%d, at most as many as flows", stream.MaxFlows),
		value: count(func(c *Cell) *int { return &c.Queues }, 1, stream.MaxFlows)},
	{Name: "queue_rings", Places: true, Type: "int",
		Help: "io_uring rings that share each RX queue, its memory and its refill ring, each with a thread and " +
			"flows of its own (6.19; default: 1)", Kind: OfPath, Role: stream.RX, concerns: ringsQueues,
		Takes: fmt.Sprintf("rings in 1..%d, at most as many as a queue has flows", stream.MaxRings),
		value: number(func(c *Cell) *int { return &c.QueueRings }, within(1, stream.MaxRings), orOne)},
	{Name: "rings_in", Places: true, Type: "string",
		Help: "where the rings that share a queue are, but for the first: " + strings.Join(ringsIn, " or ") +
			" (default: threads)", Kind: OfPath, Role: stream.RX, concerns: ringsQueues,
		Takes: strings.Join(ringsIn, " or "), Words: ringsIn,
		value: oneOf(func(c *Cell) *string { return &c.RingsIn }, ringsIn...)},
	{Name: "steer_queue", Since: 3, Places: true, Type: "int",
		Help: "negative control: steer the flow to this RX queue instead; must be reported as copied", Kind: OfPath,
		Role: stream.RX, concerns: stream.Mode.TakesQueue,
		Takes: "the number of an RX queue", value: optionalNumber(func(c *Cell) **int { return &c.SteerTo },
			within(0, 65535))},
	{Name: "steer", Since: 3, Places: true, Type: "string",
		Help: "how flows get to their RX queues: flow, a rule for each; or port, one rule for all flows of the " +
			"port into an RSS context over the queues, by their hash",
		Kind: OfPath, Role: stream.RX, concerns: byTCP, Default: "flow",
		Takes: "flow, or " + SteerPort + ": one rule for the port, into an RSS context over the queues",
		Words: []string{"flow", SteerPort},
		value: noneOr(func(c *Cell) *string { return &c.Steer }, parseSteer, "flow")},
	{Name: "lease_queue", Places: true, Type: "[netns:NAME/]IF:N", Help: "lease RX queue N of the NIC IF, which is " +
		"in zcbench's own network namespace or in NAME, to the SUT, a container: --sut netns:C --dev nk0 " +
		"(docs/containers.md)",
		Kind: ofRun, Role: stream.RX, concerns: byTCP,
		Takes: "a NIC's RX queue, such as eth0:3 or netns:NAME/eth0:3",
		value: text(func(c *Cell) *string { return &c.LeaseQueue }, func(s string) error {
			_, err := ParseLease(s)
			return err
		})},
	{Name: "area", Since: 3, Type: "string", Help: "memory for payload: " + strings.Join(dmabuf.Words(nil), ", ") +
		" (default: pages; for devmem udmabuf; with a long --rx-buf-len huge; docs/memory.md)",
		Kind: OfPath, Role: stream.RX, concerns: has(stream.UsesNICQueue),
		Takes: "a kind of memory for payload", words: func() []string { return dmabuf.Names(dmabuf.Alone) },
		value: memory(func(c *Cell) *string { return &c.Area })},
	{Name: "tx_area", Type: "string", Help: "memory that the sender sends from: " +
		strings.Join(dmabuf.Words(dmabuf.Exports), ", ") + " (default: udmabuf; docs/memory.md)",
		Kind: OfPath, Role: stream.TX, concerns: has(stream.DMABuf),
		Takes: "a kind of memory for payload that is a dmabuf",
		words: func() []string {
			return dmabuf.Names(func(p dmabuf.Provider) bool { return p.Open != nil && dmabuf.Alone(p) })
		},
		value: memory(func(c *Cell) *string { return &c.TXArea })},
	{Name: "area_bytes", Plenty: More, Since: 3, Flag: "area-size", Type: "bytes",
		Help: "size of the memory for payload; 0: 64M, for devmem four times the NIC's ring plus --hold", Kind: OfPath,
		Role: stream.RX, concerns: has(stream.UsesNICQueue),
		Takes: "bytes of memory for payload", value: size(func(c *Cell) *int { return &c.AreaBytes }, 0,
			stream.MaxAreaBytes)},
	{Name: "area_start", Column: "area_start_bytes", Type: "bytes",
		Help: "how much of the memory for payload the NIC gets at first; when it finds no buffer it gets as much " +
			"again, up to --area-size (7.3; default: all)", Kind: OfPath, Role: stream.RX, concerns: ringsPayload,
		Takes: "bytes of memory for payload; 0: all", value: size(func(c *Cell) *int { return &c.AreaStart }, 0,
			stream.MaxAreaBytes)},
	{Name: "refill_entries", Plenty: More, Since: 3, Type: "int",
		Help: "entries of the refill ring, which returns buffers; 0: one per buffer", Kind: OfPath, Role: stream.RX,
		concerns: ringsPayload,
		Takes:    "entries of the refill ring", value: count(func(c *Cell) *int { return &c.RefillEntries }, 0,
			stream.MaxRefillEntries)},
	{Name: "cq_entries", Plenty: More, Since: 3, Type: "int", Help: "entries of the completion queue; 0: 8192",
		Kind: OfPath, Role: stream.RX, concerns: ringsPayload,
		Takes: "entries of the completion queue", value: count(func(c *Cell) *int { return &c.CQEntries }, 0,
			stream.MaxCQEntries)},
	{Name: "hold", Plenty: None, Since: 3, Column: "hold_bytes", Type: "bytes",
		Help: "bytes of payload to hold before the oldest buffer is returned", Kind: OfPath, Role: stream.RX,
		concerns: has(stream.UsesNICQueue),
		Takes:    "bytes of payload to hold", value: size(func(c *Cell) *int { return &c.HoldBytes }, 0,
			stream.MaxAreaBytes)},

	{Name: "rx_ring", Plenty: More, Since: 3, Type: "int", Help: "RX descriptors per queue on both interfaces",
		Kind: OfHost, Sets: []string{"ring rx"},
		Takes: "descriptors of a queue", value: count(func(c *Cell) *int { return &c.RXRing }, 0, 1<<20)},
	{Name: "tx_ring", Since: 3, Type: "int", Help: "TX descriptors per queue on both interfaces", Kind: OfHost,
		Sets:  []string{"ring tx"},
		Takes: "descriptors of a queue", value: count(func(c *Cell) *int { return &c.TXRing }, 0, 1<<20)},
	{Name: "channels", Since: 3, Type: "int", Help: "number of queues on both interfaces", Kind: OfHost,
		Sets:  []string{"channels"},
		Takes: "queues", value: count(func(c *Cell) *int { return &c.Channels }, 0, 1<<16)},
	{Name: "set", Since: 3, Type: "[sut:|tg:]NAME=VALUE",
		Help: `any other setting of the interfaces, such as "coalesce rx-usecs=5" (repeatable; docs/settings.md)`,
		Kind: OfHost, Many: "; ",
		Takes: "settings of the interfaces, joined by ;", value: others(func(c *Cell) *string { return &c.Set })},
	{Name: "sysctl_profile", Since: 3, Type: "string", Help: "group of sysctls to set on both hosts: " +
		strings.Join(profiles, ", "), Kind: OfHost,
		Takes: "a group of sysctls: " + strings.Join(profiles, ", "), Words: profiles,
		value: oneOf(func(c *Cell) *string { return &c.SysctlProfile }, profiles...)},
	{Name: "hugepages", Since: 3, Flag: "huge-pages", Type: "int", Help: "number of huge pages on both hosts",
		Kind: OfHost, Sets: []string{"sysctl vm.nr_hugepages"},
		Takes: "huge pages of the default size", value: count(func(c *Cell) *int { return &c.HugePages }, 0, 1<<24)},
	{Name: "governor", Since: 3, Column: "governor_asked", Type: "string",
		Help: "frequency governor of all CPUs on both hosts, such as performance", Kind: OfHost,
		Sets:  []string{"governor"},
		Takes: "a frequency governor, such as performance", value: word(func(c *Cell) *string { return &c.Governor },
			"a governor, such as performance")},
	{Name: "max_idle_us", Since: 3, Type: "int",
		Help: "keep the CPUs of both hosts out of idle states with a longer exit latency, in microseconds",
		Kind: OfHost, Sets: []string{"idle"},
		Takes: "microseconds", value: optionalNumber(func(c *Cell) **int { return &c.MaxIdleUs }, within(0, 1<<30))},
	{Name: "stop_irqbalance", Since: 3, Type: "bool", Help: "stop irqbalance on both hosts for the run", Kind: OfHost,
		Sets:  []string{"irqbalance"},
		Takes: "true or false", Words: onOffWords, value: onOff(func(c *Cell) **bool { return &c.StopBalance })},
}

// checkPath refuses a list of interfaces that none can be. Files come from anybody: a namespace has
// a name there, as of ip netns, and not the path of a file.
func checkPath(list string) error {
	all, err := ifpath.ParseRun(list)
	for _, p := range all {
		if strings.Contains(p.Netns, "/") || p.Netns == "." || p.Netns == ".." {
			return fmt.Errorf("%s: a run's path takes namespaces by their names (ip netns): netns:NAME/DEV", p.Where())
		}
	}
	return err
}

// profiles are the groups of sysctls that package tune knows.
var profiles = []string{"reference"}

// maxSocketBuffer is half of what the kernel can count: it doubles what it is given.
const maxSocketBuffer = 1 << 30

// maxBusyPoll is as long as data paths sleep at once.
const maxBusyPoll = 100 * time.Millisecond

var (
	onOffWords  = []string{"on", "off"}
	layouts     = []string{"1cpu", "2cpu"}
	touches     = []string{"none", "read", "verify"}
	ringsIn     = []string{RingsThreads, RingsProcesses}
	tlsWays     = []string{"none", string(records.Kernel), string(records.Device), string(records.User)}
	tlsFeatures = []string{"feature tls-hw-rx-offload", "feature tls-hw-tx-offload"} // of the receiver, of the sender
	packetSizes = []string{"gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size"}
)

func trippingPackets(m stream.Mode) bool { return m.Has(stream.RoundTrips) && m.Kind.Packets() }
func sendsBulk(m stream.Mode) bool       { return m.Kind == stream.Stream && !m.Has(stream.RoundTrips) }
func bySocket(m stream.Mode) bool        { return m.Kind != stream.Frame }
func leavesHeaders(m stream.Mode) bool   { return !m.Has(stream.SplitsHeaders) }
func attachesXDP(m stream.Mode) bool     { return m.Has(stream.XDP) || m.Has(stream.AFXDP) }
func ofFrames(m stream.Mode) bool        { return m.Kind == stream.Frame }
func byTCP(m stream.Mode) bool           { return m.Kind == stream.Stream }
func ringsQueues(m stream.Mode) bool     { return ringsPayload(m) && m.TakesQueue() }
func ringsPayload(m stream.Mode) bool    { return m.Has(stream.UsesNICQueue) && !m.Has(stream.DMABuf) }

// has looks for traits of a mode.
func has(t stream.Traits) func(stream.Mode) bool {
	return func(m stream.Mode) bool { return m.Has(t) }
}

// uringEngines are those of package uring, whichever are built in; the first is the default.
var uringEngines = []string{string(uring.Native), string(uring.Giouring)}

func mode(role stream.Role, at func(*Cell) *string) value {
	return text(at, func(s string) error {
		_, err := modes.Find(role, s)
		return err
	})
}

// orOne shows a number whose zero is one.
func orOne(raw string) string { return cmp.Or(raw, "1") }

// orZero lets 0 stand for "as found".
func orZero(parse func(string) (int, error)) func(string) (int, error) {
	return func(s string) (int, error) {
		if s == "0" {
			return 0, nil
		}
		return parse(s)
	}
}
