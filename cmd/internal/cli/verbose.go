// SPDX-License-Identifier: MIT

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
)

// VerboseUsage is the help of the flag --verbose.
const VerboseUsage = "also print figures of the data paths themselves, such as devmem's read sizes"

// DataPath prints the figures that a data path itself counted, one a line. All of
// them, and more, are in metrics.csv.
func DataPath(w io.Writer, end string, metrics []measure.Metric) {
	for _, m := range metrics {
		if !strings.HasPrefix(m.Source, measure.DataPath) {
			continue
		}
		unit := ""
		if m.Unit != "1" {
			unit = " " + m.Unit
		}
		fmt.Fprintf(w, "  %-4s %-34s %12s%s\n", end, m.Name, number(m.Value), unit)
	}
}

// number formats a count in full, and anything else to three places.
func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprintf("%d", int64(v))
	}
	return fmt.Sprintf("%.3f", v)
}
