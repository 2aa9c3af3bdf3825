// SPDX-License-Identifier: MIT

// Package modes is the catalogue: which data path serves which mode, and
// whether it can run here. A path that zcbench has a name but no code for is in
// it too, as unsupported: a mode never silently becomes another.
package modes

import (
	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/msgzc"
	"github.com/zcbench/zcbench/zc/tcpmmap"
	"github.com/zcbench/zcbench/zc/uringzc"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Path is a mode with its implementation.
type Path struct {
	stream.Mode
	// Probe tries whether the mode can run on this host: nil, or an
	// [*fault.Unsupported] with reason and fix. It leaves nothing behind.
	Probe func() error

	// ProbeDevice tries whether the mode can run on an interface of this host,
	// and changes nothing there; nil where the interface does not matter.
	ProbeDevice func(dev string) error

	// ProbeProvider is a part of it: whether the driver lets queues have memory of
	// this mode, and ProbeQueue another: whether the queue that the mode would take
	// is free. Both are nil of modes that take no queue.
	ProbeProvider func(dev string) error
	ProbeQueue    func(dev string) error

	// One of the two is set, for a mode that can be built at all. They are to
	// be called on the thread that will run the path.
	NewReceiver func(stream.Options) (stream.Receiver, error)
	NewSender   func(stream.Options) (stream.Sender, error)
}

// receiver adapts a constructor to the contract.
func receiver[R stream.Receiver](f func(stream.Options) (R, error)) func(stream.Options) (stream.Receiver, error) {
	return func(o stream.Options) (stream.Receiver, error) {
		r, err := f(o)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
}

func sender[S stream.Sender](f func(stream.Options) (S, error)) func(stream.Options) (stream.Sender, error) {
	return func(o stream.Options) (stream.Sender, error) {
		s, err := f(o)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// paths binds names to code.
var paths = map[stream.Role]map[string]Path{
	stream.RX: {
		"tcp":        {NewReceiver: receiver(baseline.NewTCPReceiver)},
		"tcp-trunc":  {NewReceiver: receiver(baseline.NewTruncReceiver)},
		"tcp-mmap":   {NewReceiver: receiver(tcpmmap.New), Probe: tcpmmap.Probe},
		"uring":      {NewReceiver: receiver(baseline.NewUringReceiver), Probe: baseline.ProbeUringReceiver},
		"zcrx":       {NewReceiver: receiver(zcrx.New), Probe: zcrx.Probe, ProbeDevice: zcrx.ProbeDevice, ProbeProvider: zcrx.ProbeProvider, ProbeQueue: zcrx.ProbeQueue},
		"zcrx-nodev": {NewReceiver: receiver(zcrx.NewNoDevice), Probe: zcrx.ProbeNoDevice},
		"devmem":     {NewReceiver: receiver(devmem.New), Probe: devmem.Probe, ProbeDevice: devmem.ProbeDevice, ProbeProvider: devmem.ProbeProvider, ProbeQueue: devmem.ProbeQueue},
	},
	stream.TX: {
		"tcp":          {NewSender: sender(baseline.NewTCPSender)},
		"sendfile":     {NewSender: sender(baseline.NewSendfileSender)},
		"msg-zerocopy": {NewSender: sender(msgzc.New), Probe: msgzc.Probe},
		"uring":        {NewSender: sender(baseline.NewUringSender), Probe: baseline.ProbeUringSender},
		"uring-zc":     {NewSender: sender(uringzc.New), Probe: uringzc.Probe},
		"devmem":       {NewSender: sender(devmem.NewSender), Probe: devmem.ProbeSend, ProbeDevice: devmem.ProbeSendDevice},
	},
}

// All lists every mode in table order.
func All() []Path {
	var all []Path
	for _, m := range stream.Modes {
		all = append(all, resolve(m))
	}
	return all
}

// Find returns the path of a mode. An unknown name is an error that lists the
// names.
func Find(role stream.Role, name string) (Path, error) {
	m, err := stream.LookupMode(role, name)
	if err != nil {
		return Path{}, err
	}
	return resolve(m), nil
}

func resolve(m stream.Mode) Path {
	p, built := paths[m.Role][m.Name]
	p.Mode = m
	switch {
	case !built:
		p.Probe = func() error {
			return &fault.Unsupported{Mode: m.Name, Op: "this version of zcbench has no data path for it yet",
				How: "use a later version of zcbench"}
		}
	case p.Probe == nil:
		p.Probe = func() error { return nil }
	}
	return p
}

// Support tries whether the mode can run on this host, and on interface dev if
// one is named: nil, or why not.
func (p Path) Support(dev string) error {
	if dev != "" && p.ProbeDevice != nil {
		return p.ProbeDevice(dev)
	}
	return p.Probe()
}

// Built reports whether this version of zcbench has code for the mode.
func (p Path) Built() bool { return p.NewReceiver != nil || p.NewSender != nil }
