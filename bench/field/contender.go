package main

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"

	"github.com/zcbench/zcbench/lab/guest"
)

// Where the flow runs: the guest's two ends, the last queue, a CPU for each side.
const (
	queue    = 3
	port     = 6201
	fromPort = 6202
	rxCPU    = 1
	txCPU    = 0
)

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
	prepare bool // it expects header split and steering, which others set by themselves
	listens int  // on this port when it is ready; 0: it says nothing
	// send are command lines for the sender's side, started one after another.
	send [][]string
}

const zcrxGroup, devmemGroup = "zcrx", "devmem"

// ours is zcrecv in a zero-copy mode.
func ours(bin, mode string) contender {
	recv, send := filepath.Join(bin, "zcrecv"), filepath.Join(bin, "zcsend")
	return contender{name: "zcbench " + mode, group: mode, needs: []string{recv, send}, listens: port,
		receive: []string{recv, "--mode", mode, "--listen", fmt.Sprintf("%s:%d", rxAddr, port), "--dev", rxEnd.Dev, "--queue", strconv.Itoa(queue), "--cpu", strconv.Itoa(rxCPU), "--duration", "1m"},
		send:    [][]string{{send, "--mode", "tcp", "--cpu", strconv.Itoa(txCPU), "--duration", "1m", fmt.Sprintf("%s:%d", rxAddr, port)}}}
}

func zcbenchZcrx(bin string) contender   { return ours(bin, zcrxGroup) }
func zcbenchDevmem(bin string) contender { return ours(bin, devmemGroup) }

// plainSender is this program itself: the loop of zcsend's mode tcp without its
// handshake.
func plainSender() [][]string { return [][]string{{"/proc/self/exe", "send"}} }

// liburing is examples/zcrx.c of liburing, with an area like ours.
func liburing(programs string) contender {
	p := filepath.Join(programs, "zcrx")
	return contender{name: "liburing zcrx", group: zcrxGroup, needs: []string{p}, pin: true, prepare: true, listens: port,
		receive: []string{p, "-p", strconv.Itoa(port), "-i", rxEnd.Dev, "-q", strconv.Itoa(queue), "-S", strconv.Itoa(64 << 20)}, send: plainSender()}
}

// kperf has a server on both hosts and a client that directs them; it sets RSS and
// steering, but not header split.
func kperf(programs string) contender {
	server, client := filepath.Join(programs, "kperf-server"), filepath.Join(programs, "kperf-client")
	const control = "18323"
	return contender{name: "kperf zcrx", group: zcrxGroup, needs: []string{server, client}, prepare: true, listens: 18323,
		receive: []string{server, "--no-daemon", "-a", rxAddr, "-p", control},
		send: [][]string{{server, "--no-daemon", "-a", txAddr, "-p", control},
			{client, "--src", txAddr, "--src-svc", control, "--dst", rxAddr, "--dst-svc", control, "--iou-dst", "--zerocopy-rx", "--validate", "no", "-t", "60",
				"--cpu-src-wrk", strconv.Itoa(txCPU), "--cpu-dst-wrk", strconv.Itoa(rxCPU)}}}
}

// ncdevmem is tools/testing/selftests/drivers/net/hw/ncdevmem.c of the kernel. It
// writes a line about each fragment, which nobody reads here.
func ncdevmem(programs string) contender {
	p := filepath.Join(programs, "ncdevmem")
	return contender{name: "ncdevmem", group: devmemGroup, needs: []string{p}, pin: true, prepare: true, listens: port,
		receive: []string{p, "-l", "-n", "-f", rxEnd.Dev, "-s", rxAddr, "-p", strconv.Itoa(port), "-t", strconv.Itoa(queue), "-q", "1"}, send: plainSender()}
}
