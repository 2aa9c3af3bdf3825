// SPDX-License-Identifier: MIT

package stream

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Frames are the choices of modes of [Frame]; zero values leave them to the mode.
type Frames struct {
	Touch    string // what an XDP program does with a frame's bytes
	Attach   string // where it runs
	Redirect string // where it sends frames: one of XDPRedirects, or dev:NAME
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

// toDev is the redirection to an interface; with a colon and a name, to that one.
const toDev = "dev"

// RedirectDev reports whether frames are redirected to an interface, and to which: "" is the one by
// which they came, which sends them back.
func RedirectDev(redirect string) (name string, to bool) {
	name, named := strings.CutPrefix(redirect, toDev+":")
	if named {
		return name, true
	}
	return "", redirect == toDev
}

// CheckRedirect refuses what is none of [XDPRedirects], nor dev with the name of an interface
// (dev_valid_name of net/core/dev.c).
func CheckRedirect(redirect string) error {
	name, to := RedirectDev(redirect)
	if slices.Contains(XDPRedirects, redirect) {
		return nil
	}
	if !to {
		return fmt.Errorf("%.40q is not one of %s, nor dev:NAME, an interface", redirect,
			strings.Join(XDPRedirects, ", "))
	}
	if name == "" || len(name) > 15 || name == "." || name == ".." || strings.ContainsAny(name, "/:;") ||
		strings.ContainsFunc(name, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }) {
		return fmt.Errorf("%.40q is not the name of an interface", name)
	}
	return nil
}

// FramesReturned is the figure of a sender whose frames the receiver sends back: those that came.
const FramesReturned = "frames_returned"

// FramesPassedOn is the figure of a sender whose interface counts the frames that it passed on.
const FramesPassedOn = "frames_passed_on"

// PacketsOfOthers is the figure of a receiver that sends frames on by another interface whose
// counters have packets of others, too: of as many frames nobody knows whether they left.
const PacketsOfOthers = "redirect_dev_others_packets"

// Limits of [Frames].
const (
	MaxTuples = 4096
	MaxBurst  = 1 << 16
	// MaxFramePayload is what a page of the kernel's carries beside headers (net/bpf/test_run.c).
	MaxFramePayload = 2958
)
