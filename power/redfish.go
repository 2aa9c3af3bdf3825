// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

var redfishKind = sourceKind{oneMachine: true, summary: "the BMC over Redfish (EnvironmentMetrics, else Power)", example: "redfish=https://bmc.example?secrets=FILE",
	options: []string{"secrets", "ca", "insecure", "chassis"},
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
		return errors.New("the target is not an address such as https://bmc.example") // not repeated: it may hold a password
	case u.User != nil:
		return errors.New("put no user or password into the address: set ZCBENCH_REDFISH_USER and ZCBENCH_REDFISH_PASSWORD, or the option secrets=FILE")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("scheme %q: must be https", u.Scheme)
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
// EnvironmentMetrics 1.0) or, on older BMCs, the first PowerControl of its Power.
type redfish struct {
	info       Info
	base       string
	path       string // of the resource with the reading
	parse      func([]byte) (redfishReading, error)
	user, pass string
	client     *http.Client
}

type redfishReading struct {
	watts    float64
	averages time.Duration // 0: not said
	from     string        // what the BMC took it from
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
		info: Info{Name: s.String(), Scope: ScopeBoard, MinInterval: time.Second, Uncertainty: s.declared(0.05),
			Channels: []Channel{{Name: "board", Kind: Power, Scope: ScopeBoard, Resolution: 1}}},
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConns: 1, Proxy: http.ProxyFromEnvironment},
			// A redirect could carry the password to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	ctx, cancel := context.WithTimeout(context.Background(), 4*readTime)
	defer cancel()
	if err := r.find(ctx, s.Options.Get("chassis")); err != nil {
		r.Close()
		return nil, err
	}
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

// redfishLink is a reference to another resource.
type redfishLink struct {
	ID string `json:"@odata.id"`
}

// mostChassis bounds how many are asked whether they have a reading: each is a
// request, and what is wrong with it a part of the error.
const mostChassis = 24

// find walks from the chassis collection to the first chassis with a reading.
func (r *redfish) find(ctx context.Context, want string) error {
	var all struct{ Members []redfishLink }
	if err := r.decode(ctx, "/redfish/v1/Chassis", &all); err != nil {
		return err
	}
	var why error
	asked := 0
	for _, m := range all.Members {
		if want != "" && m.ID[strings.LastIndexByte(m.ID, '/')+1:] != want {
			continue
		}
		if asked++; asked > mostChassis {
			why = errors.Join(why, fmt.Errorf("the other %d chassis were not read: choose one with chassis=ID", len(all.Members)-mostChassis))
			break
		}
		err := r.findIn(ctx, m.ID)
		if err == nil {
			return nil
		}
		why = errors.Join(why, err)
	}
	if why == nil {
		why = fmt.Errorf("no such chassis: %s", want)
	}
	return fmt.Errorf("no chassis with a power reading: %w", why)
}

func (r *redfish) findIn(ctx context.Context, chassis string) error {
	var c struct{ EnvironmentMetrics, Power redfishLink }
	if err := r.decode(ctx, chassis, &c); err != nil {
		return err
	}
	why := fmt.Errorf("%s has neither EnvironmentMetrics nor Power", chassis)
	for _, x := range []struct {
		path  string
		parse func([]byte) (redfishReading, error)
	}{{c.EnvironmentMetrics.ID, parseEnvironmentMetrics}, {c.Power.ID, parsePower}} {
		if x.path == "" {
			continue
		}
		b, err := r.get(ctx, x.path)
		if err != nil {
			why = err
			continue
		}
		reading, err := x.parse(b)
		if err != nil {
			why = fmt.Errorf("%s: %w", x.path, err)
			continue
		}
		r.path, r.parse = x.path, x.parse
		r.info.Averages = reading.averages
		r.info.Device = shortened(x.path, mostName)
		if reading.from != "" {
			r.info.Device += ", from " + shortened(reading.from, mostName)
		}
		return nil
	}
	return why
}

// parseEnvironmentMetrics reads PowerWatts.Reading.
func parseEnvironmentMetrics(b []byte) (redfishReading, error) {
	var m struct {
		PowerWatts *struct {
			Reading       *float64
			DataSourceUri string
		}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return redfishReading{}, fmt.Errorf("not JSON: %w", err)
	}
	if m.PowerWatts == nil || m.PowerWatts.Reading == nil {
		return redfishReading{}, errNoReading
	}
	return redfishReading{watts: *m.PowerWatts.Reading, from: m.PowerWatts.DataSourceUri}, nil
}

// mostMinutes is the longest interval that a BMC is believed to average over.
const mostMinutes = 24 * 60

// parsePower reads PowerControl[0].PowerConsumedWatts.
func parsePower(b []byte) (redfishReading, error) {
	var m struct {
		PowerControl []struct {
			PowerConsumedWatts *float64
			PowerMetrics       struct{ IntervalInMin float64 }
		}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return redfishReading{}, fmt.Errorf("not JSON: %w", err)
	}
	if len(m.PowerControl) == 0 || m.PowerControl[0].PowerConsumedWatts == nil {
		return redfishReading{}, errNoReading
	}
	p := m.PowerControl[0]
	r := redfishReading{watts: *p.PowerConsumedWatts, from: "PowerControl[0]"}
	if m := p.PowerMetrics.IntervalInMin; m > 0 && m <= mostMinutes {
		r.averages = time.Duration(m * float64(time.Minute))
	}
	return r, nil
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

// mostBody bounds an answer, bytes.
const mostBody = 1 << 20

func (r *redfish) get(ctx context.Context, path string) ([]byte, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%q is not a path on the BMC", short(path))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if r.user != "" {
		req.SetBasicAuth(r.user, r.pass)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, redfishError(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	switch {
	case err != nil:
		return nil, fmt.Errorf("GET %s: %w", path, plainTimeout(err))
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, &Unavailable{fmt.Sprintf("GET %s: %s", path, resp.Status), "set ZCBENCH_REDFISH_USER and ZCBENCH_REDFISH_PASSWORD, or the option secrets=FILE"}
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return b, nil
}

func redfishError(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var bad *tls.CertificateVerificationError
	if errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &bad) {
		return &Unavailable{"the BMC's certificate is not trusted: " + err.Error(), "give its certificate authority with ca=FILE; insecure=true accepts any certificate"}
	}
	return plainTimeout(err)
}

func (r *redfish) Info() Info { return r.info }

func (r *redfish) Read(ctx context.Context, v []int64) error {
	b, err := r.get(ctx, r.path)
	if err != nil {
		return err
	}
	reading, err := r.parse(b)
	if err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	v[0], err = micro(reading.watts)
	return err
}

func (r *redfish) Close() error {
	r.client.CloseIdleConnections()
	return nil
}
