// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/zcbench/zcbench/lab/gvnic"
)

// ownCard is a card of two NICs that this process is, and QEMU shows to the guest: see package
// gvnic. It lives as long as the machine.
type ownCard struct {
	card    *gvnic.Card
	dir     string // with a socket for each NIC
	sockets []*net.UnixListener
	stop    context.CancelFunc
	wg      sync.WaitGroup
	log     io.Writer
}

// newOwnCard makes a card, and waits for QEMU to connect to it.
func newOwnCard(options string, log io.Writer) (*ownCard, error) {
	o, err := gvnic.ParseOptions(options)
	if err != nil {
		return nil, inputf("read --gvnic", "", "%v", err)
	}
	card, err := gvnic.NewCard(o)
	if err != nil {
		return nil, &Error{Op: "make the NICs' card", Err: err}
	}
	dir, err := os.MkdirTemp("", "zcbench-lab-") // mode 0700
	if err != nil {
		card.Close()
		return nil, &Error{Op: "make a folder for the NICs' sockets", Err: err}
	}
	c := &ownCard{card: card, dir: dir, log: log}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	for i := range 2 {
		at := c.socket(i)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
		if err != nil {
			c.close()
			return nil, &Error{"listen at " + at, err, "set TMPDIR to a folder with a short path"}
		}
		c.sockets = append(c.sockets, l)
		c.wg.Go(func() { c.serve(ctx, l, i, log) })
	}
	c.wg.Go(func() { c.card.Run(ctx) })
	return c, nil
}

func (c *ownCard) socket(i int) string { return filepath.Join(c.dir, "nic"+strconv.Itoa(i)) }

// serve shows the i-th NIC to the one QEMU that connects.
func (c *ownCard) serve(ctx context.Context, l *net.UnixListener, i int, log io.Writer) {
	conn, err := l.AcceptUnix()
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			fmt.Fprintf(log, "lab: NIC %d: %v\n", i, err)
		}
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := c.card.Serve(conn, i); err != nil && ctx.Err() == nil {
		fmt.Fprintf(log, "lab: NIC %d: %v\n", i, err)
	}
}

// close ends the card.
func (c *ownCard) close() {
	c.stop()
	for _, l := range c.sockets {
		l.Close()
	}
	c.wg.Wait()
	if err := c.card.Close(); err != nil {
		fmt.Fprintln(c.log, "lab: the NICs' capture:", err)
	}
	os.RemoveAll(c.dir)
}

// args builds QEMU's arguments for the two NICs, the receiver's first on the bus, and for memory
// that they can reach.
func (c *ownCard) args(memMiB int) (args []string) {
	for i := range 2 {
		args = append(args, "-device", fmt.Sprintf(
			`{"driver":"vfio-user-pci","socket":{"type":"unix","path":%q},"addr":"%#x"}`, c.socket(i), 0x10+i))
	}
	return append(args, "-object", fmt.Sprintf("memory-backend-memfd,id=shared,share=on,size=%dM", memMiB),
		"-machine", "memory-backend=shared")
}
