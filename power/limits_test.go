// SPDX-License-Identifier: MIT

package power

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
)

// An instrument that falls silent, or says a byte now and then, costs the time that it was given:
// when it is read as when it is opened.
func TestInstrumentsCostTheirLimit(t *testing.T) {
	kind.Timed(t)
	defer func(usual time.Duration) { readTime = usual }(readTime)
	type ill struct {
		what string
		Spec
		src Source
	}
	var all []ill
	for _, trickles := range []bool{false, true} {
		for _, opens := range []bool{false, true} {
			fails := new(atomic.Bool)
			fails.Store(!opens)
			for name, text := range failing(t, fails, trickles) {
				s, err := ParseSpec(text)
				if err != nil {
					t.Fatal(err)
				}
				i := ill{what: fmt.Sprintf("%s, which trickles %v, opens %v", name, trickles, opens), Spec: s}
				if opens {
					i.src = mustOpen(t, text)
				}
				all = append(all, i)
			}
			fails.Store(true)
		}
	}
	const grace = 3 * time.Second
	readTime = silence
	var ended sync.WaitGroup
	for _, i := range all {
		ended.Go(func() {
			limit, begun := readTime, time.Now()
			var err error
			if src := i.src; src != nil {
				err = src.Read(await.Ending(t, limit), make([]int64, len(src.Info().Channels)))
			} else {
				limit *= 4 // the most that an opening has
				if src, err = Open(i.Spec); err == nil {
					src.Close()
				}
			}
			if took := time.Since(begun); err == nil || took > limit+grace {
				t.Errorf("%s: %v after %v, it had %v", i.what, err, took, limit)
			}
		})
	}
	await.Return(t, "all have ended", ended.Wait)
}

// failing are specs of instruments of each kind that is asked by a network or a program. They
// answer until fails is set, or, those that are programs, once. From then on they are silent, or
// trickle.
func failing(t *testing.T, fails *atomic.Bool, trickles bool) map[string]string {
	t.Helper()
	drip := func(say func() error) {
		for trickles && say() == nil {
			time.Sleep(50 * time.Millisecond)
		}
	}
	lines := func(ending string, answers map[string]string) string {
		return listenRaw(t, func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if fails.Load() {
					drip(func() error { _, err := io.WriteString(c, "1"); return err })
					io.Copy(io.Discard, c)
					return
				}
				io.WriteString(c, answers[line[:2]]+ending)
			}
		})
	}
	bmc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() {
			drip(func() error {
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				return r.Context().Err()
			})
			<-r.Context().Done()
			return
		}
		io.WriteString(w, `{"Members": [{"@odata.id": "/c"}], "EnvironmentMetrics": {"@odata.id": "/e"}, `+
			`"PowerWatts": {"Reading": 7}}`)
	}))
	t.Cleanup(bmc.Close)
	t.Cleanup(bmc.CloseClientConnections)
	unit, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unit.Close() })
	go func() {
		for b := make([]byte, 1500); ; {
			n, from, err := unit.ReadFrom(b)
			switch {
			case err != nil:
				return
			case fails.Load():
				go drip(func() error { _, err := unit.WriteTo([]byte("1"), from); return err })
			default:
				unit.WriteTo(snmpResponse(b[:n],
					[]byte("\x30\x0d\x06\x08\x2b\x06\x01\x04\x01\x01\x01\x01\x02\x01\x07")), from)
			}
		}
	}()
	program := func(first string) string {
		then := "exec sleep 1000"
		if trickles {
			then = "while :; do printf 1; sleep 0.05; done"
		}
		if fails.Load() {
			first = ""
		}
		path := t.TempDir() + "/program"
		write(t, path, "#!/bin/sh\n"+first+"\n"+then+"\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return map[string]string{
		"scpi": "scpi=" + lines("\n", map[string]string{"*I": "a meter", ":N": "7"}),
		"ptdaemon": "ptdaemon=" + lines("\r\n", map[string]string{"He": "Hello, PTDaemon here!", "Id": "Identify,X",
			"Go": "Starting", "RL": "Last 0 samples"}),
		"redfish": "redfish=" + bmc.URL + "?insecure=true",
		"snmp":    "snmp=oid@" + unit.LocalAddr().String() + "?oid=.1.3.6.1.4.1.1.1.1.1",
		"command": "command=" + program("echo 7"),
		"nvml":    "nvml?helper=" + program(`if [ "$1" = --list ]; then echo GPU; exit; fi; echo 7000`),
	}
}
