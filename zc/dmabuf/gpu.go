// SPDX-License-Identifier: MIT

package dmabuf

import (
	"os"
	"os/exec"
	"strings"

	"github.com/zcbench/zcbench/internal/helper"
	"github.com/zcbench/zcbench/machine/gpu"
)

// sysfs is the host's GPUs.
var sysfs = gpu.Host

// ofGPU is a provider of memory of a vendor's GPUs, which the program zcgpu makes by the library
// that it loads.
func ofGPU(name string, v gpu.Vendor) Provider {
	nearest := func(nic string) (string, error) {
		g, err := sysfs.Nearest(v, nic)
		return g.PCI, err
	}
	return Provider{Name: name, Arg: "[:PCI]", Help: "memory of " + v.Name() + " GPUs",
		Check: func(pci string) error {
			if pci == "" {
				return nil
			}
			return gpu.CheckPCI(pci)
		},
		Helper: helper.GPU,
		Near:   nearest,
		Open: func(pci string, size int) (m *Memory, err error) {
			if pci == "" {
				if pci, err = nearest(""); err != nil {
					return nil, err
				}
			}
			pci = strings.ToLower(pci) // as the kernel writes it
			program, err := helper.Open(helper.GPU)
			if err != nil {
				return nil, err
			}
			defer program.Close()
			cmd := exec.Command("/proc/self/fd/4", name, pci) // what was checked is what runs
			cmd.Args[0], cmd.ExtraFiles = helper.GPU, []*os.File{program}
			return HandedOver(name+":"+pci, cmd, size)
		}}
}
