// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// IsInit reports whether this process is the first one of a lab guest.
func IsInit() bool {
	if os.Getpid() != 1 {
		return false
	}
	_, err := os.Stat(SpecPath)
	return err == nil
}

// Main does the guest's work and powers the machine off; it does not return.
func Main() {
	err := serve()
	if err != nil {
		// Nothing else is left to tell it to; the host prints the console.
		fmt.Fprintln(os.Stderr, "lab guest:", err)
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

// serve makes a lab of the machine and runs the jobs that come, one after another.
func serve() error {
	if err := mountAll(); err != nil {
		return err
	}
	ports, err := openPorts(5 * time.Second)
	if err != nil {
		return err
	}
	var spec Spec
	b, err := os.ReadFile(SpecPath)
	if err == nil {
		err = json.Unmarshal(b, &spec)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", SpecPath, err)
	}
	w := &worker{spec: spec, ports: ports, orders: followOrders(ports[PortControl])}
	if spec.Probe {
		return w.report(Report{Ready: &Ready{Uptime: uptime()}})
	}
	w.dmesg = followKmsg(ports[PortKmsg])
	return w.loop()
}

// openPorts opens every port once the kernel's virtio driver has made it.
func openPorts(limit time.Duration) (map[string]*os.File, error) {
	deadline := time.Now().Add(limit)
	ports := map[string]*os.File{}
	for {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, n := range names {
			b, err := os.ReadFile(n)
			name := strings.TrimSpace(string(b))
			if err != nil || name == "" || ports[name] != nil {
				continue
			}
			// Blocking, as the command gets it: a write waits until the host has taken it.
			path := filepath.Join("/dev", filepath.Base(filepath.Dir(n)))
			if fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
				ports[name] = os.NewFile(uintptr(fd), path)
			}
		}
		if len(ports) >= len(Ports) {
			return ports, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("found %d of %d virtio-serial ports", len(ports), len(Ports))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// uptime reads the time since the kernel started, in seconds (/proc/uptime, see fs/proc/uptime.c).
func uptime() float64 {
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	s, _, _ := strings.Cut(string(b), " ")
	v, _ := strconv.ParseFloat(s, 64)
	return v
}
