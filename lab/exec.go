package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
)

// Defaults of ExecOptions.
const (
	DefaultCPUs    = 2
	DefaultMemMiB  = 2048
	DefaultTimeout = 10 * time.Minute
	DefaultOut     = "out/lab"
)

// bootPatience is how long the guest may take beyond the command's time: to
// boot under TCG on a busy machine, and to take itself down.
const bootPatience = 90 * time.Second

// ExecOptions says what to run and where. Only Args is needed.
type ExecOptions struct {
	Args    []string      // the command: a static x86-64 program of this host, or zcbench
	Cache   string        // as in BuildOptions
	Kernel  string        // as one of BuildOptions.Kernels; empty: the default
	CPUs    int           // processors; 0: DefaultCPUs
	MemMiB  int           // memory, MiB; 0: DefaultMemMiB
	Timeout time.Duration // for the command; 0: DefaultTimeout
	Out     string        // where files under the guest's $OUT go; empty: $OUT, else DefaultOut
	Files   []string      // more files or folders to carry, to the same absolute path
	Env     []string      // NAME=VALUE for the command
	Module  string        // parameters for softnic.ko: "inline_dma=1"
	MTU     int           // of both ends; 0: guest.DefaultMTU
	Init    string        // program to run as /init, which calls guest.Main; empty: this one
	NoKVM   bool          // emulate even where KVM works
	QEMU    []string      // more arguments for QEMU, such as devices
	Load    []string      // Debian's modules to load, each after those it depends on: "ipmi_msghandler"
	// CountTime makes the guest's clocks count instructions, one a nanosecond,
	// whatever the host does meanwhile; it emulates.
	CountTime bool
	// CountEmulated is CountTime where the guest must be emulated.
	CountEmulated bool

	// Booting, unless nil, is called when the machine is about to be switched on.
	Booting func(release string, kvm bool)

	Stdout, Stderr io.Writer // the command's output; nil: this process's own
	Log            io.Writer // the lab's progress and the kernel's complaints; nil: os.Stderr
}

func (o *ExecOptions) defaults() error {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&o.CPUs, DefaultCPUs)
	set(&o.MemMiB, DefaultMemMiB)
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Out == "" {
		o.Out = os.Getenv("OUT")
	}
	if o.Out == "" {
		o.Out = DefaultOut
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Log == nil {
		o.Log = os.Stderr
	}
	if o.Init == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		o.Init = self
	}
	if len(o.Args) == 0 {
		return errorf("read the command", "zcbench lab exec -- CMD ARGS...", "no command given")
	}
	return nil
}

// Exec boots a guest, runs one command in it and returns the command's exit
// status. The machine is gone when Exec returns. An error means that the lab,
// not the command, failed; the status is then one of the Exit constants.
func Exec(ctx context.Context, o ExecOptions) (exit int, err error) {
	if err := o.defaults(); err != nil {
		return ExitTrouble, wrap("start", err)
	}
	r, err := prepare(ctx, &o)
	var nf *notFoundError
	if errors.As(err, &nf) {
		return ExitNotFind, err
	}
	if err != nil {
		return ExitTrouble, wrap("prepare the guest", err)
	}
	defer r.img.Close()
	return r.run(ctx)
}

// execRun is one boot.
type execRun struct {
	o    *ExecOptions
	spec guest.Spec
	img  *os.File // initramfs
	cfg  vmConfig
	kmsg *tail

	release string // of the kernel
}

// prepare does everything up to switching the machine on.
func prepare(ctx context.Context, o *ExecOptions) (*execRun, error) {
	if err := checkStatic(o.Init); err != nil {
		return nil, &Error{"use this program as the guest's /init", err, "build it with CGO_ENABLED=0"}
	}
	if err := needTools("qemu-system-x86_64"); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cmd, err := newCommand(o.Args, o.Init, dir)
	if err != nil {
		return nil, err
	}
	var kernels []string
	if o.Kernel != "" {
		kernels = []string{o.Kernel}
	}
	built, err := Build(ctx, BuildOptions{Cache: o.Cache, Kernels: kernels}, o.Log)
	if err != nil {
		return nil, err
	}
	c, err := openCache(o.Cache)
	if err != nil {
		return nil, err
	}
	r := &execRun{o: o, kmsg: newTail(64 << 10), release: built[0].Release}
	r.spec = guest.Spec{Args: cmd.args, Dir: dir, Env: guestEnv(o.Env), Module: o.Module, MTU: o.MTU, Returns: cmd.returns}
	var load []string
	if len(o.Load) > 0 {
		if load, err = drivers(ctx, BuildOptions{Cache: o.Cache}, built[0], o.Load, o.Log); err != nil {
			return nil, err
		}
	}
	for _, p := range load {
		r.spec.Load = append(r.spec.Load, guest.DriverDir+"/"+filepath.Base(p))
	}
	if r.img, err = makeImage(o, cmd, dir, built[0].Module, load, &r.spec); err != nil {
		return nil, &Error{Op: "make the initramfs", Err: err}
	}
	r.cfg = vmConfig{vmlinuz: built[0].Vmlinuz, initramfs: r.img, cpus: o.CPUs, memMiB: o.MemMiB, extra: o.QEMU}
	r.cfg.kvm = !o.NoKVM && !o.CountTime && c.kvmBoots(ctx, built[0], o.Init, o.Log)
	r.cfg.counts = o.CountTime || o.CountEmulated && !r.cfg.kvm
	return r, nil
}

// makeImage packs the program, the folder testdata of the working directory
// (what go test gives a test to read) and the files asked for.
func makeImage(o *ExecOptions, cmd *command, dir, module string, load []string, spec *guest.Spec) (*os.File, error) {
	ram, err := newInitramfs(o.Init, module, spec)
	if err != nil {
		return nil, err
	}
	defer ram.close()
	if cmd.carry != "" {
		if err := ram.addFile(cmd.carry, cmd.carry); err != nil {
			return nil, err
		}
	}
	for i, p := range load {
		if err := ram.addFile(spec.Load[i], p); err != nil {
			return nil, err
		}
	}
	for _, p := range cmd.returns {
		ram.addWritable(p)
	}
	for _, p := range append([]string{filepath.Join(dir, "testdata")}, o.Files...) {
		if p, err = filepath.Abs(p); err != nil {
			return nil, err
		}
		if err := ram.addTree(p, p); err != nil {
			return nil, err
		}
	}
	return ram.image()
}

// run boots, forwards the guest's output until it has ended and judges.
func (r *execRun) run(ctx context.Context) (int, error) {
	ctx, stop := context.WithTimeout(ctx, r.o.Timeout+bootPatience)
	defer stop()
	if r.o.Booting != nil {
		r.o.Booting(r.release, r.cfg.kvm)
	}
	m, err := startVM(ctx, r.cfg)
	if err != nil {
		return ExitTrouble, err
	}
	defer m.closePorts()

	var wg sync.WaitGroup
	copyTo := func(w io.Writer, port string) {
		wg.Go(func() { io.Copy(w, m.ports[port]) })
	}
	copyTo(r.o.Stdout, guest.PortStdout)
	copyTo(r.o.Stderr, guest.PortStderr)
	copyTo(r.kmsg, guest.PortKmsg)
	var res *guest.Result
	var outErr error
	wg.Go(func() { res = readResult(m.ports[guest.PortControl]) })
	wg.Go(func() { outErr = receiveTar(m.ports[guest.PortOut], r.o.Out, r.spec.Returns) })

	limit := time.AfterFunc(r.o.Timeout, func() { io.WriteString(m.ports[guest.PortControl], guest.TimeoutWord) })
	defer limit.Stop()
	<-m.done
	wg.Wait() // QEMU's ends are closed: every copy has come to its end
	return r.judge(ctx, m, res, outErr)
}

// readResult returns the guest's report, or nil when it died before.
func readResult(control io.Reader) *guest.Result {
	line, err := bufio.NewReader(control).ReadBytes('\n')
	if err != nil {
		return nil
	}
	res := new(guest.Result)
	if json.Unmarshal(line, res) != nil {
		return nil
	}
	return res
}

// judge turns what came back into an exit status.
func (r *execRun) judge(ctx context.Context, m *vm, res *guest.Result, outErr error) (int, error) {
	switch {
	case res == nil && ctx.Err() != nil:
		r.dump(m)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return ExitTimeout, errorf("run the guest", "see the kernel messages above", "it did not answer for %v and was killed", r.o.Timeout+bootPatience)
		}
		return ExitTrouble, &Error{Op: "run the guest", Err: ctx.Err()}
	case res == nil:
		r.dump(m)
		return ExitTrouble, errorf("run the guest", "see the kernel messages above", "it died without a report (qemu: %v)", status(m.err))
	case res.NotFound:
		return ExitNotFind, errorf("run "+r.spec.Args[0], "", "%s", res.Err)
	case res.NotExec:
		return ExitNotExec, errorf("run "+r.spec.Args[0], "", "%s", res.Err)
	case res.Err != "":
		r.dump(m)
		return ExitTrouble, errorf("set up the guest", "", "%s", res.Err)
	case res.TimedOut:
		r.dump(m)
		return ExitTimeout, errorf("run "+r.spec.Args[0], "give it more with --timeout", "still running after %v", r.o.Timeout)
	case len(res.Complaints) > 0:
		r.dump(m)
		for _, c := range res.Complaints {
			fmt.Fprintln(r.o.Log, "lab: kernel:", c)
		}
		return ExitTrouble, errorf("check the guest's kernel", fmt.Sprintf("the command itself ended with %d", res.Exit),
			"%d complaints, the first: %s", len(res.Complaints), res.Complaints[0])
	case outErr != nil:
		return ExitTrouble, &Error{"fetch the guest's files", outErr, ""}
	}
	return res.Exit, nil
}

// dump prints the end of the kernel's messages and of the serial console.
func (r *execRun) dump(m *vm) {
	fmt.Fprintf(r.o.Log, "lab: --- last kernel messages ---\n%s\nlab: --- console ---\n%s\nlab: ---\n",
		r.kmsg.lines(60), m.console.lines(60))
}

func status(err error) string {
	if err == nil {
		return "ended normally"
	}
	return err.Error()
}
