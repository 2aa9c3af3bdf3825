// SPDX-License-Identifier: MIT

package dmabuf

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
			m.stays = staysOnGPU(m.Place, m.Size, func() (int64, bool) { return onGPU("/proc", m.maker, m.Place) })
		}
		return m, err
	}
	return p
}()

// staysOnGPU returns what tells whether amdgpu has moved memory of size bytes to the host. It does
// so where an importer of the dmabuf cannot do peer-to-peer (amdgpu_dma_buf_pin of
// amdgpu_dma_buf.c), and what the process that made it has on the GPU shows it. Where that does not
// count the memory, nothing is claimed.
func staysOnGPU(pci string, size int64, has func() (int64, bool)) func() error {
	before, known := has()
	return func() error {
		const other = "measure the host's memory by its name (--area udmabuf), or use a kernel "
		now, still := has()
		switch {
		case !known || !still || before < size:
			return &fault.Error{Op: fmt.Sprintf("nothing tells whether amdgpu has moved the memory of GPU %s to the "+
				"host: /proc/PID/fdinfo of zcgpu's nodes did not count its %d bytes", pci, size),
				How: other + "whose amdgpu counts it there (drm-memory-vram, drm-resident-vram); docs/devmem-gpu.md"}
		case now < before:
			return &fault.Error{Op: fmt.Sprintf("amdgpu has moved the memory of GPU %s to the host: what zcgpu has on "+
				"the GPU went from %d to %d bytes when the NIC was bound", pci, before, now),
				How: "this kernel attaches the NIC to dmabufs without peer-to-peer: " + other + "that attaches with " +
					"it; docs/devmem-gpu.md"}
		}
		return nil
	}
}

// onGPU returns how much memory on a GPU a process has, as the GPU's driver tells of the nodes that
// the process has open; told is false where it does not. What ROCm allocates is of one node's file,
// which the process may have twice (amdgpu_show_fdinfo of amdgpu_fdinfo.c, acquire_vm of
// amdgpu_amdkfd_gpuvm.c).
func onGPU(proc string, pid int, pci string) (most int64, told bool) {
	dir := filepath.Join(proc, strconv.Itoa(pid), "fdinfo")
	for _, name := range entries(dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			at, is := strings.CutPrefix(line, "drm-pdev:")
			if bytes, tells := onDevice(string(b)); is && tells && strings.TrimSpace(at) == pci {
				most, told = max(most, bytes), true
			}
		}
	}
	return most, told
}
