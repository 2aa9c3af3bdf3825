// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// leastByNIC is the share of the payload that a NIC with the keys must have encrypted or decrypted:
// what it leaves out, such as records of which a packet was lost, the kernel does.
const leastByNIC = 0.9

// byNIC are the counters of what a NIC has encrypted and decrypted, as
// Documentation/networking/tls-offload.rst names them for all drivers.
var byNIC = map[ends.Role]string{ends.SUT: "ethtool_rx_tls_decrypted_bytes", ends.TG: "ethtool_tx_tls_encrypted_bytes"}

// nicEncrypted makes a run invalid whose NIC has the keys, and left its work to the kernel. A
// driver that does not count tells nothing.
func nicEncrypted(rec *results.Record) {
	for _, role := range ends.Roles {
		h := rec.Host(role)
		if rec.Verdict != results.OK || rec.Cell.TLS != string(records.Device) || h.Bytes == nil || *h.Bytes == 0 {
			return
		}
		share := countedTogether(h, byNIC[role]) / float64(*h.Bytes)
		if share < leastByNIC { // not where it is not known
			rec.Verdict, rec.Reason = results.Invalid,
				fmt.Sprintf("%s: tls %s: the NIC has the keys, but by %s it did "+
					"%.0f %% of the payload (at least %.0f %%)", role.Label(), rec.Cell.TLS, byNIC[role], 100*share,
					100*leastByNIC)
			rec.Fix = "look for retransmits and reordering (rx_tls_resync_*, tx_tls_ooo of ethtool -S), and " +
				"whether the " +
				"NIC has room for so many flows"
		}
	}
}

// countedTogether returns the value of a counter of an end's interfaces, of all together where it
// has several; NaN if that of one was not read.
func countedTogether(h *results.Host, name string) float64 {
	sum := 0.0
	for i := 0; ; i++ {
		if math.IsNaN(h.Counted(measure.DevMetric(i, "link_rx_bytes"))) { // all have it
			if i == 0 {
				return h.Counted(name)
			}
			return sum
		}
		sum += h.Counted(measure.DevMetric(i, name))
	}
}
