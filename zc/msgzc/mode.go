// SPDX-License-Identifier: MIT

package msgzc

import "github.com/zcbench/zcbench/flow/stream"

// TX is the mode.
var TX = stream.Mode{Name: "msg-zerocopy", Role: stream.TX,
	Summary: "send with MSG_ZEROCOPY, completions from the error queue",
	Traits:  stream.ZeroCopy | stream.ZeroCopySocket | stream.CopiedHere,
	Kernel:  "4.14", Needs: []stream.Need{stream.NeedNotifications, stream.NeedScatterGather},
	NewSender: stream.MakesSender(New), NewLender: NewLender, Probe: probe}
