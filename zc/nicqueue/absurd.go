// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"golang.org/x/sys/unix"
)

// word is what an attempt says of a driver's queue operations.
type word int

const (
	untold word = iota
	yes
	no
)

// absurdLen is a length of receive buffers that no driver takes: bnxt takes 32 KiB, mlx5 128 KiB.
const absurdLen = 2 << 20

// absurd asks for an RX queue that exists, all of whose headers may be split, with buffers of
// [absurdLen] (7.0), and so finds out whether the driver has queue operations, without touching
// the queue: the kernel looks for them first, and whether the driver sizes buffers, and lets it
// look at the length, before it restarts anything (__netif_mp_open_rxq of
// net/core/netdev_rx_queue.c). A driver with queue operations that takes pages only is refused
// with EOPNOTSUPP, as one without is: the text alone tells them apart, which netlink gives
// (bind-rx, 7.3), and io_uring does not.
func absurd(d *nic.Device, queue int) word {
	w, _ := tape.Ask(fmt.Sprintf("queue %d of %s in buffers of %d bytes", queue, d.Name, absurdLen),
		func() (word, error) {
			if w := absurdBind(d, queue); w != untold {
				return w, nil
			}
			return absurdRing(d, queue), nil
		})
	return w
}

func absurdBind(d *nic.Device, queue int) word {
	if nic.CanSizeBuffers() != nil {
		return untold
	}
	mem, err := dmabuf.NewUdmabuf(absurdLen, dmabuf.HugePages)
	if err != nil {
		return untold
	}
	defer mem.Close()
	b, err := d.BindRXBuffers(mem.FD, absurdLen, queue)
	if err == nil {
		_ = b.Close()
	}
	return boundWord(err)
}

// boundWord makes sense of what the kernel says to netlink.
func boundWord(err error) word {
	var e *fault.Error
	switch {
	case err == nil, errors.Is(err, unix.ERANGE), errors.Is(err, unix.EEXIST), errors.Is(err, unix.EBUSY):
		return yes
	case !errors.As(err, &e):
		return untold
	case errors.Is(err, unix.EOPNOTSUPP) && e.Ack == "":
		return no
	case strings.Contains(e.Ack, "rx_page_size"), strings.Contains(e.Ack, "tcp-data-split"),
		strings.Contains(e.Ack, "hds-thresh"):
		return yes // all of them after it has looked for queue operations
	}
	return untold
}

func absurdRing(d *nic.Device, queue int) word {
	// The ring is its thread's: on another the kernel refuses with EEXIST.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ring, err := uring.New(uring.Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, CQE32: true})
	if err != nil {
		return untold
	}
	defer ring.Close() // with what it has registered
	whole := true
	mem, err := uring.NewMemory(absurdLen, uring.PagesHuge)
	if err != nil {
		whole = false // in one piece it may be, or not
		mem, err = uring.NewMemory(absurdLen, uring.PagesTransparent)
	}
	if err != nil {
		return untold
	}
	defer mem.Close()
	_, err = ring.NewZcrx(uring.ZcrxOptions{IfIndex: d.Index, Queue: queue, Area: uring.ZcrxArea{Bytes: mem.Bytes()},
		RefillEntries: 16, BufLen: absurdLen})
	return ringWord(err, whole)
}

// ringWord makes sense of what the kernel says to a ring. Memory that is not whole is refused with
// ERANGE before the queue is looked at (io_zcrx_create_area of io_uring/zcrx.c). EINVAL may be the
// word of a kernel that does not know lengths, which this is not asked of.
func ringWord(err error, whole bool) word {
	switch {
	case err == nil, errors.Is(err, unix.EINVAL), errors.Is(err, unix.EEXIST), errors.Is(err, unix.EBUSY):
		return yes
	case errors.Is(err, unix.ERANGE) && whole:
		return yes
	}
	return untold
}
