// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/lab/guest"
)

// Where the flow runs: the guest's two ends, the last queue. The sender has the
// first CPU, the receiver the last, which may be the same.
const (
	queue    = 3
	port     = 6201
	fromPort = 6202
	txCPU    = 0
)

var rxCPU = runtime.NumCPU() - 1

var (
	rxEnd, txEnd   = guest.Ends[0], guest.Ends[1]
	rxAddr, txAddr = address(rxEnd.V4), address(txEnd.V4)
)

func address(prefix string) string { return netip.MustParsePrefix(prefix).Addr().String() }

// contender is one receiving program and who sends to it.
type contender struct {
	name  string
	group string // contenders are compared within it
	needs []string
	// receive is the command line of the receiver, pinned by us where pin is set.
	receive []string
	pin     bool
	prepare preparation
	listens int // on this port when it is ready
	// rmem bounds what a socket may hold, bytes (the last of net.ipv4.tcp_rmem);
	// 0 leaves it. It is the same for all of a group.
	rmem int
	// copybreak: payload of up to so many bytes stays in a packet's linear part, as
	// with drivers that copy small packets. It is the same for all of a group.
	copybreak int
	// mute: what it prints for each fragment goes to /dev/null.
	mute bool
	// send are command lines for the sender's side, started one after another.
	send [][]string
}

// preparation is what a program leaves to its user.
type preparation int

const (
	preparesAll    preparation = iota
	expectsSplit               // it steers by itself, but does not split headers
	expectsSteered             // it expects header split and the flow's rule
)

// The groups. kperf takes a full completion queue, which it makes 512 entries
// long, for the end of the flow: what a socket may hold has to fit in there, so
// that group has its own bound, for everybody in it.
const (
	zcrxGroup, zcrxBoundGroup, devmemGroup = "zcrx", "zcrx, 1 MiB in the socket", "devmem"
	zcrxBound                              = 1 << 20
	areaMiB                                = 64
	// kperf greets on the flow's connection when it is already steered, and reads
	// that as ordinary bytes: with strict header split it would be in the dmabuf.
	devmemCopybreak = 64
)

// ours describes zcrecv in a zero-copy mode.
func ours(bin, mode, group string, copybreak int) contender {
	recv, send := filepath.Join(bin, "zcrecv"), filepath.Join(bin, "zcsend")
	return contender{name: "zcbench " + mode, group: group, copybreak: copybreak, needs: []string{recv, send},
		listens: port,
		receive: []string{recv, "--mode", mode, "--listen", fmt.Sprintf("%s:%d", rxAddr, port), "--dev", rxEnd.Dev,
			"--queue", strconv.Itoa(queue), "--cpu", strconv.Itoa(rxCPU),
			"--area-size", fmt.Sprintf("%dM", areaMiB), "--duration", "1m"},
		send: [][]string{{send, "--mode", "tcp", "--cpu", strconv.Itoa(txCPU), "--duration", "1m",
			fmt.Sprintf("%s:%d", rxAddr, port)}}}
}

func zcbenchZcrx(bin string) contender   { return ours(bin, "zcrx", zcrxGroup, 0) }
func zcbenchDevmem(bin string) contender { return ours(bin, "devmem", devmemGroup, devmemCopybreak) }

// bounded moves a contender to zcrxBoundGroup.
func bounded(c contender) contender {
	c.name, c.group, c.rmem = c.name+" (1 MiB)", zcrxBoundGroup, zcrxBound
	return c
}

// plainSender returns the command line of this program itself as a sender: the loop of zcsend's
// mode tcp without its handshake.
func plainSender() [][]string { return [][]string{{"/proc/self/exe", "send"}} }

// liburing describes examples/zcrx.c of liburing, with an area like ours.
func liburing(programs string) contender {
	p := filepath.Join(programs, "zcrx")
	return contender{name: "liburing zcrx", group: zcrxGroup, needs: []string{p}, pin: true, prepare: expectsSteered,
		listens: port,
		receive: []string{p, "-p", strconv.Itoa(port), "-i", rxEnd.Dev, "-q", strconv.Itoa(queue), "-S",
			strconv.Itoa(areaMiB << 20)}, send: plainSender()}
}

// kperf describes a contender with a server on both hosts and a client that directs them; it sets
// RSS and steering, but not header split. Its sender makes calls of the size of ours.
func kperf(programs, name, group string, flags ...string) contender {
	server, client := filepath.Join(programs, "kperf-server"), filepath.Join(programs, "kperf-client")
	const control = 18323
	service := strconv.Itoa(control)
	direct := []string{client, "--src", txAddr, "--src-svc", service, "--dst", rxAddr, "--dst-svc", service,
		"--validate", "no", "-t", "60",
		"--write-size", strconv.Itoa(stream.DefaultMessageBytes), "--cpu-src-wrk", strconv.Itoa(txCPU), "--cpu-dst-wrk",
		strconv.Itoa(rxCPU)}
	return contender{name: name, group: group, needs: []string{server, client}, prepare: expectsSplit, listens: control,
		receive: []string{server, "--no-daemon", "-a", rxAddr, "-p", service},
		send:    [][]string{{server, "--no-daemon", "-a", txAddr, "-p", service}, append(direct, flags...)}}
}

func kperfZcrx(programs string) contender {
	return kperf(programs, "kperf zcrx", zcrxGroup, "--iou-dst", "--zerocopy-rx", "--iou-rx-size-mb",
		strconv.Itoa(areaMiB))
}

func kperfDevmem(programs string) contender {
	c := kperf(programs, "kperf devmem", devmemGroup, "--devmem-rx", "--devmem-rx-memory", "host",
		"--dmabuf-rx-size-mb", strconv.Itoa(areaMiB), "--num-rx-queues", "1")
	c.copybreak = devmemCopybreak
	return c
}

// ncdevmem describes tools/testing/selftests/drivers/net/hw/ncdevmem.c of the kernel. It writes
// lines about each fragment, to /dev/null here.
func ncdevmem(programs string) contender {
	p := filepath.Join(programs, "ncdevmem")
	return contender{name: "ncdevmem", group: devmemGroup, needs: []string{p}, pin: true, prepare: expectsSteered,
		listens: port, mute: true, copybreak: devmemCopybreak,
		receive: []string{p, "-l", "-n", "-f", rxEnd.Dev, "-s", rxAddr, "-p", strconv.Itoa(port), "-t",
			strconv.Itoa(queue), "-q", "1"}, send: plainSender()}
}
