// SPDX-License-Identifier: MIT

package end

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
)

// encryptedAsAsked: the kernel gave the flow's keys to the NIC, or did not. It says so in the
// counts of its sessions alone, and does the work itself where the NIC does not.
func encryptedAsAsked(e *Evidence, f *Flow) (reason, fix string) {
	count, feature := "TlsRxDevice", "tls-hw-rx-offload"
	if e.Role == stream.TX {
		count, feature = "TlsTxDevice", "tls-hw-tx-offload"
	}
	how := records.How(e.Cell.TLS)
	switch t := f.TLS; {
	case t == nil:
	case how == records.Device && !t.Kept.Device:
		return fmt.Sprintf("tls %s: the NIC has not taken the keys of %v, so the kernel did its work (%s of "+
				"/proc/net/tls_stat did not grow)", how, t.Version, count),
			"see whether the NIC has it and it is on (ethtool -k DEV, " + feature +
				"), that the flow's route leaves by " +
				"that interface itself, and whether its driver takes AES-GCM 128; or use tls: ktls"
	case how == records.Kernel && t.Kept.Device:
		return fmt.Sprintf("tls %s: the NIC has taken the keys (%s of /proc/net/tls_stat grew)", how, count),
			"switch that off (--set \"feature " + feature + "=off\"), or use tls: ktls-hw"
	}
	return "", ""
}
