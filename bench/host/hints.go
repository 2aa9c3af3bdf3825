// SPDX-License-Identifier: MIT

package host

// passInput is what to do where the agent, or the script that takes it, has no input.
const passInput = "the command must pass standard input on: kubectl, podman and docker exec need -i, and srun " +
	"must not have --input=none"

// noShellThere is what to do where what the command leads to has no /bin/sh.
const noShellThere = "what the command leads to needs /bin/sh, with sha256sum, stat, mktemp, id and uname " +
	"(busybox has them); " +
	"an image without a shell needs this build of zcbench in it, and then: exec:COMMAND zcbench agent"

// execHints are what to do about the words of commands that lead to a host: those of Slurm
// 22.05 to 25.05, kubectl 1.28 to 1.34, podman 4 and 5, docker, iproute2.
var execHints = []struct{ words, how string }{
	{"did not arrive as it was sent: e3b0c44298fc", passInput}, // the SHA-256 of nothing
	{"step creation temporarily disabled", "the step waits for CPUs or memory of the allocation that other steps " +
		"have: srun --overlap, and no --exclusive"},
	{"Unable to create step for job", "the step does not fit into the allocation: -w a node of it, -N1 -n1 --overlap"},
	{"Invalid node name specified", "check the name: sinfo -N, scontrol show hostnames \"$SLURM_JOB_NODELIST\""},
	{"Requested nodes are busy", "run within an allocation that has both nodes (sbatch, salloc), with --overlap"},
	{"queued and waiting for resources",
		"run within an allocation that has both nodes (sbatch, salloc): zcbench does not wait in a queue"},
	{"Unable to contact slurm controller", "check slurmctld and slurm.conf: scontrol ping"},
	{"Zero Bytes were transmitted or received",
		"check munged on both sides, and that their clocks agree: munge -n | unmunge"},
	{"unable to upgrade connection",
		"check that the pod runs and that its node's kubelet can be reached: kubectl get pod -o wide"},
	{"is forbidden: User", "the account needs the verbs get on pods and create on pods/exec: kubectl auth can-i " +
		"create pods/exec"},
	{"pods \"", "check name and namespace: kubectl get pods"},
	{"container not found", "name the container with -c, and check that it runs: kubectl get pod"},
	{"is not valid for pod", "name one of its containers with -c"},
	{"The connection to the server", "check the kubeconfig and the API server: kubectl version"},
	{"no such container", "check the name: podman ps"},
	{"No such container", "check the name: docker ps"},
	{"can only create exec sessions on running containers", "start it: podman start"},
	{"exec: \"/bin/sh\"", noShellThere},
	{"/bin/sh: no such file", noShellThere},
	{"/bin/sh': No such file", noShellThere},
	{"/bin/sh\": No such file", noShellThere},
	{"executable file `/bin/sh` not found", noShellThere},
	{"Cannot open network namespace", "check the name: ip netns list"},
	{"Invalid VRF name", "check the name: ip vrf show"},
	{"the input device is not a TTY", "leave -t away from the command"},
}
