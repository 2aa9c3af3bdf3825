// SPDX-License-Identifier: MIT

package nic

import (
	"errors"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// failed makes an error of a call that the kernel has refused; on is what it was about.
func failed(call remedy.Call, op string, err error, on remedy.On) error {
	e := remedy.Error(call, op, err, on)
	var errno unix.Errno
	var inner *fault.Error // package rtnl's
	if errors.As(err, &inner) {
		e.Ack = inner.Ack
	}
	if errors.As(err, &errno) {
		e.Err = errno // op says the rest
	}
	return e
}

// failed makes an error about the interface.
func (d *Device) failed(call remedy.Call, op string, err error) error {
	return failed(call, op, err, d.on(attempt{queue: noQueue}))
}

// garbled makes the error of an answer that does not read as what the kernel's headers say.
func garbled(op string, err error) error { return &fault.Error{Op: op, Err: err} }
