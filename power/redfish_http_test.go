// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// slashed is a BMC that has its resources at paths with a slash, and sends there.
func slashed(t *testing.T, code int, to func(r *http.Request, asked int) string) (url string, asked *atomic.Int32) {
	t.Helper()
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	asked = new(atomic.Int32)
	bmc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if u, p, _ := r.BasicAuth(); u != "admin" || p != "s3cret" {
			t.Errorf("%s is asked for without the password", r.URL)
		}
		if body, ok := mockups[strings.TrimSuffix(r.URL.Path, "/")]; ok && strings.HasSuffix(r.URL.Path, "/") {
			w.Write([]byte(body))
			return
		}
		w.Header().Set("Location", to(r, int(n)))
		w.WriteHeader(code)
	}))
	t.Cleanup(bmc.Close)
	return bmc.URL, asked
}

func TestRedfishSendsToTheSlash(t *testing.T) {
	for name, to := range map[string]func(r *http.Request, asked int) string{
		"path":    func(r *http.Request, _ int) string { return r.URL.Path + "/" },
		"address": func(r *http.Request, _ int) string { return "http://" + r.Host + r.URL.Path + "/" },
		"relative": func(r *http.Request, _ int) string {
			return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] + "/"
		},
	} {
		for _, code := range []int{301, 308, 302, 307} {
			url, asked := slashed(t, code, to)
			src := mustOpen(t, "redfish="+url+"?insecure=true")
			n := asked.Load()
			for range 3 {
				if v, err := readOne(t, src); err != nil || v != 374_250_000 {
					t.Errorf("%s, %d: %v, %v", name, code, v, err)
				}
			}
			if got := asked.Load() - n; got != 3 {
				t.Errorf("%s, %d: 3 readings take %d requests: it is sent there each time", name, code, got)
			}
		}
	}
}

func TestRedfishSendsElsewhere(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another was asked for %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		code int
		to   func(r *http.Request, asked int) string
		say  string
	}{
		"another port": {301, func(r *http.Request, _ int) string { return other.URL + r.URL.Path + "/" },
			"does not get the password"},
		"another port, 308": {308, func(r *http.Request, _ int) string { return other.URL + r.URL.Path + "/" },
			"does not get the password"},
		"another host": {301, func(r *http.Request, _ int) string {
			return "http://localhost" + r.Host[strings.LastIndexByte(r.Host, ':'):] + r.URL.Path + "/"
		}, "does not get the password"},
		"no scheme": {301, func(r *http.Request, _ int) string {
			return "//" + strings.TrimPrefix(other.URL, "http://") + r.URL.Path + "/"
		}, "does not get the password"},
		"https": {301, func(r *http.Request, _ int) string { return "https://" + r.Host + r.URL.Path + "/" },
			"to https"},
		"a user": {301, func(r *http.Request, _ int) string { return "http://x@" + r.Host + r.URL.Path + "/" },
			"does not get the password"},
		"round and round": {301, func(r *http.Request, n int) string { return fmt.Sprintf("/x%d", n) }, "and so on"},
		"nowhere":         {301, func(*http.Request, int) string { return "" }, "no address"},
		"a login":         {302, func(*http.Request, int) string { return "/login.html" }, "logging in"},
		"a choice":        {303, func(*http.Request, int) string { return "/ui" }, "logging in"},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := slashed(t, c.code, c.to)
			_, err := open(t, "redfish="+url+"?insecure=true")
			if err == nil || !strings.Contains(err.Error(), c.say) || fixOf(err) == "" ||
				strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v, fix %q; want %q", err, fixOf(err), c.say)
			}
			if n := asked.Load(); n > 2 {
				t.Errorf("it is asked %d times", n)
			}
		})
	}
}

// Every status has a fix of its own, or is to be reported.
func TestRedfishStatuses(t *testing.T) {
	var status atomic.Int32
	bmc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(bmc.Close)
	for code, want := range map[int]string{
		300: "target", 304: "target", 400: "plain GET", 401: "ZCBENCH_REDFISH_PASSWORD", 403: "role", 404: "address",
		405: "Redfish service", 406: "Redfish service",
		407: "NO_PROXY", 408: "again", 410: "address", 412: "plain GET", 415: "Redfish service", 418: "report it",
		421: "certificate", 426: "https://", 428: "plain GET",
		429: "too often", 500: "its log", 501: "ipmi", 502: "in a minute", 503: "in a minute", 504: "in a minute",
		507: "its log"} {
		status.Store(int32(code))
		if _, err := open(t, "redfish="+bmc.URL+"?insecure=true"); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprint(code)) || !strings.Contains(fixOf(err), want) {
			t.Errorf("%d: %v, fix %q; want %q", code, err, fixOf(err), want)
		}
	}
}
