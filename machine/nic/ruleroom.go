// SPDX-License-Identifier: MIT

package nic

// RuleRoom computes how many more ntuple rules the driver's table has places for; known is false
// where the driver does not report how long it is. One that sorts rules by their fields may take
// fewer: bnxt reports that of all its filters (bnxt_get_rxnfc of bnxt_ethtool.c), fbnic and mlx5
// that of these rules alone (fbnic_get_cls_rule_all of fbnic_ethtool.c, mlx5e_ethtool_get_all_flows
// of en_fs_ethtool.c, Linux 7.3.4).
func (d *Device) RuleRoom() (n int, known bool, err error) {
	t, err := d.rules()
	if err != nil {
		return 0, false, err
	}
	n, known = t.room()
	return n, known, nil
}

func (t ruleTable) room() (n int, known bool) {
	if t.size == 0 {
		return 0, false
	}
	return max(int(t.size)-len(t.places), 0), true
}
