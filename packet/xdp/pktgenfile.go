// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"strconv"
	"strings"
)

// parsePktgen reads of a device's file how many packets its driver took, and how many it did not
// (net/core/pktgen.c: pktgen_if_show, Linux 7.3.4).
func parsePktgen(b []byte) (sent, refused uint64, err error) {
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != "pkts-sofar:" || f[2] != "errors:" {
			continue
		}
		if sent, err = strconv.ParseUint(f[1], 10, 64); err == nil {
			refused, err = strconv.ParseUint(f[3], 10, 64)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("what pktgen says that it sent: %.80q", line)
		}
		return sent, refused, nil
	}
	return 0, 0, fmt.Errorf("pktgen does not say what it sent: %.80q", b)
}
