// SPDX-License-Identifier: MIT

package stream

import (
	"errors"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// BlamesPeer reports whether err only says that the other end, or whoever called
// the run off, ended the flow.
func BlamesPeer(err error) bool {
	return errors.Is(err, ErrAborted) || fault.BlamesPeer(err)
}

// ReceiveError names what a failed receive call on c means; nil: the sender has ended the payload.
func ReceiveError(c *Conn, op string, err error) error {
	if errors.Is(err, unix.EIO) && c.Aborted() == nil && c.TLS.InKernel() && records.Notified(c.FD) {
		return nil
	}
	return flowError(c, remedy.Recv, op, err, "sender")
}

// SendError names what a failed send call on c means.
func SendError(c *Conn, op string, err error) error {
	return flowError(c, remedy.Send, op, err, "receiver")
}

func flowError(c *Conn, call remedy.Call, op string, err error, peer string) error {
	if aborted := c.Aborted(); aborted != nil {
		return aborted
	}
	e := remedy.Error(call, op, err, remedy.On{Local: c.Local, Remote: c.Remote, FD: c.words().FD, Value: peer})
	e.Peer = errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNREFUSED)
	return e
}

// AskError names what a failed call that takes answers on c means.
func AskError(c *Conn, op string, err error) error {
	return flowError(c, remedy.Recv, op, err, "receiver")
}

// AnswerError names what a failed call that sends an answer on c means.
func AnswerError(c *Conn, err error) error {
	return flowError(c, remedy.Send, "send an answer", err, "sender")
}
