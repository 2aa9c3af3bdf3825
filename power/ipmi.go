// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

var ipmiKind = sourceKind{inBand: true, summary: "the BMC's power reading (IPMI DCMI)", example: "ipmi",
	reaches: opens("device"),
	options: []string{"device"},
	open:    func(s Spec) (Source, error) { return openIPMI(s) },
	survey: func() (string, error) {
		d, err := openIPMI(Spec{Name: "ipmi"})
		if err != nil {
			return "", err
		}
		defer d.Close()
		return d.info.Device, nil
	}}

// ipmi asks the BMC for its DCMI power reading, in whole watts, averaged by the
// BMC.
type ipmi struct {
	info Info
	bmc  bmc
}

// bmc answers IPMI requests: the completion code and what follows it.
type bmc interface {
	transact(ctx context.Context, netFn, cmd byte, data []byte) ([]byte, error)
	Close() error
}

// DCMI 1.5, 6.6.1 Get Power Reading.
const (
	dcmiNetFn            = 0x2c
	dcmiGetPowerReading  = 0x02
	dcmiGroup            = 0xdc
	dcmiSystemStatistics = 0x01
)

func openIPMI(s Spec) (*ipmi, error) {
	path := s.Options.Get("device")
	if path == "" {
		path = "/dev/ipmi0"
	}
	dev, err := openIPMIDevice(path)
	if err != nil {
		return nil, err
	}
	return newIPMI(s, dev)
}

func newIPMI(s Spec, dev bmc) (*ipmi, error) {
	d := &ipmi{bmc: dev, info: Info{Name: s.String(), Scope: ScopeBoard, MinInterval: time.Second, Uncertainty: s.declared(0.05),
		Channels: []Channel{{Name: "board", Kind: Power, Scope: ScopeBoard, Resolution: 1}}}}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	r, err := d.reading(ctx)
	if err != nil {
		d.Close()
		return nil, err
	}
	d.info.Averages = r.period
	d.info.Device = fmt.Sprintf("DCMI, %d W now, sampling period %v", r.watts, r.period)
	return d, nil
}

// dcmiReading is a power reading.
type dcmiReading struct {
	watts, min, max, avg uint16
	period               time.Duration
}

func (d *ipmi) reading(ctx context.Context) (dcmiReading, error) {
	b, err := d.bmc.transact(ctx, dcmiNetFn, dcmiGetPowerReading, []byte{dcmiGroup, dcmiSystemStatistics, 0, 0})
	if err != nil {
		return dcmiReading{}, err
	}
	return parseDCMI(b)
}

// parseDCMI reads the answer to Get Power Reading: completion code, group,
// current, least, most and mean watts, time stamp, period in milliseconds,
// state; little-endian.
func parseDCMI(b []byte) (dcmiReading, error) {
	if len(b) > 0 && b[0] != 0 {
		return dcmiReading{}, &Unavailable{fmt.Sprintf("the BMC refuses a DCMI power reading: completion code 0x%02x%s", b[0], completion(b[0])), "the BMC may have none: try redfish, or hwmon"}
	}
	if len(b) != 19 || b[1] != dcmiGroup {
		return dcmiReading{}, fmt.Errorf("the BMC answers % x, which is not a DCMI power reading", b[:min(len(b), 24)])
	}
	le := binary.LittleEndian
	r := dcmiReading{watts: le.Uint16(b[2:]), min: le.Uint16(b[4:]), max: le.Uint16(b[6:]), avg: le.Uint16(b[8:]),
		period: time.Duration(le.Uint32(b[14:])) * time.Millisecond}
	if b[18]&0x40 == 0 {
		return r, &Unavailable{"the BMC's power measurement is not active", "activate it: ipmitool dcmi power activate"}
	}
	if r.watts == 0xffff {
		return r, errNoReading
	}
	return r, nil
}

func completion(code byte) string {
	switch code {
	case 0xc1:
		return " (unknown command)"
	case 0xc0:
		return " (busy)"
	case 0xd4:
		return " (not privileged)"
	}
	return ""
}

func (d *ipmi) Info() Info { return d.info }

func (d *ipmi) Read(ctx context.Context, v []int64) error {
	r, err := d.reading(ctx)
	if err != nil {
		return err
	}
	v[0], err = micro(float64(r.watts))
	return err
}

func (d *ipmi) Close() error { return d.bmc.Close() }
