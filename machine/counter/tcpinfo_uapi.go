// SPDX-License-Identifier: MIT

package counter

import (
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tcpInfo is struct tcp_info of include/uapi/linux/tcp.h as of Linux 6.18.
// x/sys has these fields too, but neither the bits of byte 7 nor the length of
// the kernel's answer, without which a field that an older kernel lacks reads
// as a measured 0.
type tcpInfo struct {
	_ structs.HostLayout

	State, CAState, Retransmits, Probes, Backoff, Options uint8
	Wscale                                                uint8 // snd : 4, rcv : 4
	// delivery_rate_app_limited : 1, fastopen_client_fail : 2
	Bits uint8

	RTO, ATO, SndMSS, RcvMSS                          uint32
	Unacked, Sacked, Lost, Retrans, Fackets           uint32
	LastDataSent, LastAckSent                         uint32
	LastDataRecv, LastAckRecv                         uint32
	PMTU, RcvSsthresh, RTT, RTTVar                    uint32
	SndSsthresh, SndCwnd, AdvMSS, Reordering          uint32
	RcvRTT, RcvSpace, TotalRetrans                    uint32
	PacingRate, MaxPacingRate                         uint64
	BytesAcked, BytesReceived                         uint64
	SegsOut, SegsIn, NotsentBytes, MinRTT             uint32
	DataSegsIn, DataSegsOut                           uint32
	DeliveryRate, BusyTime                            uint64
	RwndLimited, SndbufLimited                        uint64
	Delivered, DeliveredCE                            uint32
	BytesSent, BytesRetrans                           uint64
	DSackDups, ReordSeen, RcvOOOPack                  uint32
	SndWnd, RcvWnd, Rehash                            uint32
	TotalRTO, TotalRTORecoveries                      uint16
	TotalRTOTime                                      uint32
	ReceivedCE                                        uint32
	DeliveredE1Bytes, DeliveredE0Bytes                uint32
	DeliveredCEBytes                                  uint32
	ReceivedE1Bytes, ReceivedE0Bytes, ReceivedCEBytes uint32
	_                                                 uint32 // tail padding of the 64-bit fields
}

// tcpInfoMin is the length up to tcpi_total_retrans, which every kernel since
// 2.6 fills.
const tcpInfoMin = unsafe.Offsetof(tcpInfo{}.PacingRate)

// getTCPInfo asks for TCP_INFO. n is how many bytes the kernel filled: less than
// the struct on an older kernel; a newer one cuts its answer.
func getTCPInfo(fd int) (ti tcpInfo, n uintptr, err error) {
	size := uint32(unsafe.Sizeof(ti))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&ti)), uintptr(unsafe.Pointer(&size)), 0)
	if e != 0 {
		return ti, 0, e
	}
	return ti, uintptr(size), nil
}

// end returns the offset behind a field of ti.
func end[T any](ti *tcpInfo, field *T) uintptr {
	return uintptr(unsafe.Pointer(field)) - uintptr(unsafe.Pointer(ti)) + unsafe.Sizeof(*field)
}
