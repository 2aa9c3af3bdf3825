// SPDX-License-Identifier: MIT

package tcpmmap

import "github.com/zcbench/zcbench/flow/stream"

// RX is the mode.
var RX = stream.Mode{Name: mode, Role: stream.RX,
	Summary: "TCP_ZEROCOPY_RECEIVE: payload pages mapped into the application",
	Traits:  stream.ZeroCopy | stream.SplitsHeaders | stream.CopiedHere,
	Kernel:  "4.18", Needs: []stream.Need{stream.NeedInterface, stream.NeedHeaderSplit, stream.NeedPageMTU},
	NewReceiver: stream.MakesReceiver(New), Probe: probe}
