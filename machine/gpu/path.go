// SPDX-License-Identifier: MIT

package gpu

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/units"
)

// Distance says what is between a NIC and a GPU, the nearest first.
type Distance int

// The distances.
const (
	SameSwitch Distance = iota
	SamePort
	SameBridge
	SameNode
	AcrossNodes
)

func (d Distance) String() string {
	return [...]string{"behind one PCIe switch", "below one root port", "below one host bridge",
		"below two host bridges of one NUMA node", "on two NUMA nodes"}[d]
}

// Path is the way between a NIC and a GPU.
type Path struct {
	NIC, GPU string
	Distance
	At       string   // the bridge where the two ways meet; "" where none does
	Bridges  []string // between them, that one too
	Redirect []string // of those, which send traffic between devices below them up to the root (ACS)
	IOMMU    string   // how the NIC's addresses are translated: DMA, DMA-FQ, identity; "": not
}

func (p Path) String() string {
	s := p.Distance.String()
	if p.At != "" {
		s += " (" + p.At + ")"
	}
	return s
}

// Between finds the way between two PCI devices.
func (f FS) Between(nic, gpu string) (Path, error) {
	p := Path{NIC: strings.ToLower(nic), GPU: strings.ToLower(gpu), IOMMU: f.text(nic, "iommu_group/type")}
	a, err := f.up(p.NIC)
	if err != nil {
		return p, err
	}
	b, err := f.up(p.GPU)
	if err != nil {
		return p, err
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	switch { // a[0] is the host bridge, a[1] the root port
	case same >= 3:
		p.Distance, p.At = SameSwitch, a[same-1]
	case same == 2:
		p.Distance, p.At = SamePort, a[1]
	case same == 1:
		p.Distance, p.At = SameBridge, a[0]
	case f.node(p.NIC) == f.node(p.GPU):
		p.Distance = SameNode
	default:
		p.Distance = AcrossNodes
	}
	if p.Distance <= SamePort {
		p.Bridges = []string{p.At}
	}
	for _, way := range [][]string{a, b} {
		for _, bridge := range way[max(same, 1) : len(way)-1] {
			p.Bridges = append(p.Bridges, bridge)
			if p.Distance == SameSwitch && f.redirects(bridge) {
				p.Redirect = append(p.Redirect, bridge)
			}
		}
	}
	return p, nil
}

// redirects reports whether a port sends requests for its neighbours up to the root (Access Control
// Services: PCI_ACS_RR or PCI_ACS_UF of PCI_ACS_CTRL). Only root is shown what tells.
func (f FS) redirects(pci string) bool {
	b, err := kernelfile.ReadFile(f.device(pci, "config"))
	if err != nil {
		return false
	}
	for at, steps := 0x100, 0; at+8 <= len(b) && at >= 0x100 && steps < 64; steps++ {
		head := binary.LittleEndian.Uint32(b[at:])
		if head&0xffff == 0x0d { // PCI_EXT_CAP_ID_ACS
			return binary.LittleEndian.Uint16(b[at+6:])&(1<<2|1<<4) != 0
		}
		at = int(head >> 20)
	}
	return false
}

// Doubts say what may keep a NIC from reaching size bytes of the GPU's memory, or make it slow,
// each with what to do.
func (f FS) Doubts(p Path, g GPU, size int64) (out []error) {
	doubt := func(how, format string, args ...any) {
		out = append(out, &fault.Error{Op: fmt.Sprintf(format, args...), How: how})
	}
	if want := g.Vendor.Driver(); g.Driver != want {
		doubt("load "+want+" (modprobe "+want+
			"), and let it have the GPU: what else has it (nouveau, vfio-pci) keeps it",
			"the driver of the GPU is not %s: %v", want, g)
	}
	if g.Window > 0 && g.Window < size {
		doubt("switch on large windows in the firmware (Above 4G Decoding, Resizable BAR), or choose a smaller "+
			"--area-size",
			"the GPU's memory window (BAR) has %s, and %s are wanted", units.Bytes(g.Window), units.Bytes(size))
	}
	switch {
	case p.Distance == AcrossNodes:
		doubt("use a NIC of the GPU's node, or a GPU of the NIC's",
			"NIC %s and GPU %s are on two NUMA nodes: what goes "+
				"from one to the other passes the CPUs' link, slowly or not at all", p.NIC, p.GPU)
	case p.Distance == SameNode:
		doubt("use slots below one host bridge, or behind one switch",
			"NIC %s and GPU %s are below two host bridges: not "+
				"every CPU passes on what goes between them", p.NIC, p.GPU)
	}
	if len(p.Redirect) > 0 {
		doubt("switch ACS off for these ports where isolation is not needed: in the firmware, or setpci -s PORT "+
			"ECAP_ACS+6.w=0 until the next boot", "the switch sends what goes between NIC and GPU up to the root port "+
			"and back (ACS redirect at %s)", strings.Join(p.Redirect, ", "))
	}
	if strings.HasPrefix(p.IOMMU, "DMA") {
		doubt("boot with iommu=pt, which translates no addresses of the kernel's drivers",
			"the IOMMU translates the NIC's addresses "+
				"(%s), so that what goes to the GPU passes the root, and some drivers refuse it", p.IOMMU)
	}
	return out
}
