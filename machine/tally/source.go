// SPDX-License-Identifier: MIT

package tally

import (
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
)

// Source is what counts: where, how it is read, and what the rows of its counters mean.
type Source struct {
	Area string
	Of   subject
	// Read gives what it counts, also beside an error; areas are filled in.
	Read func(*Reader, *Reading) ([]measure.Count, error)
	Doc  []measure.MetricDoc
}

// subject is what a source counts of.
type subject int

// The subjects.
const (
	host      subject = iota
	snapshots         // of the host, and a run's snapshots have it ([counter.Take])
	Interface         // of the reader's
	device            // of the same, asked by netlink
)

// Areas that have a name in the code.
const (
	Netstat   = "netstat"
	Link      = "link"
	pagePool  = "page-pool"
	interrupt = "interrupt"
	queue     = "queue"
	ethtool   = "ethtool"
)

// Sources lists what counts, in the order in which it is read and shown.
var Sources = []Source{
	{Netstat, snapshots, files(netstat), counter.NetstatMetrics},                 // protocols, of the namespace
	{"softnet", snapshots, files(counter.SoftnetCounts), counter.SoftnetMetrics}, // the backlog of each CPU
	{"softirq", snapshots, files(counter.SoftirqCounts), counter.SoftirqMetrics}, // of each CPU
	{"sockets", host, files(counter.ReadSockstat), counter.SockstatMetrics},      // how many, and their memory
	{"sockets", host, files(counter.ReadTCPMem), counter.TCPMemMetrics},          // and its limits
	{"socket", host, memory, counter.SocketMetrics},                              // memory of the flows' own
	{"tls", host, files(counter.ReadTLSStat), counter.TLSStatMetrics},            // of kTLS, of the namespace
	{Link, Interface, readLink, counter.LinkMetrics},                             // the interface
	{"qdisc", Interface, readQdiscs, qdiscMetrics},                               // its queueing disciplines
	{pagePool, device, readPools, poolMetrics},                                   // where its receive buffers come from
	{interrupt, device, readIRQs, interruptMetrics},                              // of its queues
	{queue, device, readQueues, queueMetrics},                                    // its queues, by netlink
	{ethtool, device, readStats, ethtoolMetrics},                                 // whatever the driver calls them
}

// files reads a source of the kernel's files.
func files(read func(counter.FS) ([]measure.Count, error)) func(*Reader, *Reading) ([]measure.Count, error) {
	return func(r *Reader, _ *Reading) ([]measure.Count, error) { return read(r.cfg.FS) }
}

func netstat(fs counter.FS) ([]measure.Count, error) {
	n, err := counter.ReadNetstat(fs)
	return n.Counts(), err
}

func memory(_ *Reader, x *Reading) ([]measure.Count, error) { return counter.MemInfoCounts(x.sockets) }
