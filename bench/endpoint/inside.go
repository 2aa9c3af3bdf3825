// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// inside is the container that a receiver's flows come to. Its sockets are there; this end, and all
// that is asked of the NIC, is where the NIC is. A nil one is none.
type inside struct {
	ns       *veth.Netns
	tid      int // of a thread that waits there, by which its counters are read
	leave    func()
	redirect *bpf.Redirection // nil: whoever made the container's interface brings it its packets
	reserved int              // a socket that has the data port where the NIC is; -1: none
}

// enter opens the container of an end.
func enter(s wire.EndSpec) (*inside, error) {
	if s.Inside == nil {
		return nil, nil
	}
	ns, err := veth.OpenNetns(s.Inside.Netns)
	if err != nil {
		return nil, err
	}
	in := &inside{ns: ns, reserved: -1}
	if in.tid, in.leave, err = ns.Wait(); err != nil {
		return nil, errors.Join(err, ns.Close())
	}
	return in, nil
}

// files are those of the kernel in which the counters of the flows' network namespace stand.
func (in *inside) files() counter.FS {
	if in == nil {
		return counter.FS{}
	}
	return counter.FS{}.OfThread(in.tid)
}

// netns is the number of the flows' network namespace.
func (in *inside) netns() (inode uint64, err error) {
	err = in.do(func() error {
		inode, err = bpf.NetnsInode()
		return err
	})
	return inode, err
}

// do does f in the container.
func (in *inside) do(f func() error) error {
	if in == nil {
		return f()
	}
	return in.ns.Do(f)
}

// listenOnAll opens the data port on each of several interfaces, with one number.
func (e *End) listenOnAll() (err error) {
	for range portsTried {
		if err = e.listenOn(e.spec.NPorts()); !errors.Is(err, unix.EADDRINUSE) || e.port == nil {
			return err
		}
		err = errors.Join(err, e.port.Close())
		e.port = nil
	}
	return err
}

// listenOn opens it on the first n of them.
func (e *End) listenOn(n int) error {
	var port *stream.Port
	for i := range n {
		p, o := e.spec.PortOf(i), e.opts.Socket
		if err := bindTo(p, &o); err != nil {
			return err
		}
		host, _, err := net.SplitHostPort(p.Addr)
		switch {
		case err != nil:
			return &UsageError{err}
		case i > 0:
			err = port.Also(host, o)
		default:
			if port, err = stream.ListenFor(p.Addr, e.spec.Cookie, len(e.flows), o); err == nil {
				e.port = port
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listen opens the data port, and has the packets for it brought into the container, where the
// interface there is of our making. The host keeps the port: what is for its own sockets never is
// for the container. The socket there is bound to that interface: the container's own routes may
// lead elsewhere.
func (e *End) listen() (err error) {
	o := e.opts.Socket
	open := func() (err error) {
		e.port, err = e.transport.Listen(e.spec.Addr, e.spec.Cookie, len(e.flows), o)
		return err
	}
	if e.spec.NPorts() > 1 {
		return e.listenOnAll()
	}
	if e.inside == nil {
		return open()
	}
	d, err := nic.Open(e.spec.Dev)
	if err != nil {
		return err
	}
	defer d.Close()
	there, primary, made, err := d.OurLease(e.spec.Inside.Queue, e.spec.Inside.Netns)
	if err != nil {
		return err
	}
	if made {
		o.Interface = there
	}
	var at netip.AddrPort
	for range portsTried {
		if err = e.inside.do(open); err != nil || !made {
			return err
		}
		if at, err = netip.ParseAddrPort(e.port.Addr().String()); err == nil {
			err = e.inside.reserve(at)
		}
		if err == nil {
			break
		}
		if err = errors.Join(err, e.port.Close()); !errors.Is(err, unix.EADDRINUSE) {
			return err
		}
		e.port = nil
	}
	if err != nil {
		return err
	}
	e.inside.redirect, err = bpf.OpenRedirection(bpf.RedirectOptions{NIC: d.Index, Primary: primary, At: at})
	return err
}

// portsTried is how many ports are tried of which the host may have some.
const portsTried = 8

// reserve takes the port where the NIC is, without listening.
func (in *inside) reserve(at netip.AddrPort) error {
	ip := at.Addr().Unmap()
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(at.Port()), Addr: ip.As16()})
	if ip.Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: ip.As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket to keep the port: %w", err)
	}
	if err := unix.Bind(fd, to); err != nil {
		unix.Close(fd)
		return &fault.Error{Op: fmt.Sprintf("keep port %d of %v, which is the container's meanwhile, free where "+
			"the NIC is", at.Port(), ip), Err: err,
			How: "name another port with --port, or end what has this one: ss -tanp"}
	}
	in.reserved = fd
	return nil
}

func (in *inside) close() error {
	if in == nil {
		return nil
	}
	err := in.redirect.Close()
	if in.reserved >= 0 {
		err = errors.Join(err, unix.Close(in.reserved))
	}
	in.leave()
	return errors.Join(err, in.ns.Close())
}
