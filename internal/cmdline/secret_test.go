// SPDX-License-Identifier: MIT

package cmdline

import (
	"strings"
	"testing"
)

// split is a command in blanks, where _ stands for a blank in a word.
func split(s string) []string {
	words := strings.Fields(s)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "_", " ")
	}
	return words
}

// Secrets are found wherever programs take them, and are not repeated.
func TestSecret(t *testing.T) {
	for _, c := range []string{
		"env SSHPASS=S3CRET sshpass -e ssh h", "env AUTH=S3CRET x", "env DB-x TOKEN=S3CRET", "env DBPWD=S3CRET x",
		"x --auth-header S3CRET",
		"docker exec -i --env=API_TOKEN=S3CRET c", "ssh -o ProxyCommand=sshpass_-p_S3CRET_ssh_jump h",
		"sshpass -p S3CRET ssh h", "sshpass -pS3CRET ssh h", "sudo /usr/bin/sshpass -v -p S3CRET ssh h",
		"curl -u me:S3CRET https://h", "curl -sume:S3CRET -u me:S3CRET h", "curl --user me:S3CRET h",
		"curl --user=me:S3CRET h", "curl --proxy-user me:S3CRET h",
		"curl -H Authorization:_Bearer_S3CRET h", "curl -H X-Auth-Token:_S3CRET h",
		"curl --header=Authorization:_S3CRET h", "curl -HCookie:_a=S3CRET h",
		"curl -H Authorization:S3CRET h", "curl h -H PRIVATE-TOKEN:_S3CRET", "http h Authorization:S3CRET",
		"x Basic_c2VjcmV0OnNlY3JldA== S3CRET",
		"curl https://h/x?token=S3CRET", "curl https://h/x?a=b&access-token=S3CRET", "curl https://h/#apikey=S3CRET",
		"curl https://me:S3CRET@h/",
		"curl https://h/?X-Amz-Signature=S3CRET", "curl --oauth2-bearer S3CRET h", "wget --http-password=S3CRET h",
		"sh -c exec_curl_-u_me:S3CRET_h", `sh -c AUTH="S3CRET"_x`, "sh -c (sshpass_-p_S3CRET_ssh_h)",
		"bash -c curl_-H_'Authorization:_Bearer_S3CRET'_h",
		"ipmitool -H bmc -U a -P S3CRET dcmi power reading", "ipmitool -I lanplus -y S3CRET x",
		"snmpget -v2c -c S3CRET h o", "snmpget -v3 -A S3CRET h o",
		"mysql -pS3CRET x", "openssl rsa -passin pass:S3CRET", "smbclient -U me%S3CRET //h/x", "plink -pw S3CRET h",
		"http -a me:S3CRET h",
		"x ghp_S3CRETS3CRETS3CRETS3CRET", "x eyJS3CRETS3CRET.S3CRETS3CRET.x", "x AKIAS3CRETS3CRETS3CRE",
		"x S3CRET -----BEGIN_RSA_PRIVATE_KEY-----",
	} {
		words := split(c)
		if strings.HasPrefix(c, "x ghp") {
			words = strings.Fields(c)
		}
		at, what := Secret(words)
		if what == "" || strings.Contains(what, "S3CRET") || at < 0 || at >= len(words) {
			t.Errorf("%s: word %d, %q", c, at, what)
		}
	}
}

// What only looks alike is none: names of files and variables, flags of other programs.
func TestNoSecret(t *testing.T) {
	for _, c := range []string{
		"env COMPASS=1 ByPass=abc x", "srun -w n1 -N1 -n1 --overlap -u", "kubectl exec -i POD -c zcbench --",
		"podman exec -u 0:0 -i C", "sudo -u me:us x", "ip vrf exec red",
		"env SSH_AUTH_SOCK=/run/a ssh h", "kubectl --token-file=/x exec", "env KUBECONFIG=/x kubectl",
		"sshpass -e ssh -p 22 h", "sshpass -f /root/pw ssh -p 22 h",
		"sshpass -P prompt -d 3 ssh -p 22 h", "ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no -p 2222 h",
		"curl -u me h", "curl --netrc-file /x h",
		"curl -H @/root/header h", "curl -H Accept:_text/plain h", "curl http://a:80/x@y", "curl https://h/?key-id=1",
		"env TOKEN_FILE=/x y", "env PASS= x",
		"snmpget -v2c -c public h o", "ipmitool -f /root/pw -E dcmi power reading",
		"sh -c curl_-u_\"$USER:$PW\"_h;exec_x_-p_22", "x keyboard=us monkey=1 bypass",
		"docker exec -e MODE=basic c", "docker exec --env=MODE=basic --env=AUTH=@/x c", "env AUTH=@/x y",
		"sh -c TOKEN=$(cat_/x)_y", "ssh -i /root/.ssh/id_rsa h", "srun --export=ALL -w n1", "nsenter -t 1 -a",
		"x compass", "",
	} {
		words := split(c)
		if strings.Contains(c, "SOCK") || strings.Contains(c, "TOKEN_FILE") || strings.Contains(c, "id_rsa") {
			words = strings.Fields(c)
		}
		if at, what := Secret(words); what != "" || at != -1 {
			t.Errorf("%s: word %d, %q", c, at, what)
		}
	}
}
