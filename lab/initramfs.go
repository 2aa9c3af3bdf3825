// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/u-root/u-root/pkg/cpio"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/lab/guest"
)

// initramfs collects what the guest starts with: /init, which is the program
// given as init, the modules and the spec.
type initramfs struct {
	records []cpio.Record
	files   []*os.File
	seen    map[string]bool
}

func newInitramfs(init, module string, spec *guest.Spec) (*initramfs, error) {
	r := &initramfs{seen: map[string]bool{}}
	for _, d := range []string{"bin", "dev", "etc", "lab", "proc", "root", "run", "sys", "tmp"} {
		r.add(cpio.Directory(d, 0o755))
	}
	b, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	r.add(cpio.StaticFile(guest.SpecPath[1:], string(b), 0o644))
	r.add(cpio.StaticFile("etc/hosts", "127.0.0.1 localhost lab\n::1 localhost\n10.77.0.1 sut\n10.77.0.2 tg\n", 0o644))
	err = r.addFile("/init", init)
	if err == nil && module != "" {
		err = r.addFile(guest.ModulePath, module)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	r.add(cpio.Symlink("bin/zcbench", "/init"))
	return r, nil
}

func (r *initramfs) add(rec cpio.Record) {
	if r.seen[rec.Name] {
		return
	}
	r.seen[rec.Name] = true
	r.records = append(r.records, rec)
}

// addDirs enters every folder above name.
func (r *initramfs) addDirs(name string) {
	if dir := path.Dir(name); dir != "." && dir != "/" {
		r.addDirs(dir)
		r.add(cpio.Directory(dir, 0o755))
	}
}

// addFile carries the host's file to the guest's absolute path.
func (r *initramfs) addFile(guestPath, hostPath string) error {
	f, err := os.Open(hostPath)
	if err != nil {
		return err
	}
	r.files = append(r.files, f)
	st, err := f.Stat()
	if err != nil {
		return err
	}
	name := cpio.Normalize(guestPath)
	r.addDirs(name)
	r.add(cpio.Record{
		ReaderAt: f,
		Info: cpio.Info{
			Name:     name,
			Mode:     unix.S_IFREG | uint64(st.Mode().Perm()),
			FileSize: uint64(st.Size()),
		},
	})
	return nil
}

// image writes the archive into anonymous memory: nothing is left behind
// however this process ends.
func (r *initramfs) image() (*os.File, error) {
	fd, err := unix.MemfdCreate("zcbench-lab-initramfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "initramfs")
	if err := cpio.WriteRecords(cpio.Newc.Writer(f), r.records); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (r *initramfs) close() {
	for _, f := range r.files {
		f.Close()
	}
}

// errDynamic says that a program needs shared libraries.
var errDynamic = errors.New("the program is dynamically linked")

// checkStatic returns an error unless path is an x86-64 ELF program that needs
// nothing but the kernel.
func checkStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("not an ELF program: %w", err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("built for %v, but the guest is x86-64", f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b, _ := io.ReadAll(io.LimitReader(p.Open(), 256))
			return fmt.Errorf("%w: it needs %s", errDynamic, bytes.TrimRight(b, "\x00"))
		}
	}
	return nil
}
