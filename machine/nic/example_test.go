// SPDX-License-Identifier: MIT

package nic_test

import (
	"fmt"
	"log"
	"net/netip"

	"github.com/zcbench/zcbench/machine/nic"
)

// Reading what an interface is. It needs one, so what is printed is not checked.
func ExampleOpen() {
	d, err := nic.Open("eth0")
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	queues, err := d.Queues()
	if err != nil {
		log.Fatal(err) // with the kernel's own text, where it gave one
	}
	for _, q := range queues {
		fmt.Println(q)
	}
	// Everything that can be set has a name and is text. Package lease sets by it, and restores.
	split, err := d.Setting("header-split")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(split.Get())
}

// Settings are checked before there is an interface to look at.
func ExampleCheckSetting() {
	fmt.Println(nic.CheckSetting("mtu", "9000"))
	fmt.Println(nic.CheckSetting("mtu", "large"))
	fmt.Println(nic.CheckSetting("colour", "red"))
	// Output:
	// <nil>
	// setting "mtu": "large" is not a whole number from 1 to 2147483647
	// unknown setting "colour" of an interface
}

// A rule for one flow is a setting as well: present or absent.
func ExampleRuleName() {
	local, remote := netip.MustParseAddrPort("192.0.2.1:5201"), netip.MustParseAddrPort("192.0.2.2:40000")
	fmt.Println(nic.RuleName(local, remote, 3))
	// Output:
	// rule 192.0.2.2:40000 > 192.0.2.1:5201 queue 3
}
