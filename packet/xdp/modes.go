// SPDX-License-Identifier: MIT

package xdp

import "github.com/zcbench/zcbench/flow/stream"

// needs of all modes here: an interface to name.
var needs = []stream.Need{stream.NeedCapability, stream.NeedInterface}

// lostBefore are the counters of frames that a rung in the driver never saw, and lostBelow of one
// in the stack; what it drops itself it has received.
var (
	lostBefore = []string{"rx_missed"}
	lostBelow  = []string{"rx_missed", "softnet_dropped"}
)

func rx(name, above, summary, kernel string, t stream.Traits, w way) stream.Mode {
	lost := lostBelow
	if w.xdp {
		lost = lostBefore
	}
	if w.read {
		lost = append([]string{"udp_rcvbuf_errors", "udp_mem_errors", "udp_csum_errors"}, lost...)
	}
	probe := probeKernel(name, programsOf(w)...)
	return stream.Mode{Name: name, Role: stream.RX, Kind: stream.Frame, Summary: summary, Kernel: kernel, Needs: needs,
		Traits: t | stream.NeedsDev | stream.NoPayload, LostAt: lost, Above: above,
		Probe: probe, ProbeDevice: probeDevice(stream.RX, name, w.xdp, probe),
		NewReceiver: stream.MakesReceiver(newReceiver(name, w))}
}

// pktgen is the generator's name.
const pktgen = "pktgen-xdp"

var probeGenerator = probeKernel(pktgen, framesProgGenerate)

// The modes of this folder, from the driver up.
var (
	DropMode = rx("xdp-drop", "", "an XDP program drops the frames", "5.18", stream.XDP,
		way{xdp: true, action: Drop})
	TXMode = rx("xdp-tx", "xdp-drop", "an XDP program sends the frames back through the queue they came by",
		"5.18", stream.XDP|stream.SendsBack, way{xdp: true, action: TX})
	RedirectMode = rx("xdp-redirect", "xdp-drop", "an XDP program redirects the frames to another CPU, or back out",
		"5.18", stream.XDP|stream.Redirects, way{xdp: true, action: toCPU})
	PassMode = rx("xdp-pass", "udp-sink",
		"an XDP program passes the frames to the stack, to a socket that nobody reads", "5.18",
		stream.XDP, way{xdp: true, action: Pass, socket: true})
	IngressMode = rx("drop-ingress", "xdp-drop", "a program at tcx ingress drops the packets", "6.6",
		0, way{filter: atIngress, program: framesProgIngress})
	NetfilterMode = rx("drop-prerouting", "drop-ingress", "a program in netfilter's prerouting hook drops the packets",
		"6.4", 0, way{filter: inPrerouting, program: framesProgPrerouting})
	SinkMode = rx("udp-sink", "drop-prerouting", "a UDP socket that nobody reads drops the packets", "",
		0, way{socket: true})
	RecvMode = rx("udp-recv", "udp-sink", "a UDP socket, one recv per packet", "", stream.Reads,
		way{socket: true, read: true})

	Pktgen = stream.Mode{Name: pktgen, Role: stream.TX, Kind: stream.Frame,
		Summary: "an XDP program makes frames in the kernel (BPF_PROG_TEST_RUN, live frames)",
		Kernel:  "5.18", Needs: needs, Traits: stream.NeedsDev | stream.NoPayload, LostAt: []string{"tx_dropped"},
		Probe: probeGenerator, ProbeDevice: probeDevice(stream.TX, pktgen, false, probeGenerator),
		NewSender: stream.MakesSender(newSender(xdpMaker))}
	KernelPktgen = stream.Mode{Name: kernelPktgen, Role: stream.TX, Kind: stream.Frame,
		Summary: "the kernel's own generator of packets, where its module is loaded (pktgen)",
		Needs:   append([]stream.Need{stream.NeedPktgen}, needs...), Traits: stream.NeedsDev | stream.NoPayload,
		LostAt: []string{"tx_dropped"},
		Probe:  probePktgen, ProbeDevice: probeDevice(stream.TX, kernelPktgen, false, probePktgen),
		NewSender: stream.MakesSender(newSender(kernelMaker))}
)
