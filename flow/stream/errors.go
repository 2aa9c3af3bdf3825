// SPDX-License-Identifier: MIT

package stream

import (
	"errors"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// BlamesPeer reports whether err only says that the other end, or whoever called
// the run off, ended the flow.
func BlamesPeer(err error) bool {
	return errors.Is(err, ErrAborted) || fault.BlamesPeer(err)
}

// ReceiveError names what a failed receive call on c means.
func ReceiveError(c *Conn, op string, err error) error {
	return flowError(c, op, err, "sender")
}

// SendError names what a failed send call on c means.
func SendError(c *Conn, op string, err error) error {
	return flowError(c, op, err, "receiver")
}

func flowError(c *Conn, op string, err error, peer string) error {
	if aborted := c.Aborted(); aborted != nil {
		return aborted
	}
	how, broke := "", errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNREFUSED)
	switch {
	case broke:
		how = "the " + peer + " broke off: see its own message"
	case errors.Is(err, unix.ETIMEDOUT):
		how = "the " + peer + "'s host no longer answers: check link and host"
	}
	return &fault.Error{Op: op, Err: err, How: how, Peer: broke}
}

// AnswerError names what a failed call that sends an answer on c means.
func AnswerError(c *Conn, err error) error { return flowError(c, "send an answer", err, "sender") }
