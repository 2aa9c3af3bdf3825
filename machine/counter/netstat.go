// SPDX-License-Identifier: MIT

package counter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// The files of Netstat, below /proc/thread-self: /proc/self would be the
// namespace of the process' first thread, not the caller's.
const (
	snmpFile    = "net/snmp"
	netstatFile = "net/netstat"
	snmp6File   = "net/snmp6"
)

// Netstat holds the protocol counters of one network namespace by the names
// that nstat(8) prints: "TcpRetransSegs", "TcpExtTCPRcvCoalesce",
// "Ip6InReceives". Values are as printed: some are gauges, and one,
// TcpMaxConn, is negative.
type Netstat map[string]NetstatValue

// NetstatValue is one counter and the file that it stands in.
type NetstatValue struct {
	Value  uint64 // two's complement of a negative number
	Source string // "/proc/net/snmp", "/proc/net/netstat" or "/proc/net/snmp6"
}

// ReadNetstat reads snmp, netstat and snmp6 of the calling thread's network
// namespace (net/ipv4/proc.c, net/ipv6/proc.c). A host without IPv6 has no
// snmp6; that is no error.
func ReadNetstat(fs FS) (Netstat, error) {
	n := Netstat{}
	for _, f := range []struct {
		path  string
		parse func(io.Reader, string, Netstat) error
	}{{snmpFile, parsePairs}, {netstatFile, parsePairs}, {snmp6File, parseSNMP6}} {
		file, err := kernelfile.Open(fs.netPath(f.path))
		if f.path == snmp6File && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read protocol counters: %w", mounted(err))
		}
		err = f.parse(file, "/proc/"+f.path, n)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("read protocol counters: %w", err)
		}
	}
	return n, nil
}

// parsePairs reads the format of snmp and netstat: a line of names and a line of
// values, both behind the same "Area:" word. procfs' parser of these files
// knows a fixed set of names and drops every newer one, and its float64 rounds
// byte counts; here the names are data.
func parsePairs(r io.Reader, source string, into Netstat) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		names := strings.Fields(sc.Text())
		if len(names) == 0 {
			continue
		}
		if !sc.Scan() {
			return errors.Join(fmt.Errorf("parse %s: %s has names but no values", source, names[0]), sc.Err())
		}
		values := strings.Fields(sc.Text())
		area, ok := strings.CutSuffix(names[0], ":")
		if !ok || len(values) != len(names) || values[0] != names[0] {
			return fmt.Errorf("parse %s: the lines of %s do not match", source, names[0])
		}
		for i := 1; i < len(names); i++ {
			if err := into.set(area+names[i], values[i], source); err != nil {
				return err
			}
		}
	}
	return sc.Err()
}

// parseSNMP6 reads "Name value" lines.
func parseSNMP6(r io.Reader, source string, into Netstat) error {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 {
			return fmt.Errorf("parse %s: %q is not a name and a value", source, sc.Text())
		}
		if err := into.set(f[0], f[1], source); err != nil {
			return err
		}
	}
	return sc.Err()
}

func (n Netstat) set(name, value, source string) error {
	v, err := strconv.ParseUint(value, 10, 64)
	if s, serr := strconv.ParseInt(value, 10, 64); err != nil && serr == nil {
		v, err = uint64(s), nil
	}
	if err != nil {
		return fmt.Errorf("parse %s: value of %s: %w", source, name, err)
	}
	n[name] = NetstatValue{v, source}
	return nil
}

// netstatGauges are the values that may fall without anything being wrong.
var netstatGauges = map[string]bool{
	"IpForwarding": true, "IpDefaultTTL": true, "TcpCurrEstab": true, "TcpMaxConn": true,
	"TcpRtoAlgorithm": true, "TcpRtoMin": true, "TcpRtoMax": true,
}

// Counts lists the counters by name.
func (n Netstat) Counts() (out []measure.Count) {
	for _, name := range slices.Sorted(maps.Keys(n)) {
		c := measure.Count{Name: name, Metric: "netstat_" + snake(name), Unit: "1", Source: n[name].Source,
			Value: n[name].Value}
		if netstatGauges[name] {
			c.Kind = measure.Gauge
		}
		if strings.HasSuffix(name, "Octets") {
			c.Unit = "bytes"
		}
		out = append(out, c)
	}
	return out
}

// netstat reports the counters that changed, and returns why to doubt some.
func (r *rows) netstat(before, after Netstat) (doubts []string) {
	for _, c := range after.Counts() {
		b, both := before[c.Name]
		delta, flag := c.Since(b.Value)
		switch {
		case !both:
		case delta == 0:
			r.idle = append(r.idle, c.Metric)
		case c.Kind == measure.Gauge:
			r.add(c.Metric, c.Unit, float64(delta), c.Source, "")
		default:
			r.count(c.Metric, c.Unit, float64(delta), c.Source, flag)
		}
		if both && flag != "" {
			doubts = append(doubts, c.Name+": "+flag)
		}
	}
	return doubts
}

// NetstatMetrics describe the counters of the protocols.
var NetstatMetrics = []measure.MetricDoc{
	{Names: "netstat_NAME",
		Units: "*", Source: "/proc/net/netstat; /proc/net/snmp; /proc/net/snmp6",
		Meaning: "/proc/net/snmp, snmp6 and netstat of the end's network namespace"},
}
