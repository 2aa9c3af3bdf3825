// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/modes"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// UsageError is a spec that cannot be run anywhere: the caller's mistake.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// End is one end of a flow, ready to run once.
type End struct {
	spec  wire.EndSpec
	path  modes.Path
	opts  stream.Options
	place *place.Placement // nil: the softirq is left as found
	meter stream.Meter

	port    *stream.Port    // RX
	payload *stream.Payload // TX
	worker  *worker
	probes  *probes
}

// Check finds what is wrong with a spec without touching the host.
func Check(s wire.EndSpec) error {
	_, _, err := resolve(s)
	return err
}

func resolve(s wire.EndSpec) (modes.Path, stream.Options, error) {
	usage := func(format string, args ...any) (modes.Path, stream.Options, error) {
		return modes.Path{}, stream.Options{}, &UsageError{fmt.Errorf(format, args...)}
	}
	if s.Role != stream.RX && s.Role != stream.TX {
		return usage("unknown role %q", s.Role)
	}
	path, err := modes.Find(s.Role, s.Mode)
	if err != nil {
		return usage("%w", err)
	}
	o := stream.Options{MessageBytes: s.MessageBytes, ReadBytes: s.ReadBytes, Touch: s.Touch,
		NIC: s.NIC, UringEngine: s.UringEngine, Socket: sock.Options{RcvBuf: s.RcvBuf, SndBuf: s.SndBuf, Congestion: s.Congestion, PaceBitsPS: s.PaceBitsPS,
			ZeroCopy: s.Role == stream.TX && (s.Mode == "msg-zerocopy" || s.Mode == "devmem")}}
	if o.MessageBytes == 0 {
		o.MessageBytes = stream.DefaultMessageBytes
	}
	if o.Touch == "" {
		o.Touch = stream.TouchNone
	}
	if s.GatherNs != nil {
		if s.Role != stream.RX || !path.UsesRing() {
			return usage("--gather: %s %s does not wait for payload in an io_uring; leave it out", s.Role, s.Mode)
		}
		o.Gather = new(duration(*s.GatherNs))
	}
	if err := o.Check(); err != nil {
		return usage("%w", err)
	}
	if _, err := stream.ParseTouch(string(o.Touch)); err != nil {
		return usage("%w", err)
	}
	if path.NoPayload && o.Touch != stream.TouchNone {
		return usage("%s never has the payload in its hands, so touch %q is impossible; use --touch none", s.Mode, o.Touch)
	}
	if err := uring.Engine(s.UringEngine).Check(); err != nil {
		return usage("--uring-engine: %w", err)
	}
	if s.UringEngine != "" && !path.UsesRing() {
		return usage("--uring-engine %s: %s uses no io_uring; leave it out", s.UringEngine, s.Mode)
	}
	if a := s.NIC.Area; path.DMABuf && a != "" && !slices.Contains(stream.DMABufKinds, a) {
		return usage("%s cannot have memory of the kind %q; its kinds are %v", s.Mode, a, stream.DMABufKinds)
	}
	if a := s.NIC.Area; path.NICQueue && !path.NeedsDev && slices.Contains(stream.DMABufKinds, a) {
		return usage("%s has no NIC that could write into a dmabuf: leave the area %q out", s.Mode, a)
	}
	if path.DMABuf && s.NIC.BufLen > 4096 {
		return usage("%s has receive buffers of a page only, not of %d bytes", s.Mode, s.NIC.BufLen)
	}
	if s.RcvBuf < 0 || s.SndBuf < 0 || s.RcvBuf > 1<<30 || s.SndBuf > 1<<30 {
		return usage("socket buffer sizes must be 1..%d bytes, or 0 for the kernel's default", 1<<30)
	}
	if _, err := results.JoinProbes(s.Probes); err != nil {
		return usage("%w", err)
	}
	if err := results.CheckProbeSample(cmp.Or(s.ProbeSample, 1)); err != nil {
		return usage("probe sample: %w", err)
	}
	if err := checkCPU(s.CPU); err != nil {
		return usage("%w", err)
	}
	if s.SoftirqCPU != nil {
		if err := checkCPU(*s.SoftirqCPU); err != nil || *s.SoftirqCPU < 0 {
			return usage("softirq: %w", cmp.Or(err, errors.New("no CPU named")))
		}
	}
	if err := checkAddr(s); err != nil {
		return usage("address %q: %w; it is ADDR:PORT, IPv6 in brackets", s.Addr, err)
	}
	return path, o, nil
}

func checkAddr(s wire.EndSpec) error {
	host, name, err := net.SplitHostPort(s.Addr)
	if ae := (*net.AddrError)(nil); errors.As(err, &ae) {
		return errors.New(ae.Err)
	}
	if err != nil {
		return err
	}
	port, err := net.LookupPort("tcp", name)
	switch {
	case err != nil:
		return fmt.Errorf("port %q is not in 0..65535", name)
	case s.Role == stream.TX && port == 0:
		return errors.New("no port to connect to")
	case s.Role == stream.TX && host == "":
		return errors.New("no host to connect to")
	}
	return nil
}

func checkCPU(cpu int) error {
	if cpu == -1 {
		return nil
	}
	online, err := counter.OnlineCPUs(counter.FS{})
	if err != nil {
		return err
	}
	if !slices.Contains(online, cpu) {
		return fmt.Errorf("CPU %d is not online here; online are %s", cpu, counter.FormatCPUList(online))
	}
	return nil
}

// Open prepares an end: all memory, rings and the data port. A mode that this
// host cannot run is an [*fault.Unsupported].
func Open(s wire.EndSpec) (*End, error) {
	path, o, err := resolve(s)
	if err != nil {
		return nil, err
	}
	if err := path.Probe(); err != nil {
		return nil, err
	}
	if o.NIC.Dev, err = flowDev(path, s); err != nil {
		return nil, err
	}
	e := &End{spec: s, path: path, opts: o}
	if err := e.open(); err != nil {
		return nil, e.giveUp(err)
	}
	return e, nil
}

// giveUp frees an end that could not be opened because of err. That something of
// it is left on the host is worse than that the mode cannot run there.
func (e *End) giveUp(err error) error {
	cerr := e.Close()
	if cerr == nil {
		return err
	}
	return &fault.Error{Op: fault.Reason(err) + "; and after that", Err: cerr, How: cmp.Or(fault.Fix(cerr), fault.Fix(err))}
}

func (e *End) open() (err error) {
	if err := e.placeSoftirq(); err != nil {
		return err
	}
	if e.spec.Role == stream.RX {
		if e.port, err = stream.Listen(e.spec.Addr, e.spec.Cookie, e.opts.Socket); err != nil {
			return err
		}
	} else if e.payload, err = stream.NewPayload(e.opts.MessageBytes); err != nil {
		return err
	}
	if e.probes, err = openProbes(e); err != nil {
		return err
	}
	e.worker = newWorker(e)
	return e.worker.prepared()
}

// Addr is the data port's address, of a receiving end.
func (e *End) Addr() net.Addr { return e.port.Addr() }

// Progress is the number of payload bytes so far.
func (e *End) Progress() uint64 { return e.meter.Snapshot().Bytes }

// Close frees everything. An end that still runs is aborted first.
func (e *End) Close() error {
	var err error
	if e.worker != nil {
		err = e.worker.close()
	}
	if e.port != nil {
		err = errors.Join(err, e.port.Close())
	}
	if e.payload != nil {
		err = errors.Join(err, e.payload.Close())
	}
	if e.place != nil {
		err = errors.Join(err, e.place.Undo())
		e.place = nil
	}
	return errors.Join(err, e.probes.close())
}
