// SPDX-License-Identifier: MIT

package uring_test

import (
	"fmt"
	"log"
	"runtime"

	"github.com/zcbench/zcbench/flow/uring"
	"golang.org/x/sys/unix"
)

// One request, from the queue to its completion. Examples of rings need a kernel that lets
// this process have one, so what they print is not checked.
func Example() {
	ring, err := uring.New(uring.Options{})
	if err != nil {
		log.Fatal(err) // it names what to do
	}
	defer ring.Close()

	const user = 42 // comes back with the completion
	ring.GetSQE().Nop(user)
	if _, err := ring.SubmitAndWait(1, -1); err != nil {
		log.Fatal(err)
	}
	for i := range ring.CQReady() {
		cqe := ring.CQEAt(i)
		fmt.Println(cqe.UserData, cqe.Res)
	}
	ring.Advance(ring.CQReady())
}

// Receiving: one request serves the whole flow, and each completion brings buffers of a
// group, which are given back when their bytes have been used.
func ExampleBufRing() {
	runtime.LockOSThread() // a ring with one issuer belongs to one thread
	defer runtime.UnlockOSThread()
	ring, err := uring.NewBest(uring.Options{SingleIssuer: true, DeferTaskrun: true})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()
	group, err := ring.NewBufRing(uring.BufRingOptions{Entries: 64, Size: 16 << 10})
	if err != nil {
		log.Fatal(err)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer unix.Close(ends[0])
	if _, err := unix.Write(ends[1], []byte("hello")); err != nil {
		log.Fatal(err)
	}
	if err := unix.Close(ends[1]); err != nil {
		log.Fatal(err)
	}

	ring.GetSQE().RecvMultishot(ends[0], group.Group(), false, 1)
	for more := true; more; {
		if _, err := ring.SubmitAndWait(1, -1); err != nil {
			log.Fatal(err)
		}
		d := ring.Drain()
		for d.Next() {
			for s := group.Spans(*d.CQE()); s.Next(); {
				fmt.Printf("%s\n", s.Bytes())
				s.Recycle()
			}
			group.Advance()
			more = d.CQE().More()
		}
		d.Done()
	}
}

// What the running kernel can do is found out by doing it.
func ExampleProbe() {
	features := uring.Probe()
	for _, f := range features.List() {
		if !f.Supported {
			fmt.Printf("%s (since %s): %s; %s\n", f.Name, f.Kernel, f.Reason, f.Fix)
		}
	}
}
