// SPDX-License-Identifier: MIT

package survey

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/machine/nic"
)

// interfaces adds the flow's interfaces: the port with the queues, and the one with the address.
func (f *facts) interfaces(devs Devs) {
	type place struct{ dev, area string }
	all := []place{{devs.Port, "nic/"}, {devs.Upper, "nic/upper "}}
	for i, dev := range devs.More {
		all = append(all, place{dev, fmt.Sprintf("nic/dev%d ", i+1)})
	}
	for _, x := range all {
		if x.dev == "" || x.dev == devs.Port && x.area != "nic/" {
			continue
		}
		d, err := nic.Open(x.dev)
		if err != nil {
			continue
		}
		f.device(d, x.area)
		d.Close()
	}
}

// device adds what an interface is, and how it is set. It leaves out the name, which may contain
// the interface's address.
func (f *facts) device(d *nic.Device, area string) {
	if drv, err := d.Driver(); err == nil {
		f.add(area+"driver", drv.Name)
		f.add(area+"driver's version", drv.Version)
		f.add(area+"firmware", drv.Firmware)
		if area == "nic/" {
			f.gpus(drv.Bus)
		}
	}
	for _, x := range [][2]string{{"speed", "speed"}, {"duplex", "duplex"}, {"transmit queue length", "tx_queue_len"},
		{"threaded NAPI", "threaded"},
		{"gro_flush_timeout", "gro_flush_timeout"}, {"napi_defer_hard_irqs", "napi_defer_hard_irqs"},
		{"PCI vendor", "device/vendor"}, {"PCI device", "device/device"},
		{"PCI subsystem vendor", "device/subsystem_vendor"}, {"PCI subsystem device", "device/subsystem_device"},
		{"PCI revision", "device/revision"},
		{"PCIe speed", "device/current_link_speed"}, {"PCIe lanes", "device/current_link_width"},
		{"PCIe most speed", "device/max_link_speed"},
		{"PCIe most lanes", "device/max_link_width"}, {"NUMA node", "device/numa_node"},
		{"near CPUs", "device/local_cpulist"},
		{"IOMMU mode", "device/iommu_group/type"}, {"virtual functions", "device/sriov_numvfs"}} {
		if v, err := d.SysFile(x[1]); err == nil {
			f.add(area+x[0], v)
		}
	}
	if l, err := d.Link(); err == nil {
		for name, v := range map[string]int{"MTU": l.MTU, "gso-max-size": l.GSOMaxSize, "gro-max-size": l.GROMaxSize,
			"gso-ipv4-max-size": l.GSOIPv4MaxSize,
			"gro-ipv4-max-size": l.GROIPv4MaxSize, "tso-max-size": l.TSOMaxSize} {
			if v != 0 {
				f.add(area+name, strconv.Itoa(v))
			}
		}
		f.add(area+"XDP program", strconv.FormatBool(l.XDP))
	}
	f.queues(d, area)
	if all, err := d.Coalescing(); err == nil {
		for name, v := range all {
			f.add(area+"coalescing "+name, strconv.FormatUint(uint64(v), 10))
		}
	}
	if all, err := d.Features(); err == nil {
		for name, v := range all {
			f.add(area+"feature "+name, v.String())
		}
	}
	if all, err := d.PrivateFlags(); err == nil {
		for name, on := range all {
			f.add(area+"private flag "+name, strconv.FormatBool(on))
		}
	}
}

// queues adds rings, channels, header split, and which queue gets what.
func (f *facts) queues(d *nic.Device, area string) {
	if r, err := d.Rings(); err == nil {
		for name, v := range map[string]int{"ring rx": r.RX, "ring tx": r.TX, "ring rx-jumbo": r.RXJumbo,
			"ring rx most": r.RXMax, "ring tx most": r.TXMax,
			"ring rx-jumbo most": r.RXJumboMax, "receive buffer": r.RXBufLen, "header split most": r.HDSThreshMax} {
			if v != 0 {
				f.add(area+name, strconv.Itoa(v))
			}
		}
	}
	if c, err := d.Channels(); err == nil {
		f.add(area+"channels", c.String())
	}
	if h, err := d.HeaderSplit(); err == nil {
		f.add(area+"header split", h.String())
	}
	if table, err := d.Indirection(); err == nil {
		sum := sha256.Sum256([]byte(fmt.Sprint(table)))
		used := slices.Compact(slices.Sorted(slices.Values(table)))
		f.add(area+"RSS", fmt.Sprintf("%d entries over %d queues, %s", len(table), len(used),
			hex.EncodeToString(sum[:4])))
	}
	if n, err := d.HasRules(); err == nil {
		f.add(area+"steering rules", strconv.Itoa(n))
	}
}
