// SPDX-License-Identifier: MIT

package uring

import (
	"errors"

	"golang.org/x/sys/unix"
)

// NewBest makes a ring as New does, but leaves out, newest first, what this kernel does not know
// among NoSQArray, DeferTaskrun, SingleIssuer, RegisterFD and SubmitAll: options that make a ring
// cheaper and change nothing else.
func NewBest(o Options) (*Ring, error) {
	r, err := New(o)
	for _, drop := range []func(*Options){
		func(o *Options) { o.NoSQArray = false },
		func(o *Options) { o.DeferTaskrun = false },
		func(o *Options) { o.SingleIssuer = false },
		func(o *Options) { o.RegisterFD, o.SubmitAll = false, false },
	} {
		if !errors.Is(err, unix.EINVAL) {
			break
		}
		drop(&o)
		r, err = New(o)
	}
	return r, err
}

// SingleIssuer and DeferTaskrun report how the ring was made: NewBest may have
// left them out.
func (r *Ring) SingleIssuer() bool { return r.setup&setupSingleIssuer != 0 }

// DeferTaskrun reports whether the ring was made with it: see [Ring.SingleIssuer].
func (r *Ring) DeferTaskrun() bool { return r.setup&setupDeferTaskrun != 0 }
