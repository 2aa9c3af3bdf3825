// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

var redfishKind = sourceKind{oneMachine: true, summary: "the BMC over Redfish (EnvironmentMetrics, else Power)",
	example: "redfish=https://bmc.example?secrets=FILE",
	options: []string{"secrets", "ca", "insecure", "chassis", "meter"},
	reaches: asksWithSecrets(func(s Spec) string { return redfishURL(s.Target) }, "ca"),
	check:   checkRedfish,
	open:    func(s Spec) (Source, error) { return openRedfish(s) }}

func checkRedfish(s Spec) error {
	if err := needTarget("the BMC's address")(s); err != nil {
		return err
	}
	u, err := url.Parse(redfishURL(s.Target))
	switch {
	case err != nil || u.Host == "":
		// not repeated: it may hold a password
		return errors.New("the target is not an address such as https://bmc.example")
	case u.User != nil:
		return errors.New("put no user or password into the address: set ZCBENCH_REDFISH_USER and " +
			"ZCBENCH_REDFISH_PASSWORD, or the option secrets=FILE")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("scheme %q: must be https", u.Scheme)
	}
	if m := s.Options.Get("meter"); s.Options.Has("meter") && (!strings.HasPrefix(m, "/") ||
		s.Options.Has("chassis")) {
		return errors.New("meter must be the path of a resource on the BMC, such as " +
			"/redfish/v1/Chassis/1/Power#/PowerControl/0, and chassis is not given beside it")
	}
	insecure, err := redfishInsecure(s)
	if err == nil && u.Scheme == "http" && !insecure {
		return errors.New("http sends user and password in the clear: use https, or set insecure=true")
	}
	return err
}

// redfishInsecure reports whether the user waives that the BMC proves who it is,
// and that nobody listens.
func redfishInsecure(s Spec) (bool, error) {
	switch v := s.Options.Get("insecure"); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("insecure=%q: must be true or false", v)
	}
}

func redfishURL(target string) string {
	if !strings.Contains(target, "://") {
		target = "https://" + target
	}
	return strings.TrimRight(target, "/")
}

// redfish reads a chassis's EnvironmentMetrics.PowerWatts.Reading (DMTF DSP0266,
// EnvironmentMetrics 1.0) or, on older BMCs, the PowerControl of its Power that is the
// whole's; or what the user names.
type redfish struct {
	info       info
	base       string
	path       string // of the resource with the reading
	parse      func([]byte) (redfishReading, error)
	user, pass string
	client     *http.Client
	moved      map[string]string // where a path turned out to be, as a URL on the same host
	unread     int               // chassis that could not be asked for their meters
}

type redfishReading struct {
	watts    float64
	averages time.Duration // 0: not said
	from     string        // what the BMC took it from
	state    string        // what the BMC says of the meter, if that is not that it works
}

func openRedfish(s Spec) (*redfish, error) {
	if err := checkRedfish(s); err != nil { // a spec need not come from ParseSpec
		return nil, err
	}
	sec, err := secretsOf(s)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := redfishTLS(s)
	if err != nil {
		return nil, err
	}
	r := &redfish{base: redfishURL(s.Target), user: sec.get("user"), pass: sec.get("password"),
		info: info{Name: s.String(), Scope: scopeBoard, MinInterval: time.Second, Averages: s.averages(),
			Uncertainty: s.declared(0.05),
			Channels:    []channel{{Name: "board", Kind: power, Scope: scopeBoard, Resolution: 1}}},
		moved: map[string]string{},
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConns: 1,
			Proxy: http.ProxyFromEnvironment},
			// A redirect could carry the password to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	ctx, cancel := context.WithTimeout(context.Background(), 4*readTime)
	defer cancel()
	m, err := r.find(ctx, s.Options.Get("chassis"), s.Options.Get("meter"))
	if err != nil {
		r.Close()
		return nil, err
	}
	r.use(m)
	return r, nil
}

func redfishTLS(s Spec) (*tls.Config, error) {
	insecure, err := redfishInsecure(s)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{InsecureSkipVerify: insecure}
	if path := s.Options.Get("ca"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the certificate authority: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate in PEM form", path)
		}
	}
	return c, nil
}

func (r *redfish) decode(ctx context.Context, path string, v any) error {
	b, err := r.get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: not JSON: %w", path, err)
	}
	return nil
}

func (r *redfish) Info() info { return r.info }

func (r *redfish) Read(ctx context.Context, v []int64) error {
	b, err := r.get(ctx, r.path)
	if err != nil {
		return err
	}
	reading, err := r.parse(b)
	if err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	r.doubt(reading)
	v[0], err = micro(reading.watts)
	return err
}

func (r *redfish) Close() error {
	r.client.CloseIdleConnections()
	return nil
}
