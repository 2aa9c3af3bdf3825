// SPDX-License-Identifier: MIT

package tune

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// latencyFile is /dev/cpu_dma_latency (kernel/power/qos.c).
var latencyFile = "/dev/cpu_dma_latency"

// Latency keeps the CPUs out of deep idle states while it is open. The kernel
// forgets it when the file is closed, however the process ends.
type Latency struct{ f *os.File }

// HoldLatency lets CPUs enter no idle state whose exit takes longer than us
// microseconds; 0 keeps them from sleeping at all.
func HoldLatency(us int) (*Latency, error) {
	f, err := os.OpenFile(latencyFile, os.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = f.Write(binary.NativeEndian.AppendUint32(nil, uint32(us)))
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, failed(remedy.FileLatency, fmt.Sprintf("limit the idle states to %d us by %s", us, latencyFile),
			latencyFile, "", err)
	}
	return &Latency{f}, nil
}

// Close lets the CPUs sleep again.
func (l *Latency) Close() error { return l.f.Close() }
