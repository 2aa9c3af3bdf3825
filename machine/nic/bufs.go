// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"strconv"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// SetRXBufLen sets the length of the buffers that the NIC writes packets into, in bytes
// (ETHTOOL_A_RINGS_RX_BUF_LEN). gve takes 2048 and 4096, and takes its link away for it
// (gve_set_rx_buf_len_config of gve_main.c, Linux 7.3.4); few other drivers have it.
func (d *Device) SetRXBufLen(n int) error {
	_, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_RINGS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		d.header(ae)
		ae.Uint32(unix.ETHTOOL_A_RINGS_RX_BUF_LEN, uint32(n))
	})
	if err != nil {
		return d.failed(remedy.RXBufLenSet, d.op("set rx-buf-len to %d", n), err)
	}
	return nil
}

// rxBufLenSetting makes the length a setting.
func (d *Device) rxBufLenSetting(s *setting.Setting) {
	s.Get = func() (string, error) {
		r, err := d.Rings()
		if err == nil && r.RXBufLen == 0 {
			err = d.failed(remedy.RXBufLenGet, d.op("read rx-buf-len"), unix.EOPNOTSUPP)
		}
		return strconv.Itoa(r.RXBufLen), err
	}
	s.Set = parsed(strconv.Atoi, d.SetRXBufLen)
	s.Canon = number(1)
}

// PageBufs words the command that makes receive buffers as long as a page, where they are shorter
// and the driver can; else it is empty.
func (r Rings) PageBufs(dev string) string {
	if r.RXBufLen == 0 || r.RXBufLen >= driver.PageBytes {
		return ""
	}
	return fmt.Sprintf("ethtool -G %s rx-buf-len %d", dev, driver.PageBytes)
}
