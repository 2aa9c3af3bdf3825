// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// worker runs jobs. Each finds the machine as the first did: two hosts on a wire with a
// soft NIC that was loaded for it, and no file of another.
type worker struct {
	spec   Spec
	ports  map[string]*os.File
	orders *orders
	dmesg  *kmsg
	base   snapshot
}

// loop ends with an error of the machine, or when the host has gone.
func (w *worker) loop() error {
	err := inMemory("/")
	if err == nil {
		err = setupOnce(&w.spec)
	}
	if err == nil {
		w.base, err = takeSnapshot("/")
	}
	for {
		if err == nil {
			err = setup(&w.spec)
		}
		ready := &Ready{Uptime: uptime(), Complaints: w.dmesg.pending("lab: ready")}
		if err != nil {
			ready.Err = err.Error()
		}
		if rerr := w.report(Report{Ready: ready}); err != nil || rerr != nil {
			return rerr
		}
		job, jerr := w.next()
		if job == nil {
			return jerr
		}
		res := w.work(job)
		res.EndS = uptime()
		if rerr := w.report(Report{Result: &res}); rerr != nil {
			return rerr
		}
		err = w.clean()
	}
}

// next waits for a job; nil is the end. Meanwhile the machine may be kept in a file, and
// go on from there as another.
func (w *worker) next() (*Job, error) {
	for {
		select {
		case job := <-w.orders.jobs:
			return job, nil
		case word := <-w.orders.wakes:
			ready := &Ready{}
			err := wake(word)
			if err != nil {
				ready.Err = err.Error()
			}
			ready.Uptime = uptime()
			if rerr := w.report(Report{Ready: ready}); err != nil || rerr != nil {
				return nil, rerr
			}
		}
	}
}

func (w *worker) report(r Report) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.ports[PortControl].Write(append(b, '\n'))
	return err
}

// work runs the command and takes everything down again, so that what the kernel says
// about leaks is in the result. Whatever fails, the host gets a mark on each output
// and an archive.
func (w *worker) work(job *Job) (res Result) {
	say(fmt.Sprintf("lab: command %d: %s", job.N, job.Args[0]))
	in := NewChunkReader(w.ports[PortIn])
	err := unpack(in, "/", w.base)
	io.Copy(io.Discard, in)
	if err == nil && job.Module != "" && job.Module != w.spec.Module {
		err = w.anotherNIC(job.Module)
	}
	if err == nil {
		err = os.MkdirAll(OutDir, 0o755)
	}
	if err != nil {
		res.Err = err.Error()
	} else {
		res.StartS = uptime()
		w.run(job, &res)
	}
	var bad []string
	fail := func(err error) {
		if err != nil {
			bad = append(bad, err.Error())
		}
	}
	fail(killAll())
	fail(w.endOutput(job.Mark))
	out := NewChunkWriter(w.ports[PortOut])
	if err := sendTar(out, append([]string{OutDir}, job.Returns...)); err != nil {
		fail(err)
		fail(out.Abort())
	} else {
		fail(out.Close())
	}
	bad = append(bad, teardown(&w.spec)...)
	res.Complaints = append(bad, w.dmesg.complaints(fmt.Sprintf("lab: end of command %d %s", job.N, job.Mark))...)
	return res
}

// anotherNIC takes the soft NIC down and sets it up with other parameters.
func (w *worker) anotherNIC(params string) error {
	if w.spec.NIC != nil {
		return fmt.Errorf("this machine has %s, not a soft NIC to set up again", w.spec.NIC.Name)
	}
	if bad := teardown(&w.spec); len(bad) > 0 {
		return errors.New(bad[0])
	}
	spec := w.spec
	spec.Module = params
	return setup(&spec)
}

// endOutput marks the end of a job's output. The command may have changed how its
// output is written, which all who have it share.
func (w *worker) endOutput(mark string) error {
	var errs []error
	for _, p := range []string{PortStdout, PortStderr} {
		f := w.ports[p]
		errs = append(errs, unix.SetNonblock(int(f.Fd()), false))
		_, err := f.WriteString(mark)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// clean removes what the job left.
func (w *worker) clean() error {
	return errors.Join(
		unmountStrangers(), freshMounts(), removeCgroups(cgroupRoot), removeTraces(),
		removeLinks(), w.base.restore("/"))
}

// leftFirst sorts paths so that what is below comes before what holds it.
func leftFirst(paths []string) {
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(b, a) })
}
