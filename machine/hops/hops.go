// SPDX-License-Identifier: MIT

// Package hops follows packets along a path of interfaces, through bridges, VLANs, bonds, veths
// and network namespaces, of one machine or, with a process on each other one ([Far]), of several:
// how many each has counted, between which two neighbours they vanish, and which counter tells of
// it.
//
// Nobody tells the path: it is as the caller names it, from one end to the other. Between two
// neighbours the counters are compared that the same packets pass ([relation]), in both
// directions.
package hops

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// Place is an interface and the network namespace that it is in.
type Place = ifpath.Place

// Hop is an interface of the path, as it was found.
type Hop struct {
	Place
	Index     int
	Kind      string // "veth", "bridge", ...; "": an interface of hardware, or loopback
	Inode     uint64 // of its network namespace, if that is of this machine
	Master    int
	Lower     int
	Peer      int
	PeerNetns int    // number of the peer's namespace in its own; -1: the same
	space     *space // nil: it is far
	reader    int    // who reads it: 0 this process, n the path's n-th Far
}

// space is a network namespace that hops are in. Its socket stays there, whoever asks.
type space struct {
	name  string
	netns *veth.Netns // a descriptor of the caller's own, too
	conn  *rtnl.Conn
	inode uint64
	ids   map[*space]int // numbers of the others
}

// Path is a list of interfaces whose packets are followed. It is used by one goroutine at a time.
type Path struct {
	Hops   []Hop
	Links  []Link
	spaces []*space
	far    []farHops
}

// PlaceError says which of the places cannot be had.
type PlaceError struct {
	Place Place
	Err   error
}

func (e *PlaceError) Error() string { return e.Place.Where() + ": " + e.Err.Error() }
func (e *PlaceError) Unwrap() error { return e.Err }

// Open finds the interfaces. Namespaces that have a name are opened by enter; the caller's own is
// that of the process.
func Open(places []Place, enter func(netns string) (*veth.Netns, error)) (*Path, error) {
	return OpenFar(places, enter, nil)
}

// OpenFar does what Open does for a path that leads through other hosts: places whose host has a
// Far are read by that. Nil: none has.
func OpenFar(places []Place, enter func(netns string) (*veth.Netns, error), farOf func(host string) Far) (p *Path,
	err error) {
	p = &Path{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	for i, at := range places {
		if farOf != nil && at.Host != "" {
			if f := farOf(at.Host); f != nil {
				p.Hops = append(p.Hops, Hop{Place: at, reader: p.reads(f, i)})
				continue
			}
		}
		h, err := p.find(at, enter)
		if err != nil {
			return p, &PlaceError{at, err}
		}
		p.Hops = append(p.Hops, h)
	}
	if err := p.openFar(); err != nil {
		return p, err
	}
	for _, s := range p.spaces {
		s.number(p.spaces)
	}
	p.Links = links(p.Hops)
	return p, nil
}

// find looks for an interface of this machine.
func (p *Path) find(at Place, enter func(netns string) (*veth.Netns, error)) (Hop, error) {
	s, err := p.enter(at.Netns, enter)
	if err != nil {
		return Hop{}, err
	}
	l, err := s.conn.Named(at.Dev)
	if errors.Is(err, unix.ENODEV) {
		err = fmt.Errorf("no such interface there: ip link lists them: %w", unix.ENODEV)
	}
	if err != nil {
		return Hop{}, err
	}
	return Hop{Place: at, Index: l.Index, Kind: l.Kind, Inode: s.inode, Master: l.Master, Lower: l.Lower, Peer: l.Peer,
		PeerNetns: l.PeerNetns, space: s}, nil
}

// enter opens a namespace, each once: also one that has two names.
func (p *Path) enter(name string, enter func(string) (*veth.Netns, error)) (*space, error) {
	for _, s := range p.spaces {
		if s.name == name {
			return s, nil
		}
	}
	if name == "" {
		enter = func(string) (*veth.Netns, error) { return veth.OpenNetns("/proc/self/ns/net") }
	}
	ns, err := enter(name)
	if err != nil {
		return nil, err
	}
	s := &space{name: name, netns: ns, ids: map[*space]int{}}
	p.spaces = append(p.spaces, s)
	look := func() (err error) {
		var st unix.Stat_t
		if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
			return fmt.Errorf("stat /proc/thread-self/ns/net: %w", err)
		}
		s.inode = st.Ino
		s.conn, err = rtnl.Dial()
		return err
	}
	if name == "" {
		return s, look() // without root, too
	}
	return s, ns.Do(look)
}

// number asks by which number the namespace knows the others, which is how its interfaces name
// the place of their other end. Where the kernel does not say, no pair is known to be one.
func (s *space) number(all []*space) {
	for _, o := range all {
		if o == s {
			continue
		}
		if id, err := s.conn.NetnsID(o.netns.Fd()); err == nil && id >= 0 {
			s.ids[o] = id
		}
	}
}

// Close lets go of the namespaces.
func (p *Path) Close() (err error) {
	for _, f := range p.far {
		err = errors.Join(err, f.by.Close())
	}
	for _, s := range p.spaces {
		if s.conn != nil {
			err = errors.Join(err, s.conn.Close())
		}
		if s.netns != nil {
			err = errors.Join(err, s.netns.Close())
		}
	}
	return err
}
