// SPDX-License-Identifier: MIT

package nic

import (
	"errors"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// needAdmin is the fix for a caller without the capability.
const needAdmin = "run as root or with CAP_NET_ADMIN"

// failed makes an error; how is by errno, with 0 for any other.
func failed(op string, err error, how map[unix.Errno]string) error {
	e := &fault.Error{Op: op, Err: err}
	var nl *netlink.OpError
	if errors.As(err, &nl) {
		e.Err, e.Ack = nl.Err, nl.Message
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		e.Err = errno
	}
	switch text, ok := how[errno]; {
	case ok:
		e.How = text
	case errno == unix.EPERM:
		e.How = needAdmin
	case errno == unix.ENODEV:
		e.How = "no such interface in this network namespace: ip link lists them"
	default:
		e.How = how[0]
	}
	return e
}
