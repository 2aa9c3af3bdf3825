// SPDX-License-Identifier: MIT

package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"github.com/zcbench/zcbench/internal/lazy"
)

var snmpKind = sourceKind{summary: "power distribution unit over SNMP (APC, Raritan, any OID)",
	example: "snmp=apc@pdu.example?outlet=3",
	options: []string{"outlet", "inlet", "pdu", "oid", "scale", "version", "level", "auth", "priv", "secrets"},
	reaches: asksWithSecrets(func(s Spec) string {
		_, addr, _ := strings.Cut(s.Target, "@")
		return withPort(addr,
			snmpPort)
	}),
	check: func(s Spec) error { _, err := parseSNMP(s); return err },
	open:  func(s Spec) (Source, error) { return openSNMP(s) }}

// snmpPort is where units listen unless told otherwise.
const snmpPort = "161"

// snmpPlan is what to ask a unit for: the sum of some OIDs.
type snmpPlan struct {
	vendor, addr string
	oids         []string
	digits       []string // OIDs of the number of decimal digits of each; nil: none
	scale        float64  // watts per unit
	resolution   float64
}

// The units' tables. APC's PowerNet-MIB counts outlets and devices in watts and
// hundredths of a kilowatt; Raritan's PDU2-MIB gives any sensor's value with its
// number of decimal digits in another table.
const (
	apcOutletWatts    = ".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7." // rPDU2OutletMeteredStatusPower.OUTLET, W
	apcDeviceCentiKW  = ".1.3.6.1.4.1.318.1.1.26.4.3.1.5."   // rPDU2DeviceStatusPower.UNIT, 0.01 kW
	raritanOutlet     = ".1.3.6.1.4.1.13742.6.5.4.3.1.4."    // measurementsOutletSensorValue.PDU.OUTLET.TYPE
	raritanOutletUnit = ".1.3.6.1.4.1.13742.6.3.5.4.1.7."    // outletSensorDecimalDigits.PDU.OUTLET.TYPE
	raritanInlet      = ".1.3.6.1.4.1.13742.6.5.2.3.1.4."    // measurementsInletSensorValue.PDU.INLET.TYPE
	raritanInletUnit  = ".1.3.6.1.4.1.13742.6.3.3.4.1.7."    // inletSensorDecimalDigits.PDU.INLET.TYPE
	raritanActive     = ".5"                                 // SensorTypeEnumeration activePower, W
)

var oidForm = lazy.Regexp(`^\.?\d+(\.\d+)+$`)

// snmpSets are the options that can stand together for each vendor: what is
// asked for. Those of the protocol are for all.
var snmpSets = map[string][][]string{
	"apc":     {{"outlet"}, {"pdu"}},
	"raritan": {{"outlet", "pdu"}, {"inlet", "pdu"}},
	"oid":     {{"oid", "scale"}},
}

// checkOptions refuses options that would count for nothing.
func (p *snmpPlan) checkOptions(s Spec) error {
	sets, ok := snmpSets[p.vendor]
	if !ok {
		return errors.New("the vendor before the @ must be apc, raritan or oid") // not repeated: it may be a community
	}
	var given, known []string
	for _, name := range []string{"outlet", "inlet", "pdu", "oid", "scale"} {
		if s.Options.Has(name) {
			given = append(given, name)
		}
	}
	for _, set := range sets {
		if !slices.ContainsFunc(given, func(name string) bool { return !slices.Contains(set, name) }) {
			return nil
		}
		known = append(known, strings.Join(set, " with "))
	}
	return fmt.Errorf("vendor %s has no option %s: it has %s", p.vendor, strings.Join(given, " with "),
		strings.Join(known, ", or "))
}

func parseSNMP(s Spec) (snmpPlan, error) {
	vendor, addr, ok := strings.Cut(s.Target, "@")
	p := snmpPlan{vendor: vendor, addr: addr, scale: 1, resolution: 1}
	if !ok || addr == "" {
		return p, fmt.Errorf("it needs VENDOR@ADDRESS, such as %s", snmpKindExample)
	}
	if strings.Contains(addr, "@") {
		return p, errors.New(
			"put no user or community into the address: set ZCBENCH_SNMP_COMMUNITY, or the option secrets=FILE")
	}
	if err := p.checkOptions(s); err != nil {
		return p, err
	}
	var err error
	switch vendor {
	case "apc":
		err = p.apc(s)
	case "raritan":
		err = p.raritan(s)
	case "oid":
		err = p.generic(s.Options.Get("oid"), cmp.Or(s.Options.Get("scale"), "1"))
	}
	if err == nil && len(p.oids) > gosnmp.MaxOids {
		err = fmt.Errorf("%d objects: at most %d can be read at once", len(p.oids), gosnmp.MaxOids)
	}
	if err == nil {
		_, err = snmpSecurity(s, secrets{})
	}
	return p, err
}

// snmpNumbers parses those of an option, def where it is not given.
func snmpNumbers(s Spec, name, def string) ([]string, error) {
	list, err := numbersFrom(s, name, 1)
	if len(list) == 0 {
		list = []string{def}
	}
	return list, err
}

func (p *snmpPlan) apc(s Spec) error {
	table, name := apcDeviceCentiKW, "pdu"
	if s.Options.Has("outlet") {
		table, name = apcOutletWatts, "outlet"
	} else {
		p.scale, p.resolution = 10, 10
	}
	which, err := snmpNumbers(s, name, "1")
	for _, n := range which {
		p.oids = append(p.oids, table+n)
	}
	return err
}

// raritan sums the outlets or inlets of every unit that is named.
func (p *snmpPlan) raritan(s Spec) error {
	table, digits, name := raritanInlet, raritanInletUnit, "inlet"
	if s.Options.Has("outlet") {
		table, digits, name = raritanOutlet, raritanOutletUnit, "outlet"
	}
	which, err := snmpNumbers(s, name, "1")
	if err != nil {
		return err
	}
	units, err := snmpNumbers(s, "pdu", "1")
	for _, u := range units {
		for _, w := range which {
			p.oids = append(p.oids, table+u+"."+w+raritanActive)
			p.digits = append(p.digits, digits+u+"."+w+raritanActive)
		}
	}
	return err
}

const snmpKindExample = "snmp=apc@pdu.example?outlet=3"

func (p *snmpPlan) generic(oid, scale string) error {
	for _, o := range optionList(oid) {
		if !oidForm().MatchString(o) {
			return fmt.Errorf("oid %q: must be numbers joined by dots", o)
		}
		p.oids = append(p.oids, "."+strings.TrimPrefix(o, "."))
	}
	if len(p.oids) == 0 {
		return errors.New("vendor oid needs the option oid, such as oid=.1.3.6.1.4.1.318.1.1.26.4.3.1.5.1")
	}
	v, err := strconv.ParseFloat(scale, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("scale %q: must be the watts of one unit, such as 0.1", scale)
	}
	p.scale, p.resolution = v, v
	return nil
}

// snmpSecurity sets version and credentials. Version 1 and 2c send the community
// in the clear.
func snmpSecurity(s Spec, sec secrets) (*gosnmp.GoSNMP, error) {
	g := &gosnmp.GoSNMP{Community: sec.get("community")}
	if g.Community == "" {
		g.Community = "public"
	}
	v := s.Options.Get("version")
	for _, name := range []string{"level", "auth", "priv"} {
		if v != "3" && s.Options.Has(name) {
			return nil, fmt.Errorf("%s is for version=3", name)
		}
	}
	switch v {
	case "", "2c":
		g.Version = gosnmp.Version2c
		return g, nil
	case "1":
		g.Version = gosnmp.Version1
		return g, nil
	case "3":
		g.Version = gosnmp.Version3
	default:
		return nil, fmt.Errorf("version %q: must be 1, 2c or 3", v)
	}
	g.SecurityModel = gosnmp.UserSecurityModel
	u := &gosnmp.UsmSecurityParameters{UserName: sec.get("user"), AuthenticationPassphrase: sec.get("auth_password"),
		PrivacyPassphrase: sec.get("priv_password")}
	g.SecurityParameters = u
	levels := map[string]gosnmp.SnmpV3MsgFlags{"": gosnmp.AuthPriv, "authPriv": gosnmp.AuthPriv,
		"authNoPriv": gosnmp.AuthNoPriv, "noAuthNoPriv": gosnmp.NoAuthNoPriv}
	auths := map[string]gosnmp.SnmpV3AuthProtocol{"": gosnmp.SHA, "SHA": gosnmp.SHA, "SHA256": gosnmp.SHA256,
		"SHA512": gosnmp.SHA512, "MD5": gosnmp.MD5}
	privs := map[string]gosnmp.SnmpV3PrivProtocol{"": gosnmp.AES, "AES": gosnmp.AES, "AES256": gosnmp.AES256,
		"DES": gosnmp.DES}
	var ok [3]bool
	g.MsgFlags, ok[0] = levels[s.Options.Get("level")]
	u.AuthenticationProtocol, ok[1] = auths[s.Options.Get("auth")]
	u.PrivacyProtocol, ok[2] = privs[s.Options.Get("priv")]
	for i, name := range []string{"level", "auth", "priv"} {
		if !ok[i] {
			return nil, fmt.Errorf("%s=%q: level is authPriv, authNoPriv or noAuthNoPriv; auth SHA, SHA256, "+
				"SHA512 or MD5; priv AES, AES256 or DES", name, s.Options.Get(name))
		}
	}
	if g.MsgFlags == gosnmp.NoAuthNoPriv && s.Options.Has("auth") || g.MsgFlags != gosnmp.AuthPriv &&
		s.Options.Has("priv") {
		return nil, fmt.Errorf("level=%s does not use auth or priv, which are given", s.Options.Get("level"))
	}
	if g.MsgFlags == gosnmp.NoAuthNoPriv {
		u.AuthenticationProtocol, u.PrivacyProtocol = gosnmp.NoAuth, gosnmp.NoPriv
	} else if g.MsgFlags == gosnmp.AuthNoPriv {
		u.PrivacyProtocol = gosnmp.NoPriv
	}
	return g, nil
}

// snmp sums some objects of one unit.
type snmp struct {
	info   info
	plan   snmpPlan
	client *gosnmp.GoSNMP
	scales []float64 // watts per unit of each OID
	open   bool
}

func openSNMP(s Spec) (*snmp, error) {
	plan, err := parseSNMP(s)
	if err != nil {
		return nil, err
	}
	sec, err := secretsOf(s)
	if err != nil {
		return nil, err
	}
	client, err := snmpSecurity(s, sec)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(withPort(plan.addr, snmpPort))
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: must be 1..65535", port)
	}
	client.Target, client.Port, client.Timeout, client.Retries = host, uint16(n), time.Second, 1
	p := &snmp{plan: plan, client: client, info: info{Name: s.String(), Scope: scopeOutlet, MinInterval: time.Second,
		Averages: s.averages(), Uncertainty: s.declared(0.02),
		Channels: []channel{{Name: "outlet", Kind: power, Scope: scopeOutlet, Resolution: plan.resolution}}}}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	err = p.checkSeveral(ctx, s)
	if err == nil {
		err = p.setUp(ctx)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// setUp asks how many decimal digits the values have and who the unit is.
func (p *snmp) setUp(ctx context.Context) error {
	for range p.plan.oids {
		p.scales = append(p.scales, p.plan.scale)
	}
	if p.plan.digits != nil {
		values, err := p.get(ctx, p.plan.digits)
		if err != nil {
			return err
		}
		for i, d := range values {
			if d < 0 || d > 9 {
				return fmt.Errorf("%s: %d decimal digits are too many", p.plan.digits[i], d)
			}
			p.scales[i] = math.Pow10(-int(d))
			p.info.Channels[0].Resolution = p.scales[i]
		}
	}
	var v [1]int64
	if err := p.Read(ctx, v[:]); err != nil {
		return err
	}
	p.info.Device = fmt.Sprintf("%s %s, %d objects", p.plan.vendor, p.plan.addr, len(p.plan.oids))
	return nil
}

func (p *snmp) Info() info { return p.info }

func (p *snmp) Read(ctx context.Context, v []int64) error {
	values, err := p.get(ctx, p.plan.oids)
	if err != nil {
		return err
	}
	var sum float64
	for i, x := range values {
		sum += float64(x) * p.scales[i]
	}
	v[0], err = micro(sum)
	return err
}

func (p *snmp) connect(ctx context.Context) error {
	p.client.Context = ctx
	if p.open {
		return nil
	}
	if err := p.client.Connect(); err != nil {
		return fmt.Errorf("%s: %w", p.plan.addr, err)
	}
	p.open = true
	return nil
}

// get reads whole numbers.
func (p *snmp) get(ctx context.Context, oids []string) ([]int64, error) {
	if err := p.connect(ctx); err != nil {
		return nil, err
	}
	packet, err := p.client.Get(oids)
	if err != nil {
		p.drop()
		return nil, fmt.Errorf("%s: %w", p.plan.addr, snmpError(err))
	}
	if packet.Error != gosnmp.NoError || len(packet.Variables) != len(oids) {
		return nil, fmt.Errorf("%s: the unit answers %v for object %d", p.plan.addr, packet.Error, packet.ErrorIndex)
	}
	out := make([]int64, len(oids))
	for i, pdu := range packet.Variables {
		if out[i], err = snmpNumber(pdu); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.plan.addr, oids[i], err)
		}
	}
	return out, nil
}

func snmpNumber(pdu gosnmp.SnmpPDU) (int64, error) {
	switch pdu.Type {
	case gosnmp.NoSuchObject, gosnmp.NoSuchInstance, gosnmp.EndOfMibView:
		return 0, &unavailable{"the unit has no such object", "check the outlet or OID: snmpget shows what it has"}
	case gosnmp.Integer, gosnmp.Gauge32, gosnmp.Counter32, gosnmp.Uinteger32, gosnmp.Counter64, gosnmp.TimeTicks:
		return gosnmp.ToBigInt(pdu.Value).Int64(), nil
	case gosnmp.OctetString: // some units give numbers as text
		b, _ := pdu.Value.([]byte)
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", short(string(b)))
		}
		return n, nil
	}
	return 0, fmt.Errorf("a value of type %v is not a number", pdu.Type)
}

// snmpError replaces a timeout's error by one without the request, which may hold the community.
func snmpError(err error) error {
	if strings.Contains(err.Error(), "timeout") || errors.Is(err, context.DeadlineExceeded) {
		return &unavailable{"no answer in time", "check the address, and the community or user (environment " +
			"ZCBENCH_SNMP_COMMUNITY, or the option secrets=FILE): units do not answer wrong ones"}
	}
	return err
}

func (p *snmp) drop() {
	if p.open && p.client.Conn != nil {
		p.client.Conn.Close()
	}
	p.open = false
}

func (p *snmp) Close() error {
	p.drop()
	return nil
}
