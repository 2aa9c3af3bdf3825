// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
)

// tlsStatFile is below /proc/thread-self, as those of ReadNetstat are.
const tlsStatFile = "net/tls_stat"

// ReadTLSStat reads what kTLS counts in the calling thread's network namespace (net/tls/tls_proc.c,
// Linux 7.3.4); a kernel that has not loaded it counts nothing.
func ReadTLSStat(fs FS) (out []measure.Count, err error) {
	b, err := kernelfile.ReadFile(fs.netPath(tlsStatFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all map[string]uint64
	if err == nil {
		all, err = records.ParseStat(string(b))
	}
	if err != nil {
		return nil, fmt.Errorf("read what kTLS counts: %w", mounted(err))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := measure.Count{Name: name, Metric: "tls_stat_" + snake(strings.TrimPrefix(name, "Tls")), Unit: "1",
			Source: "/proc/" + tlsStatFile, Value: all[name]}
		if strings.HasPrefix(name, "TlsCurr") {
			c.Kind = measure.Gauge
		}
		out = append(out, c)
	}
	return out, nil
}

// TLSStatMetrics describe what kTLS counts.
var TLSStatMetrics = []measure.MetricDoc{
	{Names: "tls_stat_NAME", Units: "1", Source: "/proc/net/tls_stat",
		Meaning: "of kTLS (docs/tls.md), in the window: records that did not decrypt (decrypt_error), that had " +
			"to be decrypted twice (decrypt_retry), sessions by software and device, and how many there are (curr)"},
}
