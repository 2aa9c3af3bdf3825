// SPDX-License-Identifier: MIT

package vethtest

import (
	"encoding/binary"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// Verdict is what a firewall does with packets that come in.
type Verdict struct {
	reset, drop bool
	code        uint8 // of "destination unreachable"
}

// Verdicts that firewalls have, as nft and iptables name them.
var (
	Drop             = Verdict{drop: true}
	Reset            = Verdict{reset: true} // tcp reset
	PortUnreachable  = Verdict{code: 3}     // icmp port-unreachable
	HostProhibited   = Verdict{code: 10}    // icmp host-prohibited
	AdminProhibited  = Verdict{code: 13}    // icmp admin-prohibited
	AdminProhibited6 = Verdict{code: 1}     // icmpv6 admin-prohibited
)

// Firewall makes an end refuse TCP: all packets of it, or, where longerThan is not 0, those of IPv4
// that are longer, headers included. It stays as long as the end's namespace. The rules go by
// nf_tables' netlink messages (include/uapi/linux/netfilter/nf_tables.h).
func Firewall(t testing.TB, e veth.End, v Verdict, longerThan uint16) {
	t.Helper()
	err := e.Netns.Do(func() error {
		c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		const newTable, newChain, newRule = unix.NFT_MSG_NEWTABLE, unix.NFT_MSG_NEWCHAIN, unix.NFT_MSG_NEWRULE
		batch := []netlink.Message{
			batchEdge(unix.NFNL_MSG_BATCH_BEGIN),
			message(newTable, func(ae *netlink.AttributeEncoder) { ae.String(unix.NFTA_TABLE_NAME, "zcbench") }),
			message(newChain, chain),
			message(newRule, func(ae *netlink.AttributeEncoder) { rule(ae, v, longerThan) }),
			batchEdge(unix.NFNL_MSG_BATCH_END),
		}
		sent, err := c.SendMessages(batch)
		if err != nil {
			return err
		}
		for range sent[1 : len(sent)-1] {
			if _, err := c.Receive(); err != nil { // its errors are those of the messages
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Skipf("this kernel has no such firewall (nf_tables): %v", err)
	}
}

// family encodes struct nfgenmsg (include/uapi/linux/netfilter/nfnetlink.h).
func family(f uint8, id uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{f, unix.NFNETLINK_V0}, id)
}

func batchEdge(kind netlink.HeaderType) netlink.Message {
	return netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request},
		Data: family(unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)}
}

func message(kind netlink.HeaderType, fill func(*netlink.AttributeEncoder)) netlink.Message {
	ae := attributes()
	fill(ae)
	b, err := ae.Encode()
	if err != nil {
		panic(err)
	}
	return netlink.Message{Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | kind,
		Flags: netlink.Request | netlink.Acknowledge | netlink.Create},
		Data: append(family(unix.NFPROTO_INET, 0), b...)}
}

func attributes() *netlink.AttributeEncoder {
	ae := netlink.NewAttributeEncoder()
	ae.ByteOrder = binary.BigEndian
	return ae
}

func chain(ae *netlink.AttributeEncoder) {
	ae.String(unix.NFTA_CHAIN_TABLE, "zcbench")
	ae.String(unix.NFTA_CHAIN_NAME, "in")
	ae.Nested(unix.NFTA_CHAIN_HOOK, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(unix.NFTA_HOOK_HOOKNUM, unix.NF_INET_LOCAL_IN)
		ae.Uint32(unix.NFTA_HOOK_PRIORITY, 0)
		return nil
	})
	ae.String(unix.NFTA_CHAIN_TYPE, "filter")
}

func rule(ae *netlink.AttributeEncoder, v Verdict, longerThan uint16) {
	ae.String(unix.NFTA_RULE_TABLE, "zcbench")
	ae.String(unix.NFTA_RULE_CHAIN, "in")
	ae.Nested(unix.NFTA_RULE_EXPRESSIONS, func(ae *netlink.AttributeEncoder) error {
		expression(ae, "meta", func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NFTA_META_DREG, unix.NFT_REG_1)
			ae.Uint32(unix.NFTA_META_KEY, unix.NFT_META_L4PROTO)
		})
		compare(ae, unix.NFT_CMP_EQ, []byte{unix.IPPROTO_TCP})
		if longerThan > 0 {
			expression(ae, "payload", func(ae *netlink.AttributeEncoder) { // iphdr.tot_len
				ae.Uint32(unix.NFTA_PAYLOAD_DREG, unix.NFT_REG_1)
				ae.Uint32(unix.NFTA_PAYLOAD_BASE, unix.NFT_PAYLOAD_NETWORK_HEADER)
				ae.Uint32(unix.NFTA_PAYLOAD_OFFSET, 2)
				ae.Uint32(unix.NFTA_PAYLOAD_LEN, 2)
			})
			compare(ae, unix.NFT_CMP_GT, binary.BigEndian.AppendUint16(nil, longerThan))
		}
		v.add(ae)
		return nil
	})
}

func (v Verdict) add(ae *netlink.AttributeEncoder) {
	if v.drop {
		expression(ae, "immediate", func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT)
			nested(ae, unix.NFTA_IMMEDIATE_DATA, func(ae *netlink.AttributeEncoder) {
				nested(ae, unix.NFTA_DATA_VERDICT,
					func(ae *netlink.AttributeEncoder) { ae.Uint32(unix.NFTA_VERDICT_CODE, 0) })
			})
		})
		return
	}
	expression(ae, "reject", func(ae *netlink.AttributeEncoder) {
		if v.reset {
			ae.Uint32(unix.NFTA_REJECT_TYPE, unix.NFT_REJECT_TCP_RST)
			return
		}
		ae.Uint32(unix.NFTA_REJECT_TYPE, unix.NFT_REJECT_ICMP_UNREACH)
		ae.Uint8(unix.NFTA_REJECT_ICMP_CODE, v.code)
	})
}

func expression(ae *netlink.AttributeEncoder, name string, fill func(*netlink.AttributeEncoder)) {
	nested(ae, unix.NFTA_LIST_ELEM, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_EXPR_NAME, name)
		nested(ae, unix.NFTA_EXPR_DATA, fill)
	})
}

func compare(ae *netlink.AttributeEncoder, op uint32, with []byte) {
	expression(ae, "cmp", func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NFTA_CMP_SREG, unix.NFT_REG_1)
		ae.Uint32(unix.NFTA_CMP_OP, op)
		nested(ae, unix.NFTA_CMP_DATA, func(ae *netlink.AttributeEncoder) { ae.Bytes(unix.NFTA_DATA_VALUE, with) })
	})
}

func nested(ae *netlink.AttributeEncoder, kind uint16, fill func(*netlink.AttributeEncoder)) {
	ae.Nested(kind, func(ae *netlink.AttributeEncoder) error {
		fill(ae)
		return nil
	})
}
