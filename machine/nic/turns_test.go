// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// An answer that nobody has read is not taken for that to the next request, and read by the time of
// the one after it.
func TestAnswerOfAnother(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	none := Device{Index: noInterface}
	data, err := encoded(none.header)
	if err != nil {
		t.Fatal(err)
	}
	m := genetlink.Message{Header: genetlink.Header{Command: unix.ETHTOOL_MSG_FEATURES_GET, Version: d.ethtool.Version},
		Data: data}
	if _, err := d.conn.Send(m, d.ethtool.ID, netlink.Request); err != nil {
		t.Fatal(err)
	}
	if f, err := d.Features(); !errors.Is(err, rtnl.ErrOtherAnswer) || errors.Is(err, unix.ENODEV) {
		t.Errorf("%d features, %v", len(f), err)
	}
	for range 2 {
		if f, err := d.Features(); err != nil || len(f) == 0 {
			t.Errorf("then %d features, %v", len(f), err)
		}
	}
}
