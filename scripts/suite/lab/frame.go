package lab

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
)

// Offsets in a frame of Ethernet with IPv4 (RFC 894, RFC 791).
const (
	etherLength = 14
	ipv4Least   = 20
	protocolTCP = 6
	protocolUDP = 17
)

// inPackets is an IP address as it stands in packets.
func inPackets(host string) [4]byte {
	a, err := netip.ParseAddr(host)
	if err != nil || !a.Is4() {
		return [4]byte{}
	}
	return a.As4()
}

// sourceOf returns who sent the packet in a frame. Frames without IPv4, those
// of ARP for one, have nobody.
func sourceOf(frame []byte) ([4]byte, bool) {
	if len(frame) < etherLength+ipv4Least || binary.BigEndian.Uint16(frame[12:]) != 0x0800 {
		return [4]byte{}, false
	}
	return [4]byte(frame[etherLength+12:]), true
}

// damage changes a random byte of what TCP or UDP carry and mends the checksum,
// so that only who looks at the bytes finds out. Packets of other ports, those
// that carry nothing, fragments and other protocols stay as they are.
func damage(frame []byte, port uint16) {
	if _, ok := sourceOf(frame); !ok {
		return
	}
	packet := frame[etherLength:]
	header, total := int(packet[0]&0xf)*4, int(binary.BigEndian.Uint16(packet[2:]))
	fragment := binary.BigEndian.Uint16(packet[6:]) & 0x3fff // more to come, or an offset
	if header < ipv4Least || total > len(packet) || header > total || fragment != 0 {
		return
	}
	packet = packet[:total] // short frames are padded
	segment := packet[header:]
	payload, sum := layout(packet[9], segment)
	if payload >= len(segment) || binary.BigEndian.Uint16(segment) != port && binary.BigEndian.Uint16(segment[2:]) != port {
		return
	}
	segment[payload+rand.IntN(len(segment)-payload)] ^= byte(1 + rand.IntN(255))
	field := segment[sum:]
	if packet[9] == protocolUDP && binary.BigEndian.Uint16(field) == 0 {
		return // it has none
	}
	binary.BigEndian.PutUint16(field, 0)
	binary.BigEndian.PutUint16(field, checksum(packet, segment))
}

// layout returns where a segment's payload begins and where its checksum is. A
// segment without room for a header has its payload beyond its end.
func layout(protocol byte, segment []byte) (payload, sum int) {
	switch {
	case protocol == protocolTCP && len(segment) >= 20:
		return int(segment[12]>>4) * 4, 16
	case protocol == protocolUDP && len(segment) >= 8:
		return 8, 6
	}
	return len(segment), 0
}

// checksum is that of TCP and UDP (RFC 9293, RFC 768): over the segment and a
// pseudo-header of the packet.
func checksum(packet, segment []byte) uint16 {
	pseudo := append([]byte(nil), packet[12:20]...)
	pseudo = append(pseudo, 0, packet[9], byte(len(segment)>>8), byte(len(segment)))
	sum := uint32(0)
	for _, part := range [][]byte{pseudo, segment} {
		for i := 0; i < len(part); i += 2 {
			word := uint32(part[i]) << 8
			if i+1 < len(part) {
				word |= uint32(part[i+1])
			}
			sum += word
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	if packet[9] == protocolUDP && sum == 0xffff {
		return 0xffff // 0 says that there is none
	}
	return ^uint16(sum)
}
