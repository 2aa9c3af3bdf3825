// SPDX-License-Identifier: MIT

package uring

import (
	"errors"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// errClosed is returned by calls on a ring after Close.
var errClosed = errors.New("uring: ring is closed")

// opError explains what the errno of the call may mean here; nil for errno 0.
func opError(call remedy.Call, op string, errno unix.Errno, on remedy.On) error {
	if errno == 0 {
		return nil
	}
	return remedy.Error(call, op, errno, on)
}

// failed wraps opError for a call on the ring, for memory of so many bytes; 0 where it is about
// none.
func (r *Ring) failed(call remedy.Call, op string, errno unix.Errno, bytes int) error {
	return opError(call, op, errno, remedy.On{Thread: r.issuer, Bytes: int64(bytes)})
}

// failed wraps opError for a request, by its completion.
func (c CQE) failed(call remedy.Call, op string) error {
	return opError(call, op, c.Errno(), remedy.On{})
}
