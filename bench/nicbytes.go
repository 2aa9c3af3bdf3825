// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
)

// Metrics that the two NICs' own counters give, of a whole run.
const (
	// nicProviderBytes is payload that the SUT's NIC wrote into memory that a
	// receive mode had provided, NICKernelBytes into pages of the kernel.
	nicProviderBytes = "nic_provider_bytes"
	nicKernelBytes   = "nic_kernel_bytes"
	// nicNetmemBytes is what the TG's NIC read from memory that the kernel cannot
	// read (devmem TX).
	nicNetmemBytes = "nic_netmem_bytes"
)

// ownCardSource begins the source of counts that a NIC of the lab's own told past its driver. Such
// a NIC sees addresses, so it cannot tell what it reads from memory that the kernel cannot read.
const ownCardSource = "the device itself: "

// nicWitness reads the counters that the NICs of two namespaces of this machine keep
// of where payload went: evidence of the hardware's side, apart from all that sockets,
// rings and agents say.
type nicWitness struct {
	sut, tg *nic.Device
	own     bool // they are the lab's own, and tell it past their driver
}

// openWitness finds the flow's two interfaces.
func openWitness(sut, tg *host.Host, o *Options) (w *nicWitness, err error) {
	w = &nicWitness{}
	if w.sut, err = openNIC(sut, o.SUTDev); err == nil {
		w.tg, err = openNIC(tg, o.TGDev)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func openNIC(h *host.Host, dev string) (d *nic.Device, err error) {
	if h.Spec.Kind != "netns" {
		return nil, inputErrorf("host %s: the NIC's own counters are read in a namespace of this machine: netns:NAME",
			h.Spec.Name)
	}
	ns, err := veth.OpenNetns(h.Spec.Netns)
	if err != nil {
		return nil, err
	}
	err = ns.Do(func() (err error) { d, err = nic.Open(dev); return err })
	return d, errors.Join(err, ns.Close())
}

// Close lets go of the interfaces.
func (w *nicWitness) Close() error {
	var err error
	for _, d := range []*nic.Device{w.sut, w.tg} {
		if d != nil {
			err = errors.Join(err, d.Close())
		}
	}
	return err
}

// observe implements [Runner].Observe: it adds to a record what the NICs counted meanwhile.
func (w *nicWitness) observe() func(*results.Record) {
	rx, tx, err := w.read()
	return func(rec *results.Record) {
		rx2, tx2, err2 := w.read()
		if err := errors.Join(err, err2); err != nil {
			rec.Warnings = append(rec.Warnings, fmt.Sprintf("the NIC's own counters: %v", err))
			return
		}
		add := func(h *results.Host, dev, name, called string, from, to map[string]uint64) {
			n, ok := grown(from, to, called)
			if ok {
				h.Metrics = append(h.Metrics, measure.Metric{Name: name, Unit: "bytes", Value: float64(n),
					Source: w.source(dev) + ", whole run"})
			}
		}
		add(&rec.SUT, w.sut.Name, nicProviderBytes, "rx*_provider_bytes", rx, rx2)
		add(&rec.SUT, w.sut.Name, nicKernelBytes, "rx*_kernel_bytes", rx, rx2)
		add(&rec.TG, w.tg.Name, nicNetmemBytes, "tx*_netmem_bytes", tx, tx2)
	}
}

func (w *nicWitness) read() (rx, tx map[string]uint64, err error) {
	rx, err = w.counted(w.sut)
	tx, err2 := w.counted(w.tg)
	return rx, tx, errors.Join(err, err2)
}

// source names where the counts come from.
func (w *nicWitness) source(dev string) string {
	if w.own {
		return ownCardSource + dev
	}
	return "ethtool -S " + dev
}

// counted reads what a NIC counted: the driver's counters, or those of a NIC that the lab itself
// is, whose driver knows of no such counts.
func (w *nicWitness) counted(d *nic.Device) (map[string]uint64, error) {
	own, err := d.CardCounts()
	if w.own = own != nil; w.own || err != nil {
		return own, err
	}
	return d.Stats()
}

// grown sums by how much the counters of a name grew, see [nic.Called]; ok is false where there is
// none, and where one was set back meanwhile.
func grown(from, to map[string]uint64, called string) (n uint64, ok bool) {
	for name, v := range to {
		if nic.Called(name, called) {
			if v < from[name] {
				return 0, false
			}
			n, ok = n+v-from[name], true
		}
	}
	return n, ok
}
