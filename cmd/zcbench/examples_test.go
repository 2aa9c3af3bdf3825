// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/bench/host"
)

// manifest is what the test reads of a Kubernetes object.
type manifest struct {
	Kind, APIVersion string
	Metadata         struct{ Name, Namespace string }
	Rules            []struct{ Resources, Verbs []string }
	Subjects         []struct{ Kind, Name, Namespace string }
	Automount        *bool `json:"automountServiceAccountToken"`
	Spec             struct {
		SuccessPolicy  struct{ TargetReplicatedJobs []string }
		ReplicatedJobs []struct {
			Name     string
			Replicas int
			Template struct {
				Spec struct {
					Template struct {
						Spec struct {
							HostNetwork        bool
							ServiceAccountName string
							Automount          *bool `json:"automountServiceAccountToken"`
							Containers         []struct {
								Name          string
								Command, Args []string
								Env           []struct{ Name, Value string }
							}
						}
					}
				}
			}
		}
	}
}

// read reads the objects of a file, by the names that JSON has for them.
func readManifests(t *testing.T, path string) (all []manifest) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		plain, err := yaml.YAMLToJSON(doc)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var m manifest
		if err := json.Unmarshal(plain, &m); err != nil {
			t.Fatalf("%s: %v: %s", path, err, plain)
		}
		all = append(all, m)
	}
	return all
}

// The JobSet is YAML with as many receivers as senders, and its driver runs the matrix for each
// pair: played here with a kubectl and a zcbench that write down what they are asked. A pair that
// has no pod is left out, and said.
func TestJobSet(t *testing.T) {
	all := readManifests(t, "../../examples/kubernetes/zcbench-pairs.yaml")
	set := all[len(all)-1]
	if len(all) != 5 || set.Kind != "JobSet" || set.APIVersion != "jobset.x-k8s.io/v1alpha2" ||
		len(set.Spec.ReplicatedJobs) != 3 {
		t.Fatalf("%+v", all)
	}
	jobs := set.Spec.ReplicatedJobs
	sut, tg, driver := jobs[0], jobs[1], jobs[2]
	pod := driver.Template.Spec.Template.Spec
	if sut.Name != "sut" || tg.Name != "tg" || sut.Replicas != tg.Replicas ||
		!tg.Template.Spec.Template.Spec.HostNetwork ||
		pod.ServiceAccountName != "zcbench" || cmp.Diff(set.Spec.SuccessPolicy.TargetReplicatedJobs,
		[]string{driver.Name}) != "" {
		t.Errorf("%+v", set.Spec)
	}
	c := pod.Containers[0]
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	for name, script := range map[string]string{
		// Of a role and a pair it knows one pod, and nothing at the first question; the third
		// pair has no sender.
		"kubectl": `case $* in exec*) ;; *--request-timeout=*) ;; *) exit 1 ;; esac
case $* in *=tg,*index=2*) exit 1 ;; esac
for last; do :; done; f=$LOG.asked.$(echo "$last" | tr -dc a-z0-9); [ -e "$f" ] || { : >"$f"; exit 0; }
echo "$last" | sed 's/.*jobset-name=zcbench,.*name=\([a-z]*\),.*index=\([0-9]*\)/pod\/zcbench-\1-\2-0-abcde/'`,
		"zcbench": `for a; do printf '<%s>' "$a"; done >>"$LOG"; echo >>"$LOG"; case $* in *sut-0*) exit 3 ;; esac`,
		// Time passes by sleeping alone.
		"sleep": `echo "$1" >>"$LOG.slept"`,
		"date":  `n=0; [ ! -e "$LOG.slept" ] || while read -r s; do n=$((n + s)); done <"$LOG.slept"; echo "$n"`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	keep := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Command[0], append(c.Command[1:], c.Args...)...)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "LOG=" + log}
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	cmd.Env = append(cmd.Env, "PAIRS=4", "POD_WAIT=5", "KEEP=100", "OUT="+keep)
	out, err := cmd.CombinedOutput()
	const left = "pair 2 is left out: its tg does not run after 5 s: kubectl describe pods -l "
	if cmd.ProcessState.ExitCode() != 1 || strings.Count(string(out), left) != 1 {
		t.Fatalf("%v: %s", err, out) // the status is that of the last pair that failed
	}
	if !strings.HasSuffix(string(out), "nobody took the results within 100 s: they go with this pod\n") {
		t.Errorf("the driver's end: %s", out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, pair := range []string{"0", "1", "3"} {
		s, g := "zcbench-sut-"+pair+"-0-abcde", "zcbench-tg-"+pair+"-0-abcde"
		want += "<matrix></plan/plan.yaml><--out><" + keep + "/" + s + "-" + g +
			"><--dev><eth1><--sut><exec:kubectl exec -i " + s + " -c zcbench --><--tg><exec:kubectl exec -i " + g +
			" -c zcbench -->\n"
	}
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// The token that may start commands in pods does so in a namespace that has nothing else, and only
// the driver gets it.
func TestJobSetToken(t *testing.T) {
	all := readManifests(t, "../../examples/kubernetes/zcbench-pairs.yaml")
	for i, m := range all {
		if want := map[bool]string{true: "", false: "zcbench"}[i == 0]; m.Metadata.Namespace != want ||
			m.Kind == "Namespace" != (i == 0) || strings.HasPrefix(m.Kind, "Cluster") {
			t.Errorf("%s %s is in namespace %q", m.Kind, m.Metadata.Name, m.Metadata.Namespace)
		}
		for _, s := range m.Subjects {
			if s.Namespace != "zcbench" {
				t.Errorf("%s is bound to %+v", m.Kind, s)
			}
		}
		for _, r := range m.Rules {
			if text := fmt.Sprint(r.Resources, r.Verbs); text != "[pods] [get list]" &&
				text != "[pods/exec] [create get]" {
				t.Errorf("the role may also %s", text)
			}
		}
		if m.Kind == "ServiceAccount" && (m.Automount == nil || *m.Automount) {
			t.Error("each pod of the account gets its token")
		}
		for _, job := range m.Spec.ReplicatedJobs {
			pod := job.Template.Spec.Template.Spec
			if driver := job.Name == "driver"; pod.Automount == nil || *pod.Automount != driver || !driver &&
				pod.ServiceAccountName != "" {
				t.Errorf("%s: token %v, account %q", job.Name, pod.Automount, pod.ServiceAccountName)
			}
		}
	}
}

// The job array's script asks for the pair of its line, and its hosts are hosts.
func TestSlurmExample(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "zcbench"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	run := func(task string) (string, error) {
		cmd := exec.Command("bash", "../../examples/slurm/zcbench-pairs.sbatch", "../../examples/slurm/pairs.txt",
			"plan.yaml", "out", "--dev", "eth1")
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "SLURM_ARRAY_TASK_ID=" + task}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	got, err := run("1")
	want := "matrix\nplan.yaml\n--out\nout/n2-n1\n--sut\nexec:srun -w n2 -N1 -n1 --overlap -u\n--tg\nexec:srun " +
		"-w n1 -N1 -n1 --overlap -u\n--dev\neth1\n"
	if err != nil || got != want {
		t.Errorf("%v: %s", err, got)
	}
	for word := range strings.Lines(got) {
		if word = strings.TrimSpace(word); strings.HasPrefix(word, host.Exec) {
			if _, err := host.ParseSpec(word); err != nil {
				t.Error(err)
			}
		}
	}
	if got, err := run("2"); err == nil || !strings.Contains(got, "names no pair") {
		t.Errorf("a line that is not there: %v: %s", err, got)
	}
}
