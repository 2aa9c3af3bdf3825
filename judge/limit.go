// SPDX-License-Identifier: MIT

package judge

import (
	"math"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// From where on a thread or CPU has no time left, a wait for the other end counts, and a
// link is reached.
const (
	fullThread = 0.95
	fullCPU    = 0.97
	heldUp     = 0.2
	reached    = 0.97
)

// FindLimit sorts a run by its figures in the steady window: the sum of its flows. A sender
// whose thread never waits, and that the receiver's window did not hold up, could not send more
// whatever the receiver could take (tcp_chrono_start in net/ipv4/tcp.c counts the times). Of
// several flows a thread, its CPUs, or a window, is the limit of the sum where it is that of each
// flow ([flowLimit]); the link and the pace are there for all of them, and so is a CPU
// where no flow says which are its own. A CPU that works for both ends is the limit of neither.
func FindLimit(r *results.Record) plan.LimitedBy {
	gbps := r.SUT.ThroughputGbps
	if gbps == nil || *gbps <= 0 {
		return ""
	}
	if r.Cell.MovesPackets() {
		return packetLimit(r)
	}
	all := agreed(r, limitBeforeSendersCPU)
	switch {
	case r.Cell.PaceRate() > 0 && *r.PaceError() >= -plan.PaceTolerance:
		return plan.ByPace
	case linkShare(r) >= reached:
		return plan.ByLink
	case heldByCgroup(r):
		return plan.ByCgroup
	case all == plan.BySender || all == plan.ByOneCPU:
		return all
	case all == plan.ByReceiver || anyCPU(r, &r.SUT) && cpuFull(&r.SUT) || anyPoller(r, &r.SUT) && pollerFull(&r.SUT):
		return plan.ByReceiver
	case all == plan.ByWindow || all == plan.ByDisk:
		return all
	case anyCPU(r, &r.TG) && cpuFull(&r.TG):
		return plan.BySender
	}
	if l := agreed(r, limitOfSeveral); l == plan.BySender || l == plan.ByPath {
		return l
	}
	return ""
}

// threadFull reports whether a data-path thread ran, or wanted to, all the time.
func threadFull(h *results.Host) bool {
	run, wait := h.Value("thread_data_path_run_cores"), h.Value("thread_data_path_wait_cores")
	if math.IsNaN(wait) {
		wait = 0
	}
	return run+wait-h.Spun() >= fullThread
}

// heldUpBy returns the share of the window in which the sender's TCP waited for something.
func heldUpBy(r *results.Record, name string) float64 {
	d := r.TG.DurationS
	us := r.TG.Value(name)
	if d == nil || *d <= 0 || math.IsNaN(us) {
		return 0
	}
	return us / 1e6 / *d
}

// On the wire each frame takes this besides its IP packet: Ethernet's header and checksum,
// preamble and gap. TCP's and IP's headers are 52 bytes (IPv4 with time stamps).
const frameBytes, headerBytes = 38, 52

// linkShare computes what share of the link's speed the payload takes with all its headers. With
// several flows no TCP_INFO covers all: their segments are then taken to be as long as the link
// allows.
func linkShare(r *results.Record) float64 {
	speed, mss := r.SUT.Value(measure.MetricLinkSpeed), r.TG.Value("tcp_info_snd_mss")
	if math.IsNaN(mss) && !alone(r) {
		mss = r.TG.Value("link_mtu") - headerBytes
	}
	if math.IsNaN(speed) || math.IsNaN(mss) || speed <= 0 || mss <= 0 {
		return 0
	}
	return *r.SUT.ThroughputGbps * 1e9 * (1 + (headerBytes+frameBytes)/mss) / speed
}
