// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"time"
)

var ipmiKind = sourceKind{inBand: true, summary: "the BMC's power reading (IPMI DCMI)", example: "ipmi",
	reaches: opens("device"),
	options: []string{"device"},
	open:    func(s Spec) (Source, error) { return openIPMI(s) },
	survey:  func() (info, error) { return surveyed(kinds["ipmi"].open(Spec{Name: "ipmi"})) }}

// ipmi asks the BMC for its DCMI power reading, in whole watts, averaged by the
// BMC.
type ipmi struct {
	info info
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

// ipmiDevices are the devices that the kernel has for BMCs.
const ipmiDevices = "/dev/ipmi[0-9]*"

func openIPMI(s Spec) (*ipmi, error) {
	path := s.Options.Get("device")
	if path == "" {
		path = "/dev/ipmi0"
		if all, _ := filepath.Glob(ipmiDevices); len(all) > 1 {
			return nil, &unavailable{"several BMCs, and nothing says which is this machine's: " + listed(all),
				"name one: ipmi?device=" + all[0]}
		}
	}
	dev, err := openIPMIDevice(path)
	if err != nil {
		return nil, err
	}
	return newIPMI(s, dev)
}

func newIPMI(s Spec, dev bmc) (*ipmi, error) {
	d := &ipmi{bmc: dev, info: info{Name: s.String(), Scope: scopeBoard, MinInterval: time.Second,
		Averages: s.averages(), Uncertainty: s.declared(0.05),
		Channels: []channel{{Name: "board", Kind: power, Scope: scopeBoard, Resolution: 1}}}}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	r, err := d.reading(ctx)
	if err != nil {
		d.Close()
		return nil, err
	}
	d.info.Averages = max(d.info.Averages, averages(r.period))
	d.info.Device = fmt.Sprintf("DCMI, %d W now", r.watts)
	if averages(r.period) > 0 {
		d.info.Device += fmt.Sprintf(", sampling period %v", r.period)
	}
	d.info.Doubts = r.doubts()
	return d, nil
}

// dcmiReading is a power reading.
type dcmiReading struct {
	watts, min, max, avg uint16
	period               time.Duration
	inactive             bool // the BMC says that it does not measure
}

// doubts lists what the BMC says of a reading that does not fit it. OpenBMC's answer has the bits
// of its last byte in another order (dcmihandler.cpp of phosphor-host-ipmid), so that one that
// measures looks as if it did not; the reading decides.
func (r dcmiReading) doubts() (out []string) {
	if r.inactive {
		out = append(out, "the BMC's answer says that it does not measure, and yet has a reading, as OpenBMC's "+
			"does: compare it with another source")
	}
	if r.min > 0 && r.min <= r.max && (r.watts < r.min || r.watts > r.max) {
		out = append(out, fmt.Sprintf("the BMC reads %d W and says that it was always between %d and %d W",
			r.watts, r.min, r.max))
	}
	return out
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
		return dcmiReading{}, &unavailable{fmt.Sprintf("the BMC refuses a DCMI power reading: completion code 0x%02x%s",
			b[0], completion(b[0])), completionFix(b[0])}
	}
	if len(b) != 19 || b[1] != dcmiGroup {
		return dcmiReading{}, fmt.Errorf("the BMC answers % x, which is not a DCMI power reading", b[:min(len(b), 24)])
	}
	le := binary.LittleEndian
	r := dcmiReading{watts: le.Uint16(b[2:]), min: le.Uint16(b[4:]), max: le.Uint16(b[6:]), avg: le.Uint16(b[8:]),
		period: time.Duration(le.Uint32(b[14:])) * time.Millisecond}
	r.inactive = b[18]&0x40 == 0
	switch {
	case r.watts != 0 && r.watts != 0xffff:
		return r, nil
	case r.inactive:
		return r, &unavailable{fmt.Sprintf("the BMC says that it does not measure power, and reads %d W",
			r.watts), "use redfish or hwmon"}
	case r.watts == 0:
		return r, errZero
	}
	return r, errNoReading
}

// completionFix advises what to do about a completion code (IPMI 2.0, table 5-2).
func completionFix(code byte) string {
	switch code {
	case 0xc0, 0xc3, 0xce, 0xd2:
		return "the BMC is busy or starting: try again in a minute"
	case 0xd4:
		return "the BMC lets the host ask less than it needs: use redfish with a user of the BMC"
	}
	return "the BMC may have none: try redfish, or hwmon"
}

func completion(code byte) string {
	switch code {
	case 0xc1:
		return " (unknown command)"
	case 0xc0:
		return " (busy)"
	case 0xc3:
		return " (it took too long)"
	case 0xce:
		return " (cannot answer now)"
	case 0xd2:
		return " (its firmware is starting)"
	case 0xd4:
		return " (not privileged)"
	}
	return ""
}

func (d *ipmi) Info() info { return d.info }

func (d *ipmi) Read(ctx context.Context, v []int64) error {
	r, err := d.reading(ctx)
	if err != nil {
		return err
	}
	d.info.Doubts = r.doubts()
	v[0], err = micro(float64(r.watts))
	return err
}

func (d *ipmi) Close() error { return d.bmc.Close() }
