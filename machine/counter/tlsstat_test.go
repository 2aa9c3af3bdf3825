// SPDX-License-Identifier: MIT

package counter

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/machine/measure"
)

func TestReadTLSStat(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "thread-self", tlsStatFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadTLSStat(FS{proc: dir}); got != nil || err != nil {
		t.Errorf("not loaded: %v, %v", got, err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("TlsCurrRxDevice                 \t2\nTlsDecryptError                 \t7\n")
	got, err := ReadTLSStat(FS{proc: dir})
	const src = "/proc/net/tls_stat"
	want := []measure.Count{
		{Name: "TlsCurrRxDevice", Metric: "tls_stat_curr_rx_device", Unit: "1", Source: src, Kind: measure.Gauge,
			Value: 2},
		{Name: "TlsDecryptError", Metric: "tls_stat_decrypt_error", Unit: "1", Source: src, Value: 7}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	write("TlsDecryptError many\n")
	if got, err := ReadTLSStat(FS{proc: dir}); err == nil {
		t.Errorf("%v", got)
	}
}
