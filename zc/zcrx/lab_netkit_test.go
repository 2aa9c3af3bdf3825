// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

func TestLabNetkitSpike(t *testing.T) {
	labtest.Need(t)
	ct, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	defer ct.Close()
	_, err = labtest.In(labtest.RXNS, func() (struct{}, error) {
		l := lease.New(lease.Options{})
		err := l.Apply(lease.Want{Dev: labtest.RXDev, Name: nic.LeaseName(3, "nk0", ct.Path()), Value: "present"})
		if err != nil {
			return struct{}{}, err
		}
		t.Log(l.Changes())
		q := 3
		d, err := nic.Open(labtest.RXDev)
		if err != nil {
			return struct{}{}, err
		}
		defer d.Close()
		all, err := d.Queues()
		t.Logf("%+v %v", all, err)
		r, err := zcrx.New(stream.Options{MessageBytes: 1 << 20, Touch: stream.TouchNone,
			NIC: stream.NICQueue{Dev: labtest.RXDev, Queue: &q, Inside: ct.Path()}})
		t.Log("open:", err)
		if err == nil {
			all, err := d.Queues()
			t.Logf("%+v %v", all, err)
			pools, err := d.PagePools()
			t.Logf("%+v %v", pools, err)
			t.Log("close:", r.Close())
		} else {
			t.Fail()
		}
		err = l.Restore()
		all, _ = d.Queues()
		t.Logf("%+v", all)
		return struct{}{}, err
	})
	if err != nil {
		t.Fatal(err)
	}
}
