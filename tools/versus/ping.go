// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results/stat"
)

// Echoes are what a run of ping says: how long the far end's kernel takes to answer. No process is
// woken up there, and over veth the answer is made within the sender's own call: a reference for
// round trips between two programs, and no rival.
type Echoes struct {
	Count int     `json:"count"` // that were answered
	MinUs float64 `json:"min_us"`
	AvgUs float64 `json:"avg_us"`
	P50Us float64 `json:"p50_us"` // to a microsecond, as ping writes them
	MaxUs float64 `json:"max_us"`
}

// How ping is told to ask: the next echo when the last one has come back, as round trips are made
// with one in flight. 18 bytes, as of udp-rr; below 16 ping has no room for a time.
const (
	pingEchoes = 5000
	pingBytes  = 18
	pingLimit  = 10 * time.Second
)

func pingLine(program, addr string) []string {
	return []string{"env", "LC_ALL=C", program, "-n", "-A", "-c", strconv.Itoa(pingEchoes), "-s",
		strconv.Itoa(pingBytes),
		"-w", strconv.Itoa(int(pingLimit / time.Second)), addr}
}

// ping asks for echoes over the pair, from the sender's CPUs.
func (o *options) ping(ctx context.Context, pair *veth.Pair) (e Echoes, err error) {
	limited, cancel := context.WithTimeout(ctx, pingLimit+slack)
	defer cancel()
	p, err := startIn(limited, pair.TG.Netns, o.nice, o.tools.SenderCPUs,
		pingLine(o.tools.Ping, pair.SUT.IPv4.String()))
	if err == nil {
		err = p.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return e, context.Cause(ctx)
	case err != nil && p != nil:
		return e, fmt.Errorf("ping: %w; it said: %s", errors.Join(err, context.Cause(limited)), p.says())
	case err != nil:
		return e, fmt.Errorf("ping: %w", err)
	}
	return parsePing(p.stdout.Bytes())
}

// parsePing reads what ping of iputils wrote: a line for each echo, and its summary.
func parsePing(text []byte) (e Echoes, err error) {
	var ms []float64
	var summary []float64 // min, avg, max, mdev
	received := -1
	for line := range strings.Lines(string(bytes.ToValidUTF8(text, nil))) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, " packets transmitted, "):
			if received, err = pingReceived(line); err != nil {
				return e, pingError(line)
			}
		case strings.HasPrefix(line, "rtt min/avg/max/mdev = "):
			if summary, err = pingSummary(line); err != nil {
				return e, pingError(line)
			}
		case strings.Contains(line, " time=") && !strings.HasSuffix(line, "(DUP!)"):
			_, v, _ := strings.Cut(line, " time=")
			number, ok := strings.CutSuffix(v, " ms")
			t, err := strconv.ParseFloat(number, 64)
			if !ok || err != nil || !(t >= 0 && t < 1e6) {
				return e, pingError(line)
			}
			ms = append(ms, t)
		}
	}
	const rounded = .0011 // ms
	switch {
	case received < 0 || summary == nil:
		return e, errors.New("read what ping wrote: it has no summary: want ping of iputils (--ping '' leaves it out)")
	case len(ms) != received || len(ms) == 0:
		return e, fmt.Errorf("read what ping wrote: %d echoes, and %d lines with a time", received, len(ms))
	case summary[0] > summary[1]+rounded || summary[1] > summary[2]+rounded:
		return e, fmt.Errorf("read what ping wrote: min %g, avg %g, max %g ms", summary[0], summary[1], summary[2])
	}
	p50 := stat.Median(ms)
	if p50 < summary[0]-rounded || p50 > summary[2]+rounded {
		return e, fmt.Errorf("read what ping wrote: half of the echoes took up to %g ms, but min is %g and max %g", p50,
			summary[0], summary[2])
	}
	return Echoes{Count: received, MinUs: 1e3 * summary[0], AvgUs: 1e3 * summary[1], P50Us: 1e3 * p50,
		MaxUs: 1e3 * summary[2]}, nil
}

func pingError(line string) error {
	return fmt.Errorf("read what ping wrote: %s", plaintext.Line(fmt.Sprintf("%.100q", line)))
}

// pingReceived reads "5 packets transmitted, 5 received, 0% packet loss, time 4ms".
func pingReceived(line string) (n int, err error) {
	_, rest, _ := strings.Cut(line, " packets transmitted, ")
	number, _, ok := strings.Cut(rest, " received")
	if n, err = strconv.Atoi(number); err == nil && (!ok || n < 0) {
		err = strconv.ErrSyntax
	}
	return n, err
}

// pingSummary reads "rtt min/avg/max/mdev = 0.004/0.005/0.079/0.002 ms, ipg/ewma 0.011/0.005 ms".
func pingSummary(line string) (ms []float64, err error) {
	_, rest, _ := strings.Cut(line, " = ")
	rest, _, ok := strings.Cut(rest, " ms")
	if !ok {
		return nil, strconv.ErrSyntax
	}
	for word := range strings.SplitSeq(rest, "/") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(v) || v < 0 || v > 1e6 {
			return nil, strconv.ErrSyntax
		}
		ms = append(ms, v)
	}
	if len(ms) != 4 {
		return nil, strconv.ErrSyntax
	}
	return ms, nil
}

// medianEchoes computes the medians of runs.
func medianEchoes(runs []Echoes) Echoes {
	of := func(get func(Echoes) float64) float64 {
		var all []float64
		for _, r := range runs {
			all = append(all, get(r))
		}
		return stat.Median(all)
	}
	return Echoes{Count: pingEchoes, MinUs: of(func(e Echoes) float64 { return e.MinUs }),
		AvgUs: of(func(e Echoes) float64 { return e.AvgUs }),
		P50Us: of(func(e Echoes) float64 { return e.P50Us }), MaxUs: of(func(e Echoes) float64 { return e.MaxUs })}
}

// pingNote explains the row.
func pingNote(w io.Writer) {
	fmt.Fprintf(w, "\nping: echoes of %d bytes on the same link, from the sender's CPU, in turn with the pairs "+
		"(medians of the runs). The kernel answers them,\n"+
		"without a process at the far end: a reference for what the link and the stack take, and no rival.\n",
		pingBytes)
}
