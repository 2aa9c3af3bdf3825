// SPDX-License-Identifier: MIT

package dmabuf

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/gpu"
)

// rocms is memory of AMD GPUs, by ROCm's runtime (docs/devmem-gpu.md).
var rocms = func() Provider {
	p := ofGPU("rocm", gpu.AMD)
	open := p.Open
	p.Open = func(pci string, size int) (*Memory, error) {
		m, err := open(pci, size)
		if err == nil {
			m.stays = staysOnGPU(sysfs, m.Place, m.Size)
		}
		return m, err
	}
	return p
}()

// staysOnGPU returns what tells whether amdgpu has moved memory of size bytes to the host. It does
// so where an importer of the dmabuf cannot do peer-to-peer (amdgpu_dma_buf_pin of
// amdgpu_dma_buf.c), and what the driver uses of the host's memory shows it.
func staysOnGPU(sys gpu.FS, pci string, size int64) func() error {
	before, known := sys.HostBytes(pci)
	return func() error {
		now, still := sys.HostBytes(pci)
		if !known || !still || now-before < size {
			return nil
		}
		return &fault.Error{Op: fmt.Sprintf(
			"amdgpu has moved the memory of GPU %s to the host: its use of the host's memory "+
				"went from %d to %d bytes when the NIC was bound", pci, before, now),
			How: "this kernel attaches the NIC to dmabufs without peer-to-peer: measure the host's memory by " +
				"its name " +
				"(--area udmabuf), or use a kernel that attaches with it; docs/devmem-gpu.md"}
	}
}
