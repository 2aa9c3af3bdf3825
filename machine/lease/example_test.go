// SPDX-License-Identifier: MIT

package lease_test

import (
	"fmt"
	"log"

	"github.com/zcbench/zcbench/machine/lease"
)

// A host is set for a run and put back. It needs root and an interface, so nothing is checked.
func Example() {
	l := lease.New(lease.Options{Session: "example"})
	defer func() {
		if err := l.Restore(); err != nil { // also says what somebody else changed meanwhile
			log.Print(err)
		}
	}()
	err := l.Apply(
		lease.Want{Dev: "eth0", Name: "mtu", Value: "9000"},
		lease.Want{Dev: "eth0", Name: "feature rx-gro-hw", Value: "on"},
		lease.Want{Name: "net.core.rmem_max", Value: "268435456"},
	)
	if err != nil {
		log.Print(err) // nothing of it is set
		return
	}
	for _, change := range l.Changes() {
		fmt.Println(change)
	}
}

// The next cell of an experiment takes the lease on: only what differs is set.
func ExampleLease_Become() {
	l := lease.New(lease.Options{})
	defer l.Restore()
	for _, mtu := range []string{"1500", "9000"} {
		if err := l.Become(lease.Want{Dev: "eth0", Name: "mtu", Value: mtu}); err != nil {
			log.Print(err)
			return
		}
	}
}

// What a killed process left is put back by whoever comes next. A dry run only tells.
func ExampleFinish() {
	reports, err := lease.Finish(lease.FinishOptions{DryRun: true, All: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range reports {
		for _, line := range r.Lines() {
			fmt.Println(line)
		}
	}
}
