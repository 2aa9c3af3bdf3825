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
	if f.TLS == nil {
		return "", ""
	}
	sends := e.Role == stream.TX
	reason, fix = keysAsAsked(e, f.TLS.Version, f.TLS.Kept, sends, "the keys")
	if a := f.TLS.KeptAnswers; a != nil && reason == "" {
		return keysAsAsked(e, f.TLS.Version, *a, !sends, "the answers' keys")
	}
	return reason, fix
}

// keysAsAsked asks it of the keys of one direction, of what the end sends or of what it receives.
func keysAsAsked(e *Evidence, v records.Version, kept records.Kept, sends bool, keys string) (reason, fix string) {
	count, feature := "TlsRxDevice", "tls-hw-rx-offload"
	if sends {
		count, feature = "TlsTxDevice", "tls-hw-tx-offload"
	}
	how := records.How(e.Cell.TLS)
	switch {
	case how == records.Device && !kept.Device:
		return fmt.Sprintf("tls %s: the NIC has not taken %s of %v, so the kernel did its work (%s of "+
				"/proc/net/tls_stat did not grow)", how, keys, v, count),
			"see whether the NIC has it and it is on (ethtool -k DEV, " + feature +
				"), that the flow's route leaves by " +
				"that interface itself, and whether its driver takes AES-GCM 128; or use tls: ktls"
	case how == records.Kernel && kept.Device:
		return fmt.Sprintf("tls %s: the NIC has taken %s (%s of /proc/net/tls_stat grew)", how, keys, count),
			"switch that off (--set \"feature " + feature + "=off\"), or use tls: ktls-hw"
	}
	return "", ""
}
