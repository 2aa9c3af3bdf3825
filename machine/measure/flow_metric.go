// SPDX-License-Identifier: MIT

package measure

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/lazy"
)

// FlowMetric names a metric of one of several flows: "flow3_zcrx_pieces".
func FlowMetric(flow int, name string) string { return fmt.Sprintf("flow%d_%s", flow, name) }

var ofFlow = lazy.Regexp(`^flow[0-9]+_`)

// WithoutFlow strips the flow from a metric's name, so that it reads as that of the only flow.
func WithoutFlow(name string) string { return ofFlow().ReplaceAllString(name, "") }
