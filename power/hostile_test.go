// SPDX-License-Identifier: MIT

package power

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
)

// What an instrument that means harm, or is broken beyond what its protocol
// foresees, may cost: the patience of opening it, and little memory.
const (
	mostMemory = 64 << 20
	mostWords  = 4096 // of an error, bytes
)

// bounded opens a source and reads it once, and returns the error of either.
func bounded(t *testing.T, spec string) error {
	t.Helper()
	s, err := ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	await.Return(t, "it is opened and read, or refused", func() {
		var src Source
		if src, err = Open(s); err != nil {
			return
		}
		defer src.Close()
		err = src.Read(await.Ending(t, readTime), make([]int64, len(src.Info().Channels)))
		if words := len(src.Info().Device); words > mostWords {
			t.Errorf("the device's name has %d bytes", words)
		}
	})
	if err != nil && len(err.Error()) > mostWords {
		t.Errorf("the error has %d bytes: %.200s...", len(err.Error()), err)
	}
	return err
}

// frugal runs f as a subtest, whose own may run beside each other, and fails if
// much memory was in use at once.
func frugal(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer func(usual time.Duration) { readTime = usual }(readTime)
	if readTime = patient; !long.Wanted() {
		readTime = time.Second
	}
	done := make(chan struct{})
	peak := make(chan uint64)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	go func() {
		var m runtime.MemStats
		top := uint64(0)
		for {
			runtime.ReadMemStats(&m)
			top = max(top, m.HeapAlloc)
			select {
			case <-done:
				peak <- top
				return
			default:
			}
			await.Pause("now and then is often enough: what is in use grows for longer", 50*time.Millisecond)
		}
	}()
	t.Run("all", f)
	close(done)
	if top := <-peak; top > before.HeapAlloc+mostMemory {
		t.Errorf("%d MiB were in use, %d before", top>>20, before.HeapAlloc>>20)
	}
}

// endless writes text until nobody reads.
func endless(w io.Writer, text string) {
	for b := []byte(strings.Repeat(text, 1+1<<16/len(text))); ; {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

// A BMC that answers without end, slowly, elsewhere, or with what unpacks to more
// than there is memory.
func TestHostileRedfish(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked for %s, with the header %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	members := func(n int) string {
		return `{"Members": [` + strings.TrimSuffix(strings.Repeat(`{"@odata.id": "/redfish/v1/Chassis/x"},`, n),
			",") + "]}"
	}
	frugal(t, func(t *testing.T) {
		for name, handle := range map[string]http.HandlerFunc{
			"endless body": func(w http.ResponseWriter, _ *http.Request) { endless(w, "[") },
			"endless words": func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, `{"Members": [{"@odata.id": "/`)
				endless(w, "x")
			},
			"gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
				endless(z, strings.Repeat(" ", 1<<16))
			},
			"trickle": func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					io.WriteString(w, " ")
					w.(http.Flusher).Flush()
					await.Pause("a trickle", 100*time.Millisecond)
				}
			},
			"endless header": func(w http.ResponseWriter, _ *http.Request) {
				c, rw, err := w.(http.Hijacker).Hijack()
				if err == nil {
					defer c.Close()
					rw.WriteString("HTTP/1.1 200 OK\r\n")
					endless(rw, "X-Y: "+strings.Repeat("z", 99)+"\r\n")
				}
			},
			"elsewhere": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
			},
			"member there": func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"Members": [{"@odata.id": %q}]}`, elsewhere.URL)
			},
			"member that is a host": func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"Members": [{"@odata.id": %q}]}`, strings.TrimPrefix(elsewhere.URL, "http:"))
			},
			"many members": func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "Chassis") {
					io.WriteString(w, members(20_000))
				}
			},
			"itself": func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, `{"Members": [{"@odata.id": "/redfish/v1/Chassis"}], "Power": {"@odata.id": `+
					`"/redfish/v1/Chassis"}}`)
			},
			"deep": func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, strings.Repeat(`{"Members":[`, 50_000))
			},
			"not UTF-8": func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "{\"Members\": [{\"@odata.id\": \"/\xff\x00\x1b]0;x\x07\"}]}")
			},
			"numbers": func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, `{"Members": [{"@odata.id": "/c"}], "Power": {"@odata.id": "/p"}, `+
					`"PowerControl": [{"PowerConsumedWatts": 1e309}]}`)
			},
			"no HTTP": func(w http.ResponseWriter, _ *http.Request) {
				c, rw, err := w.(http.Hijacker).Hijack()
				if err == nil {
					defer c.Close()
					endless(rw, "\x00\xff")
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if name == "trickle" {
					long.Test(t)
				}
				bmc := httptest.NewServer(handle)
				defer bmc.Close()
				defer bmc.CloseClientConnections()
				err := bounded(t, "redfish="+bmc.URL+"?insecure=true")
				if err == nil || strings.Contains(err.Error(), "s3cret") || strings.ContainsAny(err.Error(),
					"\x00\x07\x1b") {
					t.Errorf("%.300v", err)
				}
			})
		}
	})
}

// What an instrument says it is goes into records, so it is short and plain.
func TestHostileNames(t *testing.T) {
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	name := "\x1b]0;x\x07" + strings.Repeat("é", 100_000)
	bmc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"Members": [{"@odata.id": "/c"}], "EnvironmentMetrics": {"@odata.id": "/e"}, `+
			`"PowerWatts": {"Reading": 7, "DataSourceUri": "\u001b%s"}}`, strings.Repeat("é", 100_000))
	}))
	defer bmc.Close()
	meter := serveLines(t, "\n", func(line string) string {
		if line == "*IDN?" {
			return name[:2000]
		}
		return "7"
	})
	for _, spec := range []string{"redfish=" + bmc.URL + "?insecure=true", "scpi=" + meter.addr} {
		src := mustOpen(t, spec)
		if d := src.Info().Device; len(d) > 3*mostName || !strings.Contains(d, "éé") ||
			strings.ContainsAny(d, "\x07\x1b") || !utf8.ValidString(d) {
			t.Errorf("%s: %d bytes: %.300q", spec, len(d), d)
		}
		if v, err := readOne(t, src); err != nil || v != 7e6 {
			t.Errorf("%s: %v, %v", spec, v, err)
		}
	}
}

// Meters that speak lines: without end, slowly, out of turn, of nothing.
func TestHostileLines(t *testing.T) {
	hello := func(then func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) {
			in := bufio.NewReader(c)
			for _, answer := range []string{"Hello, PTDaemon here!", "Identify,X", "Starting"} {
				if _, err := in.ReadString('\n'); err != nil {
					return
				}
				io.WriteString(c, answer+"\r\n")
			}
			if _, err := in.ReadString('\n'); err == nil {
				then(c)
			}
		}
	}
	trickle := func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, "1"); err != nil {
				return
			}
			await.Pause("a trickle", 100*time.Millisecond)
		}
	}
	say := func(text string) func(net.Conn) {
		return func(c net.Conn) { io.WriteString(c, text); io.Copy(io.Discard, c) }
	}
	frugal(t, func(t *testing.T) {
		for _, x := range []struct {
			name, kind string
			handle     func(net.Conn)
		}{
			{"endless line", "scpi", func(c net.Conn) { endless(c, "1") }},
			{"trickle", "scpi", trickle},
			{"silence", "scpi", func(c net.Conn) { io.Copy(io.Discard, c) }},
			{"lines out of turn", "scpi", func(c net.Conn) { endless(c, "\x1b]0;x\x07\n") }},
			{"not UTF-8", "scpi", say("\xff\xfe\x00\n\xff\n")},
			{"endless greeting", "ptdaemon", func(c net.Conn) { endless(c, "Hello, ") }},
			{"slow greeting", "ptdaemon", trickle},
			{"99999 samples", "ptdaemon", hello(say("Last 99999 samples\r\n"))},
			{"endless samples", "ptdaemon",
				hello(func(c net.Conn) { io.WriteString(c, "Last 99999 samples\r\n"); endless(c, "Time,x\r\n") })},
			{"an endless sample", "ptdaemon",
				hello(func(c net.Conn) { io.WriteString(c, "Last 1 samples\r\n"); endless(c, "Time,") })},
			{"negative samples", "ptdaemon", hello(say("Last -1 samples\r\n"))},
			{"samples beyond counting", "ptdaemon", hello(say("Last 99999999999999999999 samples\r\n"))},
			{"escapes", "ptdaemon", hello(say("\x1b[2J\x1b]0;x\x07\r\n"))},
		} {
			t.Run(x.kind+" "+x.name, func(t *testing.T) {
				t.Parallel()
				if err := bounded(t, x.kind+"="+listenRaw(t, x.handle)); err == nil ||
					strings.ContainsAny(err.Error(), "\x00\x07\x1b") {
					t.Errorf("%.300v", err)
				}
			})
		}
	})
}

// listenRaw lets handle speak to whoever connects.
func listenRaw(t *testing.T, handle func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go func() { handle(c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

// Units that answer SNMP with what is none, with what was not asked, or with
// thousands of answers to one question.
func TestHostileSNMP(t *testing.T) {
	echo := func(change func([]byte) []byte) func([]byte) [][]byte {
		return func(b []byte) [][]byte { return [][]byte{change(append([]byte(nil), b...))} }
	}
	frugal(t, func(t *testing.T) {
		for name, answer := range map[string]func([]byte) [][]byte{
			"silence":      func([]byte) [][]byte { return nil },
			"nothing":      func([]byte) [][]byte { return [][]byte{{}} },
			"garbage":      func([]byte) [][]byte { return [][]byte{[]byte("\x1b]0;x\x07 what?")} },
			"the question": echo(func(b []byte) []byte { return b }),
			"half of it":   echo(func(b []byte) []byte { return b[:len(b)/2] }),
			"long lengths": echo(func(b []byte) []byte { b[1] = 0x84; return append(b, 0xff, 0xff, 0xff, 0xff) }),
			"endless length": func([]byte) [][]byte {
				return [][]byte{{0x30, 0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1, 1}}
			},
			"deep":   func([]byte) [][]byte { return [][]byte{[]byte(strings.Repeat("\x30\x82\xff\xff", 15_000))} },
			"64 KiB": func([]byte) [][]byte { return [][]byte{make([]byte, 65_000)} },
			"a flood": func(b []byte) (all [][]byte) {
				for range 5000 {
					all = append(all, append([]byte(nil), b...))
				}
				return all
			},
			"a response of no variables": func(b []byte) [][]byte { return [][]byte{snmpResponse(b, nil)} },
			"a response of other types": func(b []byte) [][]byte {
				return [][]byte{snmpResponse(b, []byte("\x30\x0c\x06\x08\x2b\x06\x01\x04\x01\x01\x01\x01\x05\x00"))}
			},
			"a response with a cut value": func(b []byte) [][]byte {
				return [][]byte{snmpResponse(b, []byte("\x30\x0e\x06\x08\x2b\x06\x01\x04\x01\x01\x01\x01\x02\x7f\x01"))}
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if err := bounded(t, "snmp=oid@"+serveUDP(t, answer)+"?oid=.1.3.6.1.4.1.1.1.1.1"); err == nil ||
					strings.ContainsAny(err.Error(), "\x00\x07\x1b") {
					t.Errorf("%.300v", err)
				}
			})
		}
	})
}

// snmpResponse is an answer to a question, with the variables as they are.
func snmpResponse(question, variables []byte) []byte {
	tlv := func(tag byte, b ...byte) []byte { return append([]byte{tag, byte(len(b))}, b...) }
	// 30 len 02 01 version 04 len community A0 len 02 len request-id
	at := 2 + 3
	community := question[at : at+2+int(question[at+1])]
	pdu := question[at+len(community):]
	id := pdu[2 : 4+int(pdu[3])]
	body := append(append([]byte(nil), id...), 2, 1, 0, 2, 1, 0)
	body = append(body, tlv(0x30, variables...)...)
	head := append([]byte{2, 1, question[4]}, community...)
	return tlv(0x30, append(head, tlv(0xa2, body...)...)...)
}

// serveUDP answers datagrams.
func serveUDP(t *testing.T, answer func([]byte) [][]byte) (addr string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 65536)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			for _, a := range answer(b[:n]) {
				c.WriteTo(a, from)
			}
		}
	}()
	return c.LocalAddr().String()
}

// FuzzRedfish: whatever a BMC says is a plausible figure or an error.
func FuzzRedfish(f *testing.F) {
	for _, body := range mockups {
		f.Add([]byte(body))
	}
	f.Add([]byte(`{"PowerControl": [{"PowerConsumedWatts": 1e308, "PowerMetrics": {"IntervalInMin": 1e300}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte) (redfishReading, error){parseEnvironmentMetrics, parsePower} {
			r, err := parse(b)
			if err != nil {
				continue
			}
			if v, err := micro(r.watts); err == nil && (v < 0 || r.watts < 0) || r.averages < 0 {
				t.Errorf("%q: %+v, %d", b, r, v)
			}
		}
	})
}
