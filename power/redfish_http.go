// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// mostBody bounds an answer, bytes.
const mostBody = 1 << 20

// get asks for a resource. A BMC that says that it is elsewhere on the same host, such as
// at its path with a slash, is followed once: nobody else gets the password.
func (r *redfish) get(ctx context.Context, path string) ([]byte, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%q is not a path on the BMC", short(path))
	}
	at := r.base + path
	if to := r.moved[path]; to != "" {
		at = to
	}
	b, to, err := r.ask(ctx, at)
	if to == "" || err != nil {
		return b, err
	}
	b, again, err := r.ask(ctx, to)
	switch {
	case err != nil:
		return nil, err
	case again != "":
		return nil, &unavailable{fmt.Sprintf("GET %s: the BMC sends from %s on to %s, and so on", short(path),
			short(to), short(again)), redfishFix(http.StatusMovedPermanently)}
	}
	r.moved[path] = to
	return b, nil
}

// ask makes one request; to is the URL where the BMC says that the resource is, on the same
// host.
func (r *redfish) ask(ctx context.Context, at string) (b []byte, to string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, "", err
	}
	path := req.URL.Path
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0") // DSP0266, 6.5: some answer 412 without it
	if r.user != "" {
		req.SetBasicAuth(r.user, r.pass)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, "", redfishError(err)
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(io.LimitReader(resp.Body, mostBody))
	switch code := resp.StatusCode; {
	case err != nil:
		return nil, "", fmt.Errorf("GET %s: %w", short(path), plainTimeout(err))
	case code == http.StatusOK:
		return b, "", nil
	case code >= 300 && code < 400 && code != http.StatusNotModified:
		to, err := redirected(req.URL, resp)
		return nil, to, err
	default:
		return nil, "", &unavailable{fmt.Sprintf("GET %s: %s", short(path), short(resp.Status)),
			redfishFix(code)}
	}
}

// redirected returns where an answer redirects to, as a URL of the same scheme, host and port. 301
// and 308 may name any path there; 302, 303 and 307 are what a login page is made of, and only the
// same path with or without a slash is none.
func redirected(from *url.URL, resp *http.Response) (string, error) {
	location := resp.Header.Get("Location")
	to, err := from.Parse(location)
	refuse := func(why, fix string) (string, error) {
		return "", &unavailable{fmt.Sprintf("GET %s: %s to %s", short(from.Path), short(resp.Status), why), fix}
	}
	switch code := resp.StatusCode; {
	case err != nil || location == "":
		return refuse("no address", redfishFix(code))
	case to.Scheme == "https" && from.Scheme == "http" && strings.EqualFold(to.Hostname(), from.Hostname()):
		return refuse("https", "give the address with https://, or without a scheme")
	case to.Scheme != from.Scheme || !strings.EqualFold(to.Hostname(), from.Hostname()) ||
		portOf(to) != portOf(from) || to.User != nil:
		return refuse("another host, scheme or port, which does not get the password: "+short(to.Scheme+"://"+to.Host),
			"if that is the BMC, give its address as the target")
	case !strings.HasPrefix(to.Path, "/"):
		return refuse("no path", redfishFix(code))
	case code != http.StatusMovedPermanently && code != http.StatusPermanentRedirect &&
		plainPath(to.Path) != plainPath(from.Path):
		return refuse(short(to.Path)+", perhaps a page for logging in", redfishFix(http.StatusUnauthorized))
	}
	to.Host, to.Fragment, to.RawFragment = from.Host, "", ""
	return to.String(), nil
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// redfishFix advises what to do about the status of an answer (RFC 9110, 15; DSP0266, 7.11).
func redfishFix(code int) string {
	switch code {
	case http.StatusUnauthorized:
		return "set ZCBENCH_REDFISH_USER and ZCBENCH_REDFISH_PASSWORD, or the option secrets=FILE; a BMC that " +
			"asks for a session first is not supported"
	case http.StatusForbidden:
		return "give the BMC's user a role that may log in and read (ReadOnly); an expired password, which must " +
			"be changed at the BMC, gives this too"
	case http.StatusNotFound, http.StatusGone:
		return "check that the target is the BMC's own address, without a path, and that chassis= or meter= " +
			"names what it lists under /redfish/v1/Chassis"
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		return "check that a Redfish service answers there, and no other web server: /redfish/v1/ must be JSON"
	case http.StatusProxyAuthRequired:
		return "the proxy of HTTPS_PROXY wants a password: have NO_PROXY name the BMC"
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return "try again; the network to the BMC may lose packets"
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired, http.StatusBadRequest:
		return "the BMC's firmware does not take a plain GET: see its log; ipmi on the host reads the same meter"
	case http.StatusMisdirectedRequest:
		return "give the BMC by the name that its certificate has"
	case http.StatusUpgradeRequired:
		return "give the address with https://"
	case http.StatusTooManyRequests:
		return "something asks the BMC too often: end other monitoring of it, or wait a minute"
	case http.StatusInternalServerError:
		return "an error of the BMC's own: try again, and see its log; ipmi on the host reads the same meter"
	case http.StatusNotImplemented:
		return "the BMC's firmware does not have this: use ipmi on the host"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "the BMC, or a proxy before it, is starting or overloaded: try again in a minute"
	}
	switch {
	case code >= 300 && code < 400:
		return "give as the target the address at which the BMC answers without sending elsewhere"
	case code >= 500:
		return "an error of the BMC's own: try again, and see its log"
	}
	return "no fix known: report it, with the BMC's make and firmware"
}

func redfishError(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var bad *tls.CertificateVerificationError
	if errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &bad) {
		return &unavailable{"the BMC's certificate is not trusted: " + err.Error(),
			"give its certificate authority with ca=FILE; insecure=true accepts any certificate"}
	}
	return plainTimeout(err)
}
