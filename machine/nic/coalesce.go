// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// coalescing are the parameters of interrupt moderation by the names of ethtool -C
// (net/ethtool/coalesce.c). Times are in microseconds.
var coalescing = map[string]struct {
	attr   uint16
	isBool bool // one byte, 0 or 1
}{
	"rx-usecs":          {unix.ETHTOOL_A_COALESCE_RX_USECS, false},
	"rx-frames":         {unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES, false},
	"rx-usecs-irq":      {unix.ETHTOOL_A_COALESCE_RX_USECS_IRQ, false},
	"rx-frames-irq":     {unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ, false},
	"tx-usecs":          {unix.ETHTOOL_A_COALESCE_TX_USECS, false},
	"tx-frames":         {unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES, false},
	"tx-usecs-irq":      {unix.ETHTOOL_A_COALESCE_TX_USECS_IRQ, false},
	"tx-frames-irq":     {unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ, false},
	"adaptive-rx":       {unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, true},
	"adaptive-tx":       {unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, true},
	"cqe-mode-rx":       {unix.ETHTOOL_A_COALESCE_USE_CQE_MODE_RX, true},
	"cqe-mode-tx":       {unix.ETHTOOL_A_COALESCE_USE_CQE_MODE_TX, true},
	"stats-block-usecs": {unix.ETHTOOL_A_COALESCE_STATS_BLOCK_USECS, false},
}

// Coalescing reads the parameters that the driver has, by name.
func (d *Device) Coalescing() (map[string]uint32, error) {
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_COALESCE_GET, 0, d.header)
	out := map[string]uint32{}
	for _, m := range msgs {
		if err == nil {
			err = decodeCoalescing(m.Data, out)
		}
	}
	if err != nil {
		return nil, d.failed(remedy.CoalesceGet, d.op("read interrupt coalescing"), err)
	}
	return out, nil
}

func decodeCoalescing(b []byte, into map[string]uint32) error {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return err
	}
	for ad.Next() {
		for name, c := range coalescing {
			switch {
			case c.attr != ad.Type():
			case c.isBool:
				into[name] = uint32(ad.Uint8())
			default:
				into[name] = ad.Uint32()
			}
		}
	}
	return ad.Err()
}

// SetCoalescing sets one parameter.
func (d *Device) SetCoalescing(name string, v uint32) error {
	c, ok := coalescing[name]
	if !ok {
		return &fault.Error{Op: d.op("set coalescing %s", name), Err: unix.EINVAL, How: "the parameters are " +
			strings.Join(slices.Sorted(maps.Keys(coalescing)), ", ")}
	}
	_, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_COALESCE_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		d.header(ae)
		if c.isBool {
			ae.Uint8(c.attr, uint8(v))
		} else {
			ae.Uint32(c.attr, v)
		}
	})
	if err != nil {
		return failed(remedy.CoalesceSet, d.op("set coalescing %s to %d", name, v), err,
			d.on(attempt{queue: noQueue, coalesce: name, value: strconv.FormatUint(uint64(v), 10)}))
	}
	return nil
}

// coalesceSetting makes one parameter a setting.
func (d *Device) coalesceSetting(s *setting.Setting, name string) error {
	c, ok := coalescing[name]
	if !ok {
		return fmt.Errorf("unknown setting %q: the parameters of coalesce are %s", "coalesce "+name,
			strings.Join(slices.Sorted(maps.Keys(coalescing)), ", "))
	}
	s.Get = func() (string, error) { return d.coalescingText(name) }
	s.Set = parsed(parse32, func(v uint32) error { return d.SetCoalescing(name, v) })
	s.Canon = number(0)
	if c.isBool {
		s.Canon = switched
	}
	return nil
}

// switched takes a switch as ethtool does, and as it reads back.
func switched(v string) (string, error) {
	switch v {
	case "1", "on":
		return "1", nil
	case "0", "off":
		return "0", nil
	}
	return "", fmt.Errorf("%q is not on or off", v)
}

func (d *Device) coalescingText(name string) (string, error) {
	all, err := d.Coalescing()
	if err != nil {
		return "", err
	}
	v, ok := all[name]
	if !ok {
		return "", d.failed(remedy.CoalesceSet, d.op("read coalescing %s", name), unix.EOPNOTSUPP)
	}
	return strconv.FormatUint(uint64(v), 10), nil
}
