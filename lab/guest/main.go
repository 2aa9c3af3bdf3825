package guest

import (
	"bufio"
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

// serve opens the channels, does what the spec says and reports the result.
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
	var res Result
	if !spec.Probe {
		res = work(&spec, ports)
	}
	res.TotalS = uptime()
	b, err = json.Marshal(res)
	if err != nil {
		return err
	}
	_, err = ports[PortControl].Write(append(b, '\n'))
	return err
}

// work sets the guest up, runs the command and takes everything down again, so
// that what the kernel says about leaks is in the result.
func work(spec *Spec, ports map[string]*os.File) (res Result) {
	dmesg := followKmsg(ports[PortKmsg])
	if err := setup(spec); err != nil {
		res.Err = err.Error()
	} else {
		res.ReadyS = uptime()
		run(spec, ports, &res)
		killAll()
	}
	if err := sendTar(ports[PortOut], append([]string{OutDir}, spec.Returns...)); err != nil && res.Err == "" {
		res.Err = err.Error()
	}
	res.Complaints = append(teardown(), dmesg.complaints()...)
	return res
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
			f, err := os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(n))), os.O_RDWR, 0)
			if err == nil {
				ports[name] = f
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

// timeoutFrom closes the channel when the host says that the time is up.
func timeoutFrom(control *os.File) <-chan struct{} {
	up := make(chan struct{})
	go func() {
		line, err := bufio.NewReader(control).ReadString('\n')
		if err == nil && line == TimeoutWord {
			close(up)
		}
	}()
	return up
}

// uptime is the time since the kernel started, in seconds (/proc/uptime, see
// fs/proc/uptime.c).
func uptime() float64 {
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	s, _, _ := strings.Cut(string(b), " ")
	v, _ := strconv.ParseFloat(s, 64)
	return v
}
