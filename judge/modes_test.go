// SPDX-License-Identifier: MIT

package judge

import "github.com/zcbench/zcbench/flow/stream"

func init() { stream.Register(stream.Mode{Name: "rr", Role: stream.TX, RoundTrips: true}) }
