// SPDX-License-Identifier: MIT

package uringzc

import "github.com/zcbench/zcbench/flow/stream"

// TX is the mode.
var TX = stream.Mode{Name: "uring-zc", Role: stream.TX, Summary: "io_uring SEND_ZC from registered buffers",
	Traits: stream.ZeroCopy | stream.UsesRing | stream.CopiedHere,
	Kernel: "6.0", Needs: []stream.Need{stream.NeedRing, stream.NeedMemlock, stream.NeedScatterGather},
	NewSender: stream.MakesSender(New), NewLender: NewLender, Probe: probe}
