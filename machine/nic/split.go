// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// Split is ETHTOOL_TCP_DATA_SPLIT_* of include/uapi/linux/ethtool.h.
type Split uint8

// The states of header split.
const (
	SplitUnknown Split = 0 // the driver decides, or does not say
	SplitOff     Split = 1
	SplitOn      Split = 2
)

func (s Split) String() string {
	switch s {
	case SplitUnknown:
		return "auto"
	case SplitOff:
		return "off"
	case SplitOn:
		return "on"
	}
	return fmt.Sprintf("split(%d)", uint8(s))
}

// HeaderSplit says whether the NIC writes payload and headers to different
// memory (ETHTOOL_A_RINGS_TCP_DATA_SPLIT).
type HeaderSplit struct {
	State Split
	// Threshold is the payload size, in bytes, up to which a packet is not split
	// (ETHTOOL_A_RINGS_HDS_THRESH); 0 splits all. -1: the driver has none.
	Threshold int
}

func (h HeaderSplit) String() string {
	if h.Threshold < 0 {
		return fmt.Sprintf("tcp-data-split %v", h.State)
	}
	return fmt.Sprintf("tcp-data-split %v, hds-thresh %d", h.State, h.Threshold)
}

// parseSplit reads what HeaderSplit's String writes. A text without hds-thresh
// leaves it open.
func parseSplit(text string) (h HeaderSplit, err error) {
	h.Threshold = -1
	state, thresh, has := strings.Cut(text, ", hds-thresh ")
	if has {
		var n uint64
		n, err = strconv.ParseUint(thresh, 10, 31)
		h.Threshold = int(n)
	}
	for _, s := range []Split{SplitUnknown, SplitOff, SplitOn} {
		if state == "tcp-data-split "+s.String() && err == nil {
			h.State = s
			return h, nil
		}
	}
	return h, fmt.Errorf("header split %q: want tcp-data-split auto|off|on[, hds-thresh BYTES]", text)
}

// HeaderSplit reads the state (net/ethtool/rings.c). A driver without ring
// parameters answers EOPNOTSUPP.
func (d *Device) HeaderSplit() (HeaderSplit, error) {
	h := HeaderSplit{Threshold: -1}
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_RINGS_GET, 0, d.header)
	if err == nil {
		err = each(msgs, h.decode)
	}
	if err != nil {
		return h, d.failed(remedy.SplitGet, d.op("read header split"), err)
	}
	return h, nil
}

func (h *HeaderSplit) decode(ad *netlink.AttributeDecoder) {
	switch ad.Type() {
	case unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT:
		h.State = Split(ad.Uint8())
	case unix.ETHTOOL_A_RINGS_HDS_THRESH:
		h.Threshold = int(ad.Uint32())
	}
}

// SetHeaderSplit sets state and threshold; a Threshold of -1 leaves it. The
// driver may answer EOPNOTSUPP or EINVAL: EINVAL also when XDP is attached, or
// when split is to go off while a queue has a memory provider.
func (d *Device) SetHeaderSplit(h HeaderSplit) error {
	_, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_RINGS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		d.header(ae)
		ae.Uint8(unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT, uint8(h.State))
		if h.Threshold >= 0 {
			ae.Uint32(unix.ETHTOOL_A_RINGS_HDS_THRESH, uint32(h.Threshold))
		}
	})
	if err == nil {
		return nil
	}
	return d.failed(remedy.SplitSet, d.op("set %v", h), err)
}

// splitSetting makes header split a setting. Drivers report what they do, not what was asked for:
// bnxt says on where it aggregates, fbnic always. But memory providers want it asked for
// (net/core/netdev_rx_queue.c, netif_mp_open_rxq).
func (d *Device) splitSetting(s *setting.Setting) {
	s.Get, s.Set = text(d.HeaderSplit), parsed(parseSplit, d.restoreSplit)
	s.Ask = func(v string) (bool, error) {
		h, err := parseSplit(v)
		if err != nil {
			return false, err
		}
		return d.askSplit(h)
	}
	s.Leave = parsed(parseSplit, d.leaveSplit)
	s.Enough = func(v string) bool {
		h, err := parseSplit(v)
		return err == nil && splitTells(d.ways(), h.State)
	}
	s.Canon, s.Complete, s.Follows = rewritten(parseSplit), completeSplit, splitFollows
}

// splitTells reports whether a state that reads so is so for whoever receives, asked for or not:
// off, and on where the driver splits when nobody asks. bnxt says on where it aggregates.
func splitTells(drv driver.Driver, s Split) bool {
	return s == SplitOff || s == SplitOn && drv.AutoIsOn
}

// askSplit does what SetHeaderSplit does, and reports whether the kernel had anything to change: it
// notifies all listeners of rings that were changed, and of nothing else (net/ethtool/netlink.c,
// ethnl_default_set_doit). What cannot be found out was changed.
func (d *Device) askSplit(h HeaderSplit) (changed bool, err error) {
	heard, done := d.listen(unix.ETHTOOL_MSG_RINGS_NTF)
	defer done()
	if err := d.SetHeaderSplit(h); err != nil {
		return false, err
	}
	return heard(), nil
}

// completeSplit gives a text without hds-thresh that of the driver found.
func completeSplit(text, found string) (string, error) {
	h, err := parseSplit(text)
	if err != nil || h.Threshold >= 0 {
		return text, err
	}
	was, err := parseSplit(found)
	h.Threshold = was.Threshold
	return h.String(), err
}

// splitFollows: auto leaves it to the driver, many of which then tell what they do.
func splitFollows(text, now string) bool {
	want, err := parseSplit(text)
	is, ierr := parseSplit(now)
	return err == nil && ierr == nil && want.State == SplitUnknown && want.Threshold == is.Threshold
}

// leaveSplit leaves header split to the driver, with the threshold of what was read: a
// driver that was told on or off goes by that until it is told otherwise. bnxt refuses
// XDP, and splits without hardware GRO too.
func (d *Device) leaveSplit(h HeaderSplit) error {
	return d.SetHeaderSplit(HeaderSplit{State: SplitUnknown, Threshold: h.Threshold})
}

// restoreSplit sets what was read. Not every driver takes off, where auto means the
// same (bnxt).
func (d *Device) restoreSplit(h HeaderSplit) error {
	err := d.SetHeaderSplit(h)
	if errors.Is(err, unix.EINVAL) && h.State == SplitOff && d.leaveSplit(h) == nil {
		return nil
	}
	return err
}
