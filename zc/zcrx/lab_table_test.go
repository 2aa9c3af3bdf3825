// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// A queue of gve is taken where the device has no option of RSS, and a note says what follows:
// zcbench lab exec --nic gve --softnic no_rss=1.
func TestLabImitatedNoTable(t *testing.T) {
	labtest.Need(t)
	_, err := labtest.OnDevice((*nic.Device).Indirection)
	if err == nil {
		t.Skip("the NIC has an RSS table")
	}
	if !errors.Is(err, unix.EOPNOTSUPP) {
		t.Fatal(err)
	}
	notes, err := labtest.In(labtest.RXNS, func() ([]string, error) {
		if err := zcrx.ProbeDevice(labtest.RXDev); err != nil {
			return nil, err
		}
		queue := 3
		q, err := nicqueue.Take(zcrx.Mode, stream.NICQueue{Dev: labtest.RXDev, Queue: &queue})
		if err != nil {
			return nil, err
		}
		return q.Notes(), q.Release()
	})
	if err != nil || !strings.Contains(strings.Join(notes, "\n"), "RX queue 3 was not kept free of other flows") {
		t.Errorf("%v, %q", err, notes)
	}
}
