// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var ptdaemonKind = sourceKind{summary: "SPEC PTDaemon, which talks to a power analyzer",
	example: "ptdaemon=meterhost:8888",
	reaches: asks(func(s Spec) string { return withPort(s.Target, ptdaemonPort) }),
	check:   needAddress("the daemon's address"),
	open:    func(s Spec) (Source, error) { return openPTDaemon(s) }}

// ptdaemonPort is where the daemon listens unless told otherwise.
const ptdaemonPort = "8888"

// ptdaemonUncertainty is the most that SPECpower and MLPerf Power accept.
const ptdaemonUncertainty = 0.01

// ptdaemon is a client of SPEC PTDaemon: lines that end in CR LF. Measuring is
// begun by "Go", once a second; "RL" then answers "Last N samples" and the N
// log lines not read before.
type ptdaemon struct {
	info info
	line lineClient
	mark string

	// asks is set as long as the daemon tells its uncertainty and the user has not
	// given one; said is the last it told, as a share.
	asks bool
	said float64
}

func openPTDaemon(s Spec) (*ptdaemon, error) {
	p := &ptdaemon{asks: s.Options.Get("uncertainty") == "", mark: fmt.Sprintf("zcbench_%d", time.Now().Unix()),
		info: info{Name: s.String(), Scope: ScopeWall, MinInterval: time.Second,
			Averages:    max(time.Second, s.averages()),
			Uncertainty: s.declared(ptdaemonUncertainty),
			Channels:    []channel{{Name: "wall", Kind: power, Scope: ScopeWall}}}}
	p.line = lineClient{addr: withPort(s.Target, ptdaemonPort), ending: "\r\n", hello: p.hello}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	if err := p.line.connect(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// hello greets the daemon and begins to measure.
func (p *ptdaemon) hello(ctx context.Context) error {
	say := func(question string) (string, error) { return p.line.exchange(ctx, question) }
	answer, err := say("Hello")
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", p.line.addr, plainTimeout(err))
	case !strings.HasPrefix(answer, "Hello, PTDaemon"):
		return fmt.Errorf("%s answers Hello with %q: not a PTDaemon", p.line.addr, short(answer))
	}
	if answer, err = say("Identify"); err != nil {
		return fmt.Errorf("%s: Identify: %w", p.line.addr, plainTimeout(err))
	}
	p.info.Device = shortened(answer, mostName)
	if answer, err = say("Go,1000,0," + p.mark); err != nil {
		return fmt.Errorf("%s: Go: %w", p.line.addr, plainTimeout(err))
	}
	if !strings.HasPrefix(answer, "Starting") {
		return fmt.Errorf("%s: Go: the daemon says %q", p.line.addr, short(answer))
	}
	return nil
}

func (p *ptdaemon) Info() info { return p.info }

// LastUncertainty returns the uncertainty that the daemon gave for the last reading.
func (p *ptdaemon) LastUncertainty() float64 { return p.said }

// Read takes the newest of the lines that were logged since the last Read. None
// is no error by itself: daemon and sampler run at the same rate.
func (p *ptdaemon) Read(ctx context.Context, v []int64) error {
	p.said = 0
	if err := p.readLines(ctx, v); err != nil {
		return err
	}
	if v[0] != none && p.asks {
		p.assess(ctx)
	}
	return nil
}

// assess asks how uncertain the readings are. The daemon works that out from the
// analyzer's ranges. A daemon that does not say, or not as a percentage, is not
// asked again: the reading stands, with what is declared for all.
func (p *ptdaemon) assess(ctx context.Context) {
	answer, err := p.line.ask(ctx, "Uncertainty")
	if err == nil {
		p.said, err = parsePTDUncertainty(answer)
	}
	p.asks = err == nil
}

// parsePTDUncertainty reads "Uncertainty,0.41%" or "Uncertainty 0.41%, ...": the
// first number, and only if it is marked as a percentage, because a bare 0.41
// may be a share.
func parsePTDUncertainty(s string) (float64, error) {
	rest, ok := strings.CutPrefix(s, "Uncertainty")
	number, _, percent := strings.Cut(strings.TrimLeft(rest, ", :="), "%")
	u, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || !percent || err != nil || !(u > 0 && u < 100) {
		return 0, fmt.Errorf("%q is not of the form \"Uncertainty,N%%\"", short(s))
	}
	return u / 100, nil
}

func (p *ptdaemon) readLines(ctx context.Context, v []int64) error {
	answer, err := p.line.ask(ctx, "RL")
	if err != nil {
		return err
	}
	n, err := lastSamples(answer)
	if err != nil {
		p.line.drop()
		return err
	}
	for range n {
		text, err := p.line.more(ctx)
		if err != nil {
			return err
		}
		w, err := parsePTDLine(text)
		if err != nil {
			p.line.drop()
			return err
		}
		if v[0], err = micro(w); err != nil {
			return err
		}
	}
	return nil
}

// lastSamples reads the first line of the answer to RL, "Last 3 samples".
func lastSamples(s string) (int, error) {
	f := strings.Fields(s)
	if len(f) == 3 && f[0] == "Last" && strings.HasPrefix(f[2], "sample") {
		if n, err := strconv.Atoi(f[1]); err == nil && n >= 0 && n < 100000 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("RL: %q is not of the form \"Last N samples\"", short(s))
}

// parsePTDLine reads the watts of a log line: pairs of name and value, such as
// "Time,01-22-2021 15:05:14.313,Watts,22.970000,Volts,227.370000,...". -1 is no
// reading.
func parsePTDLine(s string) (float64, error) {
	f := strings.Split(s, ",")
	if n := len(slices.DeleteFunc(slices.Clone(f), func(w string) bool { return w != "Watts" })); n > 1 {
		return 0, fmt.Errorf("%q has the watts of %d channels, and does not say how they relate: let the daemon "+
			"use one channel of the analyzer", short(s), n)
	}
	for i := 0; i+1 < len(f); i += 2 {
		if f[i] != "Watts" {
			continue
		}
		w, err := strconv.ParseFloat(strings.TrimSpace(f[i+1]), 64)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a number of watts", short(f[i+1]))
		case w == -1:
			return 0, errNoReading
		}
		return w, nil
	}
	return 0, fmt.Errorf("%q is not a log line of PTDaemon", short(s))
}

// Close ends the measurement that this client began.
func (p *ptdaemon) Close() error {
	if p.line.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := p.line.ask(ctx, "Stop")
	p.line.drop()
	return err
}

// mostName bounds what an instrument says it is, bytes: it goes into every record.
const mostName = 200

// short keeps what an instrument says fit for a message.
func short(s string) string { return shortened(s, 60) }

func shortened(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '.'
		}
		return c
	}, s)
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
