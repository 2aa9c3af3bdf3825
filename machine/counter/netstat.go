// SPDX-License-Identifier: MIT

package counter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
		file, err := kernelfile.Open(fs.procPath("thread-self", f.path))
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

// netstatDelta is a counter that changed between two readings.
type netstatDelta struct {
	Name, Source string
	Delta        int64
	Flag         string // why to doubt it; empty is good
}

// netstatGauges are the values that may fall without anything being wrong.
var netstatGauges = map[string]bool{
	"IpForwarding": true, "IpDefaultTTL": true, "TcpCurrEstab": true, "TcpMaxConn": true,
	"TcpRtoAlgorithm": true, "TcpRtoMin": true, "TcpRtoMax": true,
}

// netstatBetween returns the counters that changed, by name. One that fell
// although it counts is flagged; where a wrap of a 32-bit counter explains the
// fall, Delta is what it then grew by.
func netstatBetween(before, after Netstat) []netstatDelta {
	var out []netstatDelta
	for name, a := range after {
		b, ok := before[name]
		if !ok || a.Value == b.Value {
			continue
		}
		d := netstatDelta{Name: name, Source: a.Source, Delta: int64(a.Value - b.Value)}
		if d.Delta < 0 && !netstatGauges[name] {
			d.Delta, d.Flag = fallen(b.Value, a.Value)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b netstatDelta) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Grew computes by how much a counter grew that is read as 64 bits; flag says why to doubt it.
func Grew(before, after uint64) (delta int64, flag string) {
	if after < before {
		return fallen(before, after)
	}
	if delta = int64(after - before); delta < 0 {
		flag = "the counter jumped: not used"
	}
	return delta, flag
}

// Grew32 computes by how much a counter grew that the kernel keeps in 32 bits.
func Grew32(before, after uint64) int64 { return int64(wrap32(before, after)) }

// fallen explains a counter that is lower than before. Only a fall from the top
// quarter of 32 bits to the bottom one is taken for a wrap.
func fallen(before, after uint64) (int64, string) {
	const quarter = 1 << 30
	if before < 1<<32 && before >= 3*quarter && after < quarter {
		return int64(wrap32(before, after)), "wrapped at 32 bits"
	}
	return int64(after - before), "the counter fell: it was reset in the window"
}

// NetstatMetrics describe the counters of the protocols.
var NetstatMetrics = []measure.MetricDoc{
	{Names: "netstat_NAME",
		Units: "*", Source: "/proc/net/netstat; /proc/net/snmp; /proc/net/snmp6",
		Meaning: "/proc/net/snmp, snmp6 and netstat of the end's network namespace"},
}
