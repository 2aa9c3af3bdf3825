// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// A family of generic netlink tells which attributes it takes with a request, and up to which
// value (CTRL_CMD_GETPOLICY of net/netlink/genetlink.c, of one request since Linux 5.10): so a
// kernel can be asked what it knows, by anybody and without a device.

// Numbers of include/uapi/linux/genetlink.h and netlink.h.
const (
	ctrlGetPolicy  = 10 // CTRL_CMD_GETPOLICY
	ctrlFamilyName = 2  // CTRL_ATTR_FAMILY_NAME
	ctrlPolicy     = 8  // CTRL_ATTR_POLICY
	ctrlOpPolicy   = 9  // CTRL_ATTR_OP_POLICY
	ctrlOp         = 10 // CTRL_ATTR_OP
	policyDo       = 1  // CTRL_ATTR_POLICY_DO
	policyMost     = 5  // NL_POLICY_TYPE_ATTR_MAX_VALUE_U
)

// Request is one of generic netlink that came with a kernel, or its attribute that did.
type Request struct {
	Family string
	Name   string // of the request, as Documentation/netlink/specs has it
	cmd    uint8
	attr   uint16 // 0: the request itself
	most   uint64 // the value of attr that is asked for; 0: any
}

// What zcbench asks netdev and ethtool that not every kernel knows.
var (
	QueueGet      = Request{"netdev", "queue-get", cmdQueueGet, 0, 0}
	PagePoolGet   = Request{"netdev", "page-pool-get", cmdPagePoolGet, 0, 0}
	QStatsGet     = Request{"netdev", "qstats-get", cmdQStatsGet, 0, 0}
	BindRX        = Request{"netdev", "bind-rx", cmdBindRX, 0, 0}
	BindRXBuffers = Request{"netdev", "bind-rx rx-page-size", cmdBindRX, attrDMABufBufLen, 0}
	BindTX        = Request{"netdev", "bind-tx", cmdBindTX, 0, 0}
	NAPISuspend   = Request{"netdev", "napi-set irq-suspend-timeout", cmdNAPISet, attrNAPISuspend, 0}
	NAPIThreaded  = Request{"netdev", "napi-set threaded", cmdNAPISet, attrNAPIThreaded, 0}
	NAPIBusy      = Request{"netdev", "napi-set threaded busy-poll", cmdNAPISet, attrNAPIThreaded, 2}
	QueueLease    = Request{"netdev", "queue-create lease", cmdQueueCreate, attrQueueLease, 0}
	RingsHDS      = Request{"ethtool", "rings-set hds-thresh", unix.ETHTOOL_MSG_RINGS_SET,
		unix.ETHTOOL_A_RINGS_HDS_THRESH, 0}
	RSSContexts = Request{"ethtool", "rss-get start-context", unix.ETHTOOL_MSG_RSS_GET, attrRSSStart, 0}
)

// Known asks the running kernel whether it knows a request.
func (r Request) Known() error {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return fmt.Errorf("open a generic netlink socket: %w", err)
	}
	defer conn.Close()
	data, err := encoded(func(ae *netlink.AttributeEncoder) {
		ae.String(ctrlFamilyName, r.Family)
		ae.Uint32(ctrlOp, uint32(r.cmd))
	})
	if err != nil {
		return err
	}
	msgs, err := conn.Execute(genetlink.Message{Header: genetlink.Header{Command: ctrlGetPolicy, Version: 2},
		Data: data}, unix.GENL_ID_CTRL, netlink.Request|netlink.Dump)
	var takes map[uint16]uint64
	if err == nil {
		takes, err = policy(msgs)
	}
	most, ok := takes[r.attr]
	switch {
	case errors.Is(err, unix.ENOENT), err == nil && r.attr != 0 && (!ok || most < r.most):
		return &fault.Error{Op: r.Family + " does not know " + r.Name, Err: unix.EOPNOTSUPP}
	case err != nil:
		return fmt.Errorf("ask %s what it takes with %s (CTRL_CMD_GETPOLICY): %w", r.Family, r.Name, err)
	}
	return nil
}

// policy reads the attributes that a request takes, each with its largest value; one without a
// limit has the largest that there is.
func policy(msgs []genetlink.Message) (map[uint16]uint64, error) {
	all, own := map[uint16]map[uint16]uint64{}, []byte(nil)
	var err error
	under := func(b []byte, f func(at uint16, b []byte)) {
		attrs, uerr := netlink.UnmarshalAttributes(b)
		err = errors.Join(err, uerr)
		for _, a := range attrs {
			f(a.Type&^(netlink.Nested|netlink.NetByteOrder), a.Data)
		}
	}
	limit := func(list, attr uint16, b []byte) {
		if all[list] == nil {
			all[list] = map[uint16]uint64{}
		}
		all[list][attr] = math.MaxUint64
		under(b, func(at uint16, b []byte) {
			if at == policyMost && len(b) == 8 {
				all[list][attr] = binary.NativeEndian.Uint64(b)
			}
		})
	}
	for _, m := range msgs {
		under(m.Data, func(at uint16, b []byte) {
			switch at {
			case ctrlOpPolicy: // the number of the policy, of each way of asking
				under(b, func(_ uint16, b []byte) {
					under(b, func(way uint16, b []byte) {
						if own == nil || way == policyDo {
							own = b
						}
					})
				})
			case ctrlPolicy:
				under(b, func(list uint16, b []byte) { under(b, func(attr uint16, b []byte) { limit(list, attr, b) }) })
			}
		})
	}
	if err != nil || len(own) != 4 {
		return nil, err
	}
	return all[uint16(binary.NativeEndian.Uint32(own))], nil
}
