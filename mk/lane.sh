#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lane.sh NAME runs one part of the tests; tools/lanes runs several at the same time.
#
#   vet      of make lint gofmt and go vet, and golangci-lint where ZCBENCH_TEST_LINT names it
#   pure     packages whose tests are pure (kind.Pure), in parallel: with the race detector
#            where they have goroutines, but for simulations and what is large; what has passed
#            before is not run again
#   host     all other packages, on this machine, two at a time
#   fuzz     each fuzz target of what reads files of others, for a minute
#   lab      the lab's own tests, and those that need a machine of their own
#   KERNEL   the soft NIC's and the data paths' tests, in one boot of the lab's KERNEL
#            (sid, trixie-backports)
#   nics:KERNEL
#            there, too: with other drivers that the soft NIC imitates, with NICs of QEMU's,
#            and what wants a boot of its own
#   timed, timed:KERNEL
#            timed tests (kind.Timed) on this machine, and in the lab: after all others, alone.
#            With ZCBENCH_TEST_AGAIN, "PACKAGE TEST", only that one
#
# ZCBENCH_TEST_LONG, when set, asks for what takes minutes, and for the race detector
# on this machine. All but the first test of lane host are of programs with both
# io_uring engines, as make build makes them.
set -euo pipefail
unset ZCBENCH_LAB_UP # what wants a boot of its own gets one, also below zcbench lab up

folder=$PWD
status=0
long=${ZCBENCH_TEST_LONG:+1}
. mk/flags.sh
timed=$(pattern timed)

# These of the pure packages start no goroutines, so they have nothing to race. All others do.
sequential=(./cmd/internal/explain ./cmd/internal/ktap ./cmd/internal/ktap/ktaptest ./cmd/internal/specflag
	./internal/cpulist ./internal/lazy ./internal/pairwise ./internal/units ./machine/setting ./profile/elfsym ./profile/perf/perftest
	./results/environment ./results/gobench ./results/promtext)

# These simulate experiments by the thousand, or cut journals at every byte. Under the race
# detector that takes twenty minutes: with it the long run has as many rounds as the short one.
simulated=(./results ./results/report ./results/answer ./results/fleet ./results/race ./results/stat ./results/why ./plan/matrix)

# These of bench/wire send answers of megabytes by one goroutine: raced they take half a minute,
# which is for the long run.
large='^TestLongAnswer$|^TestEndResultIsChecked$|^TestAnswerOfManyFlows$'

# These of package results read a journal with several goroutines: they are raced in the short
# run, too.
threaded='^TestReadFigures$|^TestReadFiguresUpTo$'

# This one of lane host replays thousands of records in the long run: there, too, the race
# detector has the short one's.
replays='^TestReplayOfNonsense$'

# These of lane host take longest, and begin first.
first=(./cmd/zcbench ./bench ./bench/host ./bench/endpoint ./bpf)

lab_packages=(./lab/softnictest ./bpf ./flow/uring ./machine/nic ./machine/survey ./zc/dmabuf ./machine/lease ./zc/zcrx ./zc/devmem ./zc/tcpmmap ./profile/symbol)

# These want modules of Debian's kernel, each after those it depends on.
upper='^TestUpperInLab$'
upper_modules=(llc stp garp mrp 8021q bridge tls bonding macvlan)
vgem='^TestVgemInLab$'
vgem_modules=(drm drm_kms_helper drm_shmem_helper vgem)
ktls='--load veth --load ctr --load gcm --load tls' # tls asks for gcm(aes), gcm for ctr(aes), by modprobe
netem='^TestNetemInLab$'
pktgen='^TestPktgenInLab$'

# This wants a disk with an empty ext4, which this machine makes.
on_disk='^TestThenWriteInLab$'
on_disk_machine() {
	truncate -s 256M "$1" && mkfs.ext4 -q -F "$1" >&2 || return 1
	echo "--load crc16 --load mbcache --load jbd2 --load ext4 --load virtio_blk --qemu=-drive --qemu=file=$1,if=virtio,format=raw"
}

# These are of windows and turns: with clocks that count instructions nothing that runs beside the
# lab is in them.
knee='^TestLabKnee$'
tune='^TestLabTune$'

# virtio_net has zero copy for AF_XDP where it maps memory itself.
behind_iommu='--nic qemu:virtio --qemu=-global --qemu=virtio-net-pci.iommu_platform=on --qemu=-global --qemu=virtio-net-pci.disable-legacy=on'

# This wants two NUMA nodes.
nodes='^TestNodesInLab$'
nodes_machine=(--mem 2048 --qemu=-smp --qemu=sockets=2,cores=1,threads=1
	--qemu=-object --qemu=memory-backend-ram,id=m0,size=1G --qemu=-numa --qemu=node,nodeid=0,cpus=0,memdev=m0
	--qemu=-object --qemu=memory-backend-ram,id=m1,size=1G --qemu=-numa --qemu=node,nodeid=1,cpus=1,memdev=m1)

# This wants two pairs of soft NICs.
two_ports='^TestTwoPortsInLab$'

# This wants CPUs of its own for each of two flows, thread and softirq, and for their senders.
flow_layouts='^TestFlowLayoutsInLab$'

# These run on this machine, where its kernel is new enough, and always in the lab: a kernel thread
# polls NAPI of a veth.
pollers='^TestIntegrationThreadedNAPI$|^TestIntegrationBusyPollingThread$'

# These do not run in the lab: the kernel's selftests have a target of their own, the guest has
# the soft NIC and neither veth nor flock(1), and one test wants namespaces whose last
# reference is its own. Linux 7.3.4 now and then keeps one of a namespace that many tests
# have used, with every socket in it destroyed and the soft NIC at rest. Two are about each
# percent of CPU time, of which an emulated CPU loses much while others have the machine.
not_in_lab='^TestLabQEMU|^TestRedirectedOfVLAN$|^TestVgemInLab$|^TestHandsOver$|^TestKilledMemory$|^TestSelftest|^TestUpperInLab$|^TestNodesInLab$|^TestFlowLayoutsInLab$|^TestTwoPortsInLab$|^TestNetemInLab$|^TestKilledReceiver$|^TestIntegrationVeth|^TestGenerated$|^TestOneLineAddsAStage$|^TestIntegrationCost$|^TestIntegrationSampled$|^TestLockHeldByStranger$|^TestIntegrationBurntTime$|^TestIntegrationKnownWork$|^TestLabKnee$|^TestLabTune$|^TestThenWriteInLab$'
own_boot='^TestNamespacesAndModuleComeAndGo$'

# These are of journals and lock files, and ask nothing of the kernel that this one
# does not answer: emulated they take longer than all else of their package. The long
# run has them there too, with as many rounds as the short one here.
host_only='^TestJournal|^TestCreateBesideFinish$|^TestLockBesideSweep$'

# What both kernels' lanes could run is on the newest in the short run, but for these. They are on
# the older one alone, so that it is tried as well, and for balance. The long run has all on both.
not_on_backports='^TestLabRunRestores$|^TestMultishotTransfer$|^TestTailWraps$|^TestLabNoDeviceCopies$|^TestLabSend$'
not_on_backports+='|^TestLabThenWrite$|^TestLabThenKilled$|^TestLabLentTrips$|^TestLabBoth$|^TestLabVisits$|^TestLabContainer$'
not_on_backports+='|^TestLabKill$|^TestLabBatches$|^TestLabSmallRings$|^TestLabSizes$|^TestIntegrationLatencyOfProcess$|^TestLabSteered$|^TestLabSteeredFlows$|^TestLabRunFlows$'

# These of bpf the short run has on this machine alone (lane host): there they take a second, and
# emulated ten to twenty. A guest differs by its programs, which are at fentry hooks, where a
# machine may have tracepoints alone: filters, late readers and processes run in a guest as well.
here_too='^TestIntegrationLatencySample$|^TestIntegrationLatencyOfHeldSocket$|^TestIntegrationPIDNamespace$'
here_too+='|^TestIntegrationOffsetRefreshed$|^TestIntegrationStampWithoutTCX$'

# What follows the long run has on one of the two kernels: these are left out on the one named. From
# one day to the next the two change places, so two runs have all on both; ZCBENCH_TEST_HALF=0 is as
# written here, 1 the other way round.
half=${ZCBENCH_TEST_HALF:-$(($(date +%s) / 86400 % 2))}
case $half in
0 | 1) ;;
*) echo "ZCBENCH_TEST_HALF is $half: set it to 0 or 1" >&2; exit 2 ;;
esac

# as KERNEL is the kernel by whose lists it leaves out.
as() {
	case $half$1 in
	1sid) echo trixie-backports ;;
	1trixie-backports) echo sid ;;
	*) echo "$1" ;;
	esac
}

# Of the flows of 1 GiB each kind. Shorter flows of all kinds run on both.
giants_not_on_sid='^TestLabGiB$/^(thp|16_KiB|udmabuf|msg-zerocopy|devmem)$'
giants_not_on_backports='^TestLabGiB$/^(pages|huge|tcp)$'

# These run zcbench again and again, or fill a table of docs: they are about our own code. What the
# kernel does in them, other tests see on both.
ours_not_on_sid='^TestLabLayouts$|^TestLabSweep$|^TestLabGathers$|^TestLabPacedSend$'
ours_not_on_backports='^TestLabRunFlows$|^TestLabRunFlowsOfTokens$|^TestLabSteered$|^TestLabSteeredFlows$|^TestLabNoDeviceCopies$'

# Round trips of zcrx are on both kernels, those of other modes on one.
trips_not_on_sid='^TestLabTrips$/^(devmem|tcp|uring)$'

# no_lab says why the lab cannot be had, where it cannot: what the Makefile has found out,
# or, for a lane alone, what is found out here.
no_lab() {
	if [ -n "${ZCBENCH_LAB_LOOKED-}" ]; then
		echo "${ZCBENCH_LAB_WHY-}"
		return
	fi
	# shellcheck disable=SC2086
	sh mk/lab-need.sh ${LAB_PACKAGES-} 2>/dev/null
}

# What reads files that others wrote: its fuzz targets.
readers=(./results:FuzzJournal ./results:FuzzDetails ./results:FuzzRecord ./results:FuzzRunsCSV
	./results/environment:FuzzParse ./results/fleet:FuzzRead ./judge:FuzzCompare ./judge:FuzzReport
	./profile:FuzzParse ./profile:FuzzUnpacked ./profile:FuzzGraphs ./plan/matrix:FuzzReplay ./bench/doctor:FuzzReplay
	./results/share:FuzzParse)

fuzz() {
	local x
	for x in "${readers[@]}"; do # what fails becomes a seed below testdata/fuzz
		CGO_ENABLED=0 go test "${engines[@]}" -json -parallel 1 -timeout 20m -run '^$' \
			-fuzz "^${x#*:}\$" -fuzztime 1m -fuzzminimizetime 100x "${x%:*}" </dev/null || status=1
	done
}

vet() {
	local bad
	bad=$(find . -name '*.go' -not -path './out/*' -print0 | xargs -0 gofmt -l) || status=1
	[ -z "$bad" ] || { printf 'gofmt would change:\n%s\n' "$bad" >&2; status=1; }
	go vet "${everything[@]}" >&2 || status=1 # a plain build: with the native io_uring engine alone
	go vet -tags giouring "${everything[@]}" >&2 || status=1
	GOARCH=arm64 go vet -tags giouring "${everything[@]}" >&2 || status=1
	[ -n "${ZCBENCH_TEST_LINT-}" ] || return 0
	"$ZCBENCH_TEST_LINT" run "${everything[@]}" >&2 || status=1
	"$ZCBENCH_TEST_LINT" run --build-tags giouring "${everything[@]}" >&2 || status=1
}

pure() {
	local slow='' unraced=("${sequential[@]}" "${simulated[@]}") raced started starting
	[ -n "$long" ] || slow="|$large"
	mapfile -t raced < <(marked pure | grep -vxF "$(printf '%s\n' "${unraced[@]}")")
	# What programs that a test starts have read, go test does not see: such tests run each time.
	started=$(pattern kernel)
	mapfile -t starting < <(marked kernel | cut -d' ' -f1 | sort -u)
	CGO_ENABLED=0 go test "${engines[@]}" -json -timeout 20m -skip "$started|$timed" "${unraced[@]}" || status=1
	CGO_ENABLED=0 go test "${engines[@]}" -json -count=1 -run "$started" "${starting[@]}" || status=1
	[ -n "$long" ] || CGO_ENABLED=0 go test "${engines[@]}" -json -run "$large" ./bench/wire || status=1
	CGO_ENABLED=1 go test "${engines[@]}" -json -race -timeout 20m -skip "$timed$slow" "${raced[@]}" || status=1
	CGO_ENABLED=1 go test "${engines[@]}" -json -race -run "$threaded" ./results || status=1
	[ -z "$long" ] || ZCBENCH_TEST_LONG='' CGO_ENABLED=1 go test "${engines[@]}" -json -race -timeout 20m -skip "$started|$timed" "${unraced[@]}" || status=1
	[ -z "$long" ] || ZCBENCH_TEST_LONG='' CGO_ENABLED=1 go test "${engines[@]}" -json -race -count=1 -run "$started" "${starting[@]}" || status=1
}

host() {
	local all packages race=() skip="$in_lab|$timed"
	all=$(go list "${everything[@]}" | sed "s|^$(module)|.|")
	CGO_ENABLED=0 go test "${plain[@]}" -json -count=1 -run '^TestEngines$|^TestScript$/^engines$' ./flow/uring ./cmd/zcbench || status=1
	mapfile -t packages < <(grep -v '/lab$\|/lab/softnictest$' <<<"$all" | grep -vxF "$(marked pure; printf '%s\n' "${first[@]}")")
	[ -z "$long" ] || race=(-race) skip+="|$replays"
	CGO_ENABLED=${long:-0} go test "${engines[@]}" "${race[@]}" -json -count=1 -p 2 -timeout 80m -skip "$skip" "${first[@]}" "${packages[@]}" || status=1
	[ -z "$long" ] || CGO_ENABLED=0 go test "${engines[@]}" -json -count=1 -timeout 20m -run "$replays" ./bench/doctor || status=1
	[ -z "$long" ] || ZCBENCH_TEST_LONG='' CGO_ENABLED=1 go test "${engines[@]}" -json -race -count=1 -timeout 20m -run "$replays" ./bench/doctor || status=1
}

# asked EXPRESSION prints folder and name of each timed test that fits an awk expression, in which n
# is the pattern not_in_lab and h what here_too is; with ZCBENCH_TEST_AGAIN of that one alone.
asked() {
	local all
	all=$(marked timed)
	[ -n "$all" ] || { echo "no test is timed" >&2; return 1; }
	awk -v n="$not_in_lab" -v h="$here_too" "$1" <<<"$all" | { grep -xF "${ZCBENCH_TEST_AGAIN:-$all}" || true; }
}

# named prints a pattern of the names of tests, folders those of their packages, and expected tells
# tools/lanes that they have to run.
named() { echo "^($(cut -d' ' -f2 <<<"$1" | sort -u | paste -sd'|'))\$"; }
folders() { cut -d' ' -f1 <<<"$1" | sort -u; }
expected() {
	awk -v m="$(module)" '{ printf "{\"Action\":\"expect\",\"Package\":\"%s\",\"Test\":\"%s\"}\n", m substr($1, 2), $2 }' <<<"$1"
}

timed() {
	local tests
	tests=$(asked '$2 !~ /^TestLab/')
	[ -n "$tests" ] || return 0
	expected "$tests"
	# shellcheck disable=SC2046
	CGO_ENABLED=0 go test "${engines[@]}" -json -count=1 -p 1 -timeout 40m -run "$(named "$tests")" $(folders "$tests") || status=1
}

# timed_lab KERNEL is timed in the lab: of packages that run there.
timed_lab() {
	local tests here='$2 ~ h'
	[ -z "$long" ] || here=0
	tests=$(asked "(\$2 ~ /^TestLab/ || index(\" ${lab_packages[*]} \", \" \" \$1 \" \")) && \$2 !~ n && !($here)")
	[ -n "$tests" ] && built "$1" || return 0
	expected "$tests"
	# shellcheck disable=SC2046
	"$folder/bin/zcbench" lab up --kernel "$1" -- mk/linked.sh "$folder/bin/zcbench lab exec --timeout $limit --" \
		timeout=$ends run="$(named "$tests")" -- $(folders "$tests") || status=1
}

lab() {
	local nic mode disk
	ZCBENCH_LAB_WHY=$(no_lab)
	export CGO_ENABLED=0 ZCBENCH_LAB_TEST=1 ZCBENCH_LAB_WHY
	go test "${plain[@]}" -json -count=1 -timeout 40m ./lab || status=1
	go test "${engines[@]}" -json -count=1 -timeout 40m -run '^TestLab' ./cmd/zcbench || status=1 # the lab's demo
	[ -n "$long" ] && [ -z "$ZCBENCH_LAB_WHY" ] || return 0
	own_machine '^TestLabLockdown$' '' ./bench/doctor || status=1
	for nic in '' qemu:virtio qemu:e1000e; do
		own_machine "$upper" "--kernel trixie-backports ${nic:+--nic $nic} $(printf -- '--load %s ' "${upper_modules[@]}")" ./zc/zcrx |
			sed -u 's/"Package":"\([^"]*\)"/"Package":"\1'"${nic:+ as ${nic#qemu:}}"'"/' || status=1
	done
	own_machine "$nodes" "${nodes_machine[*]}" ./zc/zcrx || status=1
	own_machine "$flow_layouts" '--cpus 6' ./zc/zcrx || status=1
	own_machine "$pollers" '--load veth' ./bench || status=1
	own_machine '^TestLabKernelFeatures$' "$ktls" ./bench/doctor || status=1
	own_machine '^TestLabKernelFeatures$' "--kernel trixie-backports $ktls" ./bench/doctor |
		sed -u 's/"Package":"\([^"]*\)"/"Package":"\1 on trixie-backports"/' || status=1
	own_machine '^TestIntegrationKTLS$' "--kernel trixie-backports $ktls" ./bench || status=1
	own_machine '^TestTLSOfOthers$|^TestTLSIsDamaged$|^TestTLSEndsWhole$' "$ktls" ./baseline || status=1
	own_machine '^TestCloseNotify$|^TestKnowsOptions$|^TestRefusedKeys$' "$ktls" ./flow/records || status=1
	own_machine "$netem" '--load sch_netem' ./bpf || status=1
	for mode in devmem zcrx; do
		own_machine "$two_ports" '--softnic pairs=2' ./zc/$mode || status=1
		own_machine "$vgem" "$(printf -- '--load %s ' "${vgem_modules[@]}")" ./zc/$mode || status=1
		own_machine "$vgem" "--kernel trixie-backports $(printf -- '--load %s ' "${vgem_modules[@]}")" ./zc/$mode |
			sed -u 's/"Package":"\([^"]*\)"/"Package":"\1 on trixie-backports"/' || status=1
	done
	disk=$(mktemp)
	own_machine "$on_disk" "$(on_disk_machine "$disk")" ./zc/zcrx || status=1
	rm -f "$disk"
	own_machine "$knee" "--count-time --kernel $(as sid)" ./zc/zcrx || status=1
	own_machine "$knee" "--count-time --kernel $(as trixie-backports)" ./zc/devmem || status=1
	own_machine "$tune" "--count-time --kernel $(as trixie-backports)" ./zc/zcrx || status=1
	own_machine "$pktgen" '--load veth --load pktgen' ./packet/xdp || status=1
	own_machine '^TestLabXDPGeneric$' '' ./packet/xdp || status=1
	own_machine '^TestLabQEMUXDP$' "$behind_iommu" ./packet/xdp || status=1
	own_machine '^TestLabQEMUAFXDP$' "$behind_iommu" ./packet/datagram || status=1
}

# own_machine TESTS FLAGS PACKAGE runs tests on a machine of their own.
own_machine() {
	mk/linked.sh "$folder/bin/zcbench lab exec --own-boot --timeout 20m $2 --" run="$1" timeout=18m -- "$3"
}

# imitated says which drivers the soft NIC imitates on a kernel: one on the newest in the short
# run, and all on both in the long one.
imitated() {
	case $long$1 in
	sid) ;;
	trixie-backports) echo bnxt ;;
	*) echo mlx5 bnxt fbnic gve virtio-like idpf ice gve-old bnxt-old ;;
	esac
}

# killed says for which drivers a kernel has the kills of the long run, and what a run puts back:
# they are about our leases and each driver's ways, and much less about the kernel.
killed() {
	case $1 in
	sid) echo mlx5 fbnic virtio-like ice bnxt-old qemu:virtio ;;
	trixie-backports) echo bnxt gve idpf gve-old qemu:e1000e gve-real ;;
	*) echo mlx5 bnxt fbnic gve virtio-like idpf ice gve-old bnxt-old qemu:virtio qemu:e1000e gve-real ;;
	esac
}

# real says which NICs of QEMU's or of ours, with real drivers, a kernel is tried with.
real() {
	case $long$1 in
	sid) echo qemu:virtio ;;
	1*) echo qemu:virtio qemu:e1000e gve-real ;;
	esac
}

# built says whether the lab can be had, with this kernel. Where it cannot, one test stands for all
# in the list of what was skipped.
built() {
	local why said
	why=$(no_lab)
	if [ -n "$why" ]; then
		ZCBENCH_LAB_WHY=$why go test "${plain[@]}" -json -count=1 -run '^TestIntegrationLabExitStatus$' ./lab || status=1
		return 1
	fi
	if ! said=$("$folder/bin/zcbench" lab build --kernel "$1" 2>&1); then
		echo "FAILED: the lab could not be built for $1: $said" >&2
		status=1
		return 1
	fi
	export CGO_ENABLED=0 ZCBENCH_LAB_TEST=1
}

# A package that takes longer stands. zc/zcrx takes five minutes of an emulated CPU, and beside four
# lanes a machine with two has a third of one.
limit=40m
[ -z "$long" ] || limit=70m

# Before that a program whose test hangs ends itself, and says where each goroutine waits.
ends=38m
[ -z "$long" ] || ends=65m

kernel() {
	local skip="$not_in_lab|$own_boot|$host_only|$timed" only=() packages=("${lab_packages[@]}")
	if [ -n "$long" ]; then
		case $(as "$1") in
		sid) skip+="|$giants_not_on_sid|$ours_not_on_sid|$trips_not_on_sid" ;;
		trixie-backports) skip+="|$giants_not_on_backports|$ours_not_on_backports" ;;
		esac
	else
		skip+="|$here_too"
		case $1 in
		sid)
			only=(run="$not_on_backports")
			packages=(./lab/softnictest ./bpf ./flow/uring ./machine/lease ./zc/zcrx ./zc/devmem ./zc/tcpmmap)
			;;
		trixie-backports) skip+="|$not_on_backports" ;;
		esac
	fi
	built "$1" || return 0
	# shellcheck disable=SC2046
	"$folder/bin/zcbench" lab up --kernel "$1" -- \
		mk/linked.sh "$folder/bin/zcbench lab exec --timeout $limit --" timeout=$ends shuffle=on \
		"${only[@]}" skip="$skip" -- $(shuf -e "${packages[@]}") || status=1
}

nics() {
	local nic
	built "$1" || return 0
	export ZCBENCH_LAB_KILLED
	ZCBENCH_LAB_KILLED=$(killed "$(as "$1")")
	# shellcheck disable=SC2046
	[ -z "$(imitated "$1")" ] || "$folder/bin/zcbench" lab up --kernel "$1" -- mk/imitated.sh $(imitated "$1") || status=1
	for nic in $(real "$1"); do
		"$folder/bin/zcbench" lab up --kernel "$1" --nic "$nic" -- mk/real.sh "$nic" || status=1
	done
	local own="$folder/bin/zcbench lab exec --own-boot --kernel $1 --timeout $limit --"
	[ "$long$1" = sid ] || mk/linked.sh "$own" run="$own_boot" timeout=$ends -- ./lab/softnictest || status=1
	[ -z "$long" ] || ZCBENCH_TEST_LONG='' mk/linked.sh "$own" run="$host_only" timeout=$ends -- ./machine/lease || status=1
}

case $1 in
vet | pure | fuzz | host | lab | timed) "$1" ;;
nics:*) nics "${1#nics:}" ;;
timed:*) timed_lab "${1#timed:}" ;;
*) kernel "$1" ;;
esac
exit $status
