// SPDX-License-Identifier: MIT

// Command zcnvml prints what NVIDIA GPUs draw, for zcbench's power source nvml.
//
// It loads libnvidia-ml.so.1, which a static program cannot; zcbench is static,
// and so this is a program of its own.
//
//	zcnvml --list               the GPUs' names, one a line; after tabs follow "pci " and its
//	                            address, and "board " and its number, of a GPU that shares it
//	                            with others
//	zcnvml --interval 100ms     a line of milliwatts, one number per GPU, until it is ended
//
// Exit status: 0 done, 1 NVML is not there or refuses (why is on standard error),
// 2 wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"structs"
	"syscall"
	"time"

	"github.com/ebitengine/purego"
	"github.com/zcbench/zcbench/internal/plaintext"
)

func main() {
	list := flag.Bool("list", false, "print the GPUs' names")
	interval := flag.Duration("interval", time.Second, "time between two lines")
	flag.Parse()
	if flag.NArg() > 0 || *interval < time.Millisecond {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*list, *interval); err != nil {
		fmt.Fprintln(os.Stderr, plaintext.Clean(err.Error()))
		os.Exit(1)
	}
}

func run(list bool, interval time.Duration) error {
	lib, err := load()
	if err != nil {
		return err
	}
	defer lib.shutdown()
	gpus, err := lib.gpus()
	if err != nil {
		return err
	}
	if list {
		for _, g := range gpus {
			if _, err := fmt.Println(plaintext.Line(lib.name(g)) + lib.place(g) + lib.board(g)); err != nil {
				return fmt.Errorf("write the output: %w", err)
			}
		}
		return nil
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		words := make([]string, len(gpus))
		for i, g := range gpus {
			words[i] = lib.milliwatts(g)
		}
		switch _, err := fmt.Println(strings.Join(words, " ")); {
		case errors.Is(err, syscall.EPIPE):
			return nil // nobody reads any more
		case err != nil:
			return fmt.Errorf("write the output: %w", err)
		}
		<-tick.C
	}
}

// nvml are the library's functions (nvml.h). They return 0 for success.
type nvml struct {
	shutdown func() int32
	count    func(*uint32) int32
	handle   func(uint32, *uintptr) int32
	devName  func(uintptr, *byte, uint32) int32
	power    func(uintptr, *uint32) int32
	shared   func(uintptr, *uint32) int32 // whether the GPU's board has several
	boardID  func(uintptr, *uint32) int32
	errText  func(int32) string
	pci      func(uintptr, *pciInfo) int32 // nil: the library is too old
}

// pciInfo is nvmlPciInfo_t of nvml.h.
type pciInfo struct {
	_                         structs.HostLayout
	legacy                    [16]byte
	domain, bus, device       uint32
	pciDeviceID, pciSubsystem uint32
	busID                     [32]byte
}

func load() (*nvml, error) {
	const file = "libnvidia-ml.so.1"
	h, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("dlopen %s: %w", file, err)
	}
	var initialise func() int32
	lib := &nvml{}
	for name, f := range map[string]any{"nvmlInit_v2": &initialise, "nvmlShutdown": &lib.shutdown,
		"nvmlDeviceGetCount_v2":         &lib.count,
		"nvmlDeviceGetHandleByIndex_v2": &lib.handle, "nvmlDeviceGetName": &lib.devName,
		"nvmlDeviceGetPowerUsage": &lib.power, "nvmlDeviceGetMultiGpuBoard": &lib.shared,
		"nvmlDeviceGetBoardId": &lib.boardID, "nvmlErrorString": &lib.errText} {
		if _, err := purego.Dlsym(h, name); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		purego.RegisterLibFunc(f, h, name)
	}
	if _, err := purego.Dlsym(h, "nvmlDeviceGetPciInfo_v3"); err == nil {
		purego.RegisterLibFunc(&lib.pci, h, "nvmlDeviceGetPciInfo_v3")
	}
	if e := initialise(); e != 0 {
		return nil, fmt.Errorf("nvmlInit: %s", lib.errText(e))
	}
	return lib, nil
}

func (l *nvml) gpus() ([]uintptr, error) {
	var n uint32
	if e := l.count(&n); e != 0 {
		return nil, fmt.Errorf("nvmlDeviceGetCount: %s", l.errText(e))
	}
	out := make([]uintptr, n)
	for i := range out {
		if e := l.handle(uint32(i), &out[i]); e != 0 {
			return nil, fmt.Errorf("nvmlDeviceGetHandleByIndex %d: %s", i, l.errText(e))
		}
	}
	return out, nil
}

func (l *nvml) name(g uintptr) string {
	var b [96]byte // NVML_DEVICE_NAME_V2_BUFFER_SIZE
	if l.devName(g, &b[0], uint32(len(b))) != 0 {
		return "GPU"
	}
	name, _, _ := strings.Cut(string(b[:]), "\x00")
	return strings.ReplaceAll(name, "\n", " ")
}

// place returns a GPU's PCI address, after a tab; "" where NVML does not tell it.
func (l *nvml) place(g uintptr) string {
	var p pciInfo
	if l.pci == nil || l.pci(g, &p) != 0 {
		return ""
	}
	return fmt.Sprintf("\tpci %04x:%02x:%02x.0", p.domain, p.bus, p.device)
}

// board returns the board of a GPU that is not alone on it, after a tab; "" of another.
func (l *nvml) board(g uintptr) string {
	var shared, id uint32
	if l.shared(g, &shared) != 0 || shared == 0 || l.boardID(g, &id) != 0 {
		return ""
	}
	return fmt.Sprintf("\tboard %#x", id)
}

// milliwatts reads what a GPU draws, "-" if it does not say.
func (l *nvml) milliwatts(g uintptr) string {
	var mw uint32
	if l.power(g, &mw) != 0 {
		return "-"
	}
	return strconv.FormatUint(uint64(mw), 10)
}
