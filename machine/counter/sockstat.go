// SPDX-License-Identifier: MIT

package counter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// The files of ReadSockstat, below /proc/thread-self as those of ReadNetstat are.
const (
	sockstatFile  = "net/sockstat"
	sockstat6File = "net/sockstat6"
	tcpMemFile    = "net/ipv4/tcp_mem"
)

// mostLevels bounds what a file is read for; Linux 7.3.4 has some 20.
const mostLevels = 256

// ReadSockstat reads how many sockets there are in the calling thread's network namespace,
// and what memory those of the whole host have: pages of TCP and UDP, bytes of fragments
// (net/ipv4/proc.c: sockstat_seq_show, net/ipv6/proc.c: sockstat6_seq_show, Linux 7.3.4). A host
// without IPv6 has the first file alone; that is no error.
func ReadSockstat(fs FS) (out []measure.Count, err error) {
	for _, name := range []string{sockstatFile, sockstat6File} {
		f, err := kernelfile.Open(fs.netPath(name))
		if name == sockstat6File && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the sockets' memory: %w", mounted(err))
		}
		ls, err := parseSockstat(f, "/proc/"+name)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("read the sockets' memory: %w", err)
		}
		out = append(out, ls...)
	}
	return out, nil
}

// parseSockstat reads lines of a word with a colon and of pairs of a name and a number.
func parseSockstat(r io.Reader, source string) (out []measure.Count, err error) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) == 0 {
			continue
		}
		area, ok := strings.CutSuffix(f[0], ":")
		if !ok || len(f)%2 != 1 || !isWord(area) {
			return nil, fmt.Errorf("parse %s: %.60q is not an area with names and numbers", source, sc.Text())
		}
		for i := 1; i < len(f); i += 2 {
			v, err := strconv.ParseUint(f[i+1], 10, 64)
			if err != nil && strings.HasPrefix(f[i+1], "-") { // sums over CPUs may be, for a moment
				_, err = strconv.ParseInt(f[i+1], 10, 64)
			}
			if err != nil || !isWord(f[i]) || len(out) == mostLevels {
				return nil, fmt.Errorf("parse %s: %.60q: %.40q is not a name with a number", source, sc.Text(), f[i+1])
			}
			out = append(out, level("sockstat", strings.ToLower(area+"_"+f[i]), unitOfLevel(f[i]), source, v))
		}
	}
	return out, sc.Err()
}

// level is how much there is of something now.
func level(of, name, unit, source string, v uint64) measure.Count {
	return measure.Count{Name: of + " " + name, Metric: of + "_" + name, Unit: unit, Source: source,
		Kind: measure.Gauge, Value: v}
}

// unitOfLevel: mem are pages (include/net/sock.h: sk_mem_pages), memory of fragments is bytes.
func unitOfLevel(name string) string {
	switch name {
	case "mem":
		return "pages"
	case "memory":
		return "bytes"
	}
	return "1"
}

// isWord reports whether a name is one of the kernel's here: letters and digits.
func isWord(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

// ReadTCPMem reads from how many pages of all TCP sockets on the kernel presses for memory, and
// refuses more (tcp_mem of ip-sysctl). Only the first network namespace shows it
// (net/ipv4/sysctl_net_ipv4.c: ipv4_table); elsewhere there are none.
func ReadTCPMem(fs FS) ([]measure.Count, error) {
	b, err := kernelfile.ReadFile(fs.procPath("sys", tcpMemFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the limits of TCP's memory: %w", err)
	}
	return parseTCPMem(string(b))
}

func parseTCPMem(text string) (out []measure.Count, err error) {
	f := strings.Fields(text)
	if len(f) != 3 {
		return nil, fmt.Errorf("parse tcp_mem: %.60q is not three numbers", text)
	}
	for i, name := range []string{"low", "pressure", "high"} {
		v, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse tcp_mem: %.60q is not three numbers", text)
		}
		out = append(out, level("tcp_mem", name, "pages", "/proc/sys/"+tcpMemFile, v))
	}
	return out, nil
}

// SockstatMetrics describe sockets and their memory.
var SockstatMetrics = []measure.MetricDoc{
	{Names: "sockstat_NAME", Units: "*", Source: "/proc/net/sockstat",
		Meaning: "sockets of the namespace, and pages and bytes that those of the whole host " +
			"hold, at the window's end"},
}

// TCPMemMetrics describe the limits of the memory of TCP's sockets.
var TCPMemMetrics = []measure.MetricDoc{
	{Names: "tcp_mem_low tcp_mem_pressure tcp_mem_high", Units: "pages",
		Source: "/proc/sys/net/ipv4/tcp_mem",
		Meaning: "pages of all TCP sockets up to which the kernel does not intervene; from " +
			"which it is under memory pressure; and the maximum. Only the first network " +
			"namespace shows them"},
}
