// SPDX-License-Identifier: MIT

package survey

import "github.com/zcbench/zcbench/machine/gpu"

// gpus adds the GPUs whose memory zcbench can have, and how far each is from the port, whose PCI
// address it is told.
func (f *facts) gpus(port string) {
	sys := gpu.FS(f.fs.sys())
	for _, v := range []gpu.Vendor{gpu.NVIDIA, gpu.AMD} {
		for _, g := range sys.List(v) {
			what := g.String()
			if p, err := sys.Between(port, g.PCI); gpu.CheckPCI(port) == nil && err == nil {
				what += ", " + p.Distance.String()
			}
			f.add("gpu/"+g.PCI, what)
		}
	}
}
