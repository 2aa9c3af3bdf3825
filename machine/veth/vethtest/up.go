// SPDX-License-Identifier: MIT

package vethtest

import "github.com/zcbench/zcbench/machine/rtnl"

// Up sets an interface of the calling thread's network namespace up.
func Up(dev string) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := c.Named(dev)
	if err != nil {
		return err
	}
	return c.SetUp(l.Index, true)
}
