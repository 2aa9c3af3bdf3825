// SPDX-License-Identifier: MIT

package doctor

import (
	"bytes"
	"os"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/gpu"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// gpuBytes is how much memory of a GPU is tried: a piece of what its driver has in one.
const gpuBytes = 2 << 20

// gpuFact is what was found of a vendor's GPU, the nearest to the NIC. Without a GPU it is empty.
type gpuFact struct {
	GPU, Name string // as the bus and as the vendor's library call it
	Path      string // between NIC and GPU
	Why, How  string // what keeps its memory from being had, or may keep the NIC from reaching it
}

// cuda and rocm are rungs of hosts that have such a GPU: it may take its area.
func (f *facts) cuda() wire.Check { return f.gpus["cuda"].check("cuda") }
func (f *facts) rocm() wire.Check { return f.gpus["rocm"].check("rocm") }

func (g gpuFact) check(area string) wire.Check {
	if g.GPU == "" {
		return wire.Check{}
	}
	c := wire.Check{Status: "ok", Needed: "for --area " + area, Found: g.GPU}
	for _, more := range []string{g.Name, g.Path, g.Why} {
		if more != "" {
			c.Found += ", " + more
		}
	}
	if g.Why != "" {
		c.Status, c.Fix = "warn", g.How
	}
	return c
}

// findGPUs looks for the GPUs of each vendor.
func findGPUs(d *nic.Device) map[string]gpuFact {
	bus := ""
	if d != nil {
		if drv, err := d.Driver(); err == nil && gpu.CheckPCI(drv.Bus) == nil {
			bus = drv.Bus
		}
	}
	out := map[string]gpuFact{}
	for area, v := range map[string]gpu.Vendor{"cuda": gpu.NVIDIA, "rocm": gpu.AMD} {
		out[area] = recorded("GPU of "+area, func() gpuFact {
			return findGPU(gpu.Host, v, bus, area, areaBytes(d), makes)
		})
	}
	return out
}

// makes tries to have memory of a GPU, and returns what the vendor's library calls it.
func makes(area string) (name string, err error) {
	m, err := dmabuf.Make(area, gpuBytes)
	if err != nil {
		return "", err
	}
	defer m.Close()
	return m.Name, copies(m)
}

// copies has a pattern copied to the end of memory, and holds what comes back to it.
func copies(m *dmabuf.Memory) error {
	page := make([]byte, os.Getpagesize())
	stream.WritePayload(page, len(page))
	back, at := make([]byte, len(page)), m.Size-int64(len(page))
	if err := m.Write(at, page); err != nil {
		return err
	}
	if err := m.Read(at, back); err != nil {
		return err
	}
	if !bytes.Equal(page, back) {
		return &fault.Error{Op: "what was copied to this memory came back otherwise",
			How: "look for the device's errors: dmesg"}
	}
	return nil
}

// areaBytes is how much memory an area has where nobody asks for another size: what a NIC's ring
// wants, or more.
func areaBytes(d *nic.Device) int64 {
	size := stream.DefaultAreaBytes
	if d != nil {
		if ring, err := d.PayloadRing(os.Getpagesize()); err == nil {
			size = max(size, dmabuf.SizeFor(ring.Buffers, os.Getpagesize(), 0))
		}
	}
	return int64(size)
}

// findGPU looks for a vendor's, for areas of size bytes.
func findGPU(sys gpu.FS, v gpu.Vendor, bus, area string, size int64,
	makes func(area string) (string, error)) (f gpuFact) {
	all := sys.List(v)
	if len(all) == 0 {
		return f
	}
	g := all[0]
	var path gpu.Path
	if bus != "" {
		near, err := sys.Nearest(v, bus)
		if err == nil {
			g = near
			path, err = sys.Between(bus, g.PCI)
		}
		if err != nil {
			return gpuFact{GPU: g.String(), Why: err.Error(), How: fault.Fix(err)}
		}
		f.Path = path.String()
	}
	f.GPU = g.String()
	var whys, hows []string
	add := func(err error) {
		whys, hows = append(whys, fault.Reason(err)), append(hows, fault.Fix(err))
	}
	if g.Driver == v.Driver() {
		var err error
		if f.Name, err = makes(area + ":" + g.PCI); err != nil {
			add(err)
		}
	}
	if bus != "" {
		for _, d := range sys.Doubts(path, g, size) {
			add(d)
		}
	}
	f.Why, f.How = strings.Join(whys, "; "), strings.Join(hows, "; ")
	return f
}
