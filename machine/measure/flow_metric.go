// SPDX-License-Identifier: MIT

package measure

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/lazy"
)

// FlowMetric names a metric of one of several flows: "flow3_zcrx_pieces".
func FlowMetric(flow int, name string) string { return fmt.Sprintf("flow%d_%s", flow, name) }

// DevMetric names a metric of one of several interfaces of an end, by its place among them:
// "dev1_link_rx_bytes".
func DevMetric(place int, name string) string { return fmt.Sprintf("dev%d_%s", place, name) }

var ofDev = lazy.Regexp(`^dev[0-9]+_`)

// WithoutDev strips the interface from a metric's name, so that it reads as that of the only one.
func WithoutDev(name string) string { return ofDev().ReplaceAllString(name, "") }

var ofFlow = lazy.Regexp(`^flow[0-9]+_`)

// WithoutFlow strips the flow from a metric's name, so that it reads as that of the only flow.
func WithoutFlow(name string) string { return ofFlow().ReplaceAllString(name, "") }
