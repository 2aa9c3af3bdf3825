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
	"sync"
)

// UpOptions says which machine to keep, and for which command.
type UpOptions struct {
	MachineOptions
	Args []string  // the command, on this host
	Log  io.Writer // the lab's progress; nil: os.Stderr
}

// Up boots a machine and runs a command of this host meanwhile. Every [Exec] of its
// processes runs in that machine, one after another. When the command has ended, so
// has the machine. Up returns the command's exit status; an error means that the lab
// could not be had, or that there is no such command.
func Up(ctx context.Context, o UpOptions) (exit int, err error) {
	if o.Log == nil {
		o.Log = os.Stderr
	}
	if len(o.Args) == 0 {
		return ExitTrouble, errorf("read the command", "zcbench lab up -- HOSTCMD ARGS...", "no command given")
	}
	p, err := newPlan(ctx, o.MachineOptions, o.Log)
	if err != nil {
		return ExitOf(err), wrap("prepare the guest", err)
	}
	defer p.close()
	l, err := listenUp()
	if err != nil {
		return ExitTrouble, err
	}
	k := newKeeper(func(ctx context.Context) (runner, error) {
		m, err := p.boot(ctx, o.Log)
		if err != nil {
			return nil, err // not a runner that is nil inside
		}
		return m, nil
	}, o.Log)
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.close()
	defer stop()
	wg.Go(func() { k.loop(ctx) })
	wg.Go(func() { l.accept(ctx, p.what, k, o.Log) })
	return runHost(ctx, o.Args, upEnv+"="+l.path)
}

// listener is the socket of a machine that is up, in a folder of its own.
type listener struct {
	*net.UnixListener
	dir, path string
}

func listenUp() (*listener, error) {
	dir, err := os.MkdirTemp("", "zcbench-lab-") // mode 0700
	if err != nil {
		return nil, &Error{Op: "make a folder for the socket", Err: err}
	}
	l := &listener{dir: dir, path: filepath.Join(dir, "up")}
	if l.UnixListener, err = net.ListenUnix("unix", &net.UnixAddr{Name: l.path, Net: "unix"}); err != nil {
		os.RemoveAll(dir)
		return nil, &Error{"listen at " + l.path, err, "set TMPDIR to a folder with a short path"}
	}
	return l, nil
}

func (l *listener) close() {
	l.UnixListener.Close()
	os.RemoveAll(l.dir)
}

// accept serves who connects until the socket is closed.
func (l *listener) accept(ctx context.Context, what Machine, k *keeper, log io.Writer) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			l.UnixListener.Close() // nobody is to wait for what takes nothing any more
			fmt.Fprintln(log, "lab: accept:", err)
			return
		}
		wg.Go(func() {
			if err := serve(ctx, conn, what, k); err != nil && ctx.Err() == nil {
				fmt.Fprintln(log, "lab: a command for the machine that is up:", err)
			}
		})
	}
}
