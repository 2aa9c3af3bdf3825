// SPDX-License-Identifier: MIT

package stream

// Frames are the choices of modes of [Frame]; zero values leave them to the mode.
type Frames struct {
	Touch    string // what an XDP program does with a frame's bytes
	Attach   string // where it runs
	Redirect string // where it sends frames
	Tuples   int    // flows that they belong to; 0: one
	Burst    int    // that leave together at a pace; 0: one
	CPUs     []int  // of a sender, that make frames; nil: its thread's
	Returns  bool   // of a sender: the receiver sends them back
	KeepGRO  bool   // the receiver's GRO was chosen: it must not be switched on for want of NAPI
}

// What can be chosen of [Frames], the first of each is where it is left to most modes.
var (
	XDPTouches   = []string{"none", "read", "write", "parse", "swap-macs"}
	XDPAttaches  = []string{"native", "generic"}
	XDPRedirects = []string{"cpu", "dev", "xsk", "xsk-zc"}
)

// FramesReturned is the figure of a sender whose frames the receiver sends back: those that came.
const FramesReturned = "frames_returned"

// FramesPassedOn is the figure of a sender whose interface counts the frames that it passed on.
const FramesPassedOn = "frames_passed_on"

// Limits of [Frames].
const (
	MaxTuples = 4096
	MaxBurst  = 1 << 16
	// MaxFramePayload is what a page of the kernel's carries beside headers (net/bpf/test_run.c).
	MaxFramePayload = 2958
)
