// SPDX-License-Identifier: MIT

package power

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// lineServer answers lines as handle says; "" answers nothing, "\x00" drops the
// connection.
type lineServer struct {
	addr  string
	conns atomic.Int32
}

func serveLines(t testing.TB, ending string, handle func(line string) string) *lineServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &lineServer{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if !strings.HasSuffix(line, ending) {
						return // PTDaemon takes CR LF only
					}
					answer := handle(strings.TrimSuffix(line, ending))
					if answer == "\x00" {
						return
					}
					if answer != "" {
						fmt.Fprintf(c, "%s%s", answer, ending)
					}
				}
			}()
		}
	}()
	return s
}

func open(t testing.TB, text string) (Source, error) {
	t.Helper()
	s, err := ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := Open(s)
	if err == nil {
		t.Cleanup(func() { src.Close() })
	}
	return src, err
}

func mustOpen(t testing.TB, text string) Source {
	t.Helper()
	src, err := open(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// A reading that comes may take until the test hangs; one that does not come is waited for as long
// as silence.
const enough, silence = await.Hang, 300 * time.Millisecond

// patience is for a reading whose error says that.
func patience(say string) time.Duration {
	if strings.Contains(say, "in time") {
		return silence
	}
	return enough
}

// readOne is one reading.
func readOne(t *testing.T, src Source) (int64, error) {
	t.Helper()
	return readWithin(t, src, enough)
}

func readWithin(t *testing.T, src Source, limit time.Duration) (int64, error) {
	t.Helper()
	return readUntil(await.Ending(t, limit), src)
}

func readUntil(ctx context.Context, src Source) (int64, error) {
	v := []int64{none}
	err := src.Read(ctx, v)
	return v[0], err
}

const ptdLine = "Time,01-22-2021 15:05:14.313,Watts,%s,Volts,227.370000,Amps,0.204340,PF,0.494400,Mark,zcbench"

// ptd is a PTDaemon whose answer to RL can be set.
func ptd(t testing.TB, rl *atomic.Value, asked *atomic.Value) *lineServer {
	return ptdThatSays(t, rl, asked, func() string { return "Error: Unknown command" })
}

// ptdThatSays is one that also answers Uncertainty.
func ptdThatSays(t testing.TB, rl, asked *atomic.Value, uncertainty func() string) *lineServer {
	return serveLines(t, "\r\n", func(line string) string {
		if asked != nil {
			asked.Store(line)
		}
		switch {
		case line == "Hello":
			return "Hello, PTDaemon here!"
		case line == "Identify":
			return "Identify,WT333E,version=1.9.2-abcdef"
		case strings.HasPrefix(line, "Go,1000,0,zcbench"):
			return "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"
		case line == "Stop":
			return "Stopping untimed measurement"
		case line == "Uncertainty":
			return uncertainty()
		case line == "RL":
			return rl.Load().(string)
		}
		return "Error: Unknown command"
	})
}

func TestPTDaemon(t *testing.T) {
	var rl, asked atomic.Value
	set := func(watts ...string) {
		lines := []string{fmt.Sprintf("Last %d samples", len(watts))}
		for _, w := range watts {
			lines = append(lines, fmt.Sprintf(ptdLine, w))
		}
		rl.Store(strings.Join(lines, "\r\n"))
	}
	set()
	srv := ptd(t, &rl, &asked)
	src := mustOpen(t, "ptdaemon="+srv.addr)
	if d := src.Info().Device; !strings.Contains(d, "WT333E") {
		t.Errorf("device %q", d)
	}
	if v, err := readOne(t, src); err != nil || v != none {
		t.Errorf("no new line: %v, %v; want no value and no error", v, err)
	}
	set("22.970000", "23.125000")
	if v, err := readOne(t, src); err != nil || v != 23_125_000 {
		t.Errorf("%v, %v", v, err)
	}
	for answer, say := range map[string]string{"Last x samples": "Last N samples", "?": "Last N samples",
		"\x00": "closed", "": "no answer in time",
		"Last 1 samples\r\nrubbish": "not a log line", "Last 1 samples\r\n" + fmt.Sprintf(ptdLine,
			"-1.000000"): "no reading",
		"Last 1 samples\r\n" + fmt.Sprintf(ptdLine, "9e99"): "implausible", "Last 2 samples\r\n" + fmt.Sprintf(ptdLine,
			"1"): "no answer in time"} {
		rl.Store(answer)
		if _, err := readWithin(t, src, patience(say)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: error %v, want %q", answer, err, say)
		}
		set("50")
		if v, err := readOne(t, src); err != nil || v != 50e6 {
			t.Errorf("after %q: %v, %v: it does not come back", answer, v, err)
		}
	}
	if srv.conns.Load() < 2 {
		t.Error("it never connected anew")
	}
	src.Close()
	await.Until(t, "its last word is Stop", func() bool { return asked.Load() == "Stop" })
	other := serveLines(t, "\r\n", func(string) string { return "220 mail.example ESMTP" })
	if _, err := open(t, "ptdaemon="+other.addr); err == nil || !strings.Contains(err.Error(), "not a PTDaemon") {
		t.Errorf("another server: %v", err)
	}
}

// What the daemon says of its uncertainty becomes the figure's; without it, or
// in words that leave open what they mean, the declared one stands, and the
// reading all the same. The user's own word counts more.
func TestPTDaemonUncertainty(t *testing.T) {
	var rl, answer atomic.Value
	rl.Store("Last 1 samples\r\n" + fmt.Sprintf(ptdLine, "200"))
	var asked atomic.Int32
	var giveUp atomic.Value // a context.CancelFunc: where no answer comes, the reading's time is over
	srv := ptdThatSays(t, &rl, nil, func() string {
		asked.Add(1)
		words := answer.Load().(string)
		if words == "" {
			giveUp.Load().(context.CancelFunc)()
		}
		return words
	})
	for _, c := range []struct {
		answers, option string
		want            float64 // share of the figure
		asked           int32
	}{
		{"Uncertainty,0.40%|Uncertainty,0.62%,12|Uncertainty 0.25%", "", 0.0062, 3},
		{"Uncertainty,0.0031|Uncertainty,0.40%", "", 0.01, 1},
		{"Error: Unknown command", "", 0.01, 1},
		{"", "", 0.01, 1}, // no answer
		{"Uncertainty,-1%", "", 0.01, 1},
		{"Uncertainty,0.40%", "?uncertainty=0.2%", 0.002, 0},
	} {
		asked.Store(0)
		src := mustOpen(t, "ptdaemon="+srv.addr+c.option)
		tr := Trace{Info: src.Info(), Interval: time.Second}
		words := strings.Split(c.answers, "|")
		for i := range 3 {
			answer.Store(words[min(i, len(words)-1)])
			ctx, cancel := context.WithCancel(await.Context(t))
			giveUp.Store(cancel)
			v, err := readUntil(ctx, src)
			cancel()
			if err != nil || v != 200e6 {
				t.Errorf("%q: %v, %v", c.answers, v, err)
			}
			tr.Samples = append(tr.Samples, sample{AtNs: int64(i) * second, V: []int64{v},
				U: src.(assessor).LastUncertainty()})
		}
		f := Measure(tr, Times{Load: Window{0, 2 * second}, GuardNs: second})
		if f.GrossU == nil || math.Abs(*f.GrossU-200*c.want/math.Sqrt(3)) > 1e-9 || asked.Load() != c.asked {
			t.Errorf("%q%s: %v W, asked %d times; want a limit of %v W, %d", c.answers, c.option, *f.GrossU,
				asked.Load(), 200*c.want, c.asked)
		}
	}
}

func TestSCPI(t *testing.T) {
	var answer atomic.Value
	answer.Store("1.2345E+02")
	srv := serveLines(t, "\n", func(line string) string {
		switch line {
		case "*IDN?":
			return "YOKOGAWA,WT333E,91K000000,F1.04"
		case ":NUMERIC:NORMAL:ITEM3?":
			return ":NUM:NORM:ITEM3 P,1"
		case ":NUMERIC:NORMAL:ITEM1?":
			return ":NUM:NORM:ITEM1 NONE"
		case ":NUMERIC:NORMAL:ITEM2?":
			return "?"
		case ":NUMERIC:NORMAL:VALUE? 3":
			return answer.Load().(string)
		}
		return ""
	})
	src := mustOpen(t, "scpi="+srv.addr+"?uncertainty=0.1%")
	if v, err := readOne(t, src); err != nil || v != 123_450_000 {
		t.Errorf("%v, %v", v, err)
	}
	if i := src.Info(); i.Uncertainty != 0.001 || !strings.Contains(i.Device, "WT333E") {
		t.Errorf("%+v", i)
	}
	for text, say := range map[string]string{"NAN": "no reading", "9.91E+37": "no reading", "Error": "not a number",
		"": "no answer in time", "\x00": "closed", "-3": "implausible",
		strings.Repeat("1", 5000): "the answer has a line"} {
		answer.Store(text)
		if _, err := readWithin(t, src, patience(say)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%.20q: %v, want %q", text, err, say)
		}
		answer.Store("7")
		if v, err := readOne(t, src); err != nil || v != 7e6 {
			t.Errorf("after %.20q: %v, %v", text, v, err)
		}
	}
}

// An answer that comes too late must not be taken for that to a later question.
func TestLateAnswer(t *testing.T) {
	late := make(chan string)
	ctx, cancel := context.WithCancel(await.Context(t))
	defer cancel()
	var asked atomic.Bool
	srv := serveLines(t, "\n", func(line string) string {
		switch line {
		case "*IDN?":
			return "X"
		case ":NUMERIC:NORMAL:ITEM3?":
			return ":NUM:NORM:ITEM3 P,SIGMA"
		case ":NUMERIC:NORMAL:ITEM1?", ":NUMERIC:NORMAL:ITEM2?":
			return "none"
		}
		if !asked.Swap(true) {
			cancel() // the reading's time is over
			return <-late
		}
		return "222"
	})
	src := mustOpen(t, "scpi="+srv.addr)
	if _, err := readUntil(ctx, src); err == nil {
		t.Fatal("no error")
	}
	go func() { late <- "111" }()
	if v, err := readOne(t, src); err != nil || v != 222e6 {
		t.Errorf("%v, %v", v, err)
	}
}

func FuzzPTDLine(f *testing.F) {
	f.Add(fmt.Sprintf(ptdLine, "22.970000"))
	f.Add("Time,,Watts")
	f.Add(",Watts,1")
	f.Fuzz(func(t *testing.T, s string) {
		if w, err := parsePTDLine(s); err == nil && !strings.Contains(s, "Watts") {
			t.Errorf("%q is %v watts", s, w)
		}
	})
}

func FuzzPTDUncertainty(f *testing.F) {
	f.Add("Uncertainty,0.41%,60")
	f.Add("Uncertainty,0.0041")
	f.Fuzz(func(t *testing.T, s string) {
		if u, err := parsePTDUncertainty(s); err == nil && (!(u > 0 && u < 1) || !strings.Contains(s, "%")) {
			t.Errorf("%q is %v", s, u)
		}
	})
}

func FuzzNR3(f *testing.F) {
	f.Add("1.2345E+02")
	f.Add("NAN")
	f.Fuzz(func(t *testing.T, s string) {
		if w, err := parseNR3(s); err == nil && !(w < 9.9e37) {
			t.Errorf("%q is %v", s, w)
		}
	})
}
