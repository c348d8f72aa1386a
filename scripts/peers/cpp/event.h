// The 16 bytes that begin every event body: int64 send time, uint32 sequence number, uint16 publisher,
// uint16 checksum (low half of the CRC-32 of all other bytes); little-endian.
#pragma once
#include <Ice/Config.h>
#include <cstdint>
#include <string>
#include <vector>

struct Event
{
    static const size_t headSize = 16;

    uint16_t publisher = 0;
    uint32_t seq = 0;
    int64_t sentNs = 0; // CLOCK_MONOTONIC: comparable between processes of one machine
};

int64_t nowNs();

// Fills body (at least headSize bytes; what follows the head is padding and stays as it is).
void encode(const Event& event, std::vector<Ice::Byte>& body);

// False where the body is too short or damaged, or somebody else's.
bool decode(const std::vector<Ice::Byte>& body, Event& event);

// The same as text: the body in hexadecimal.
std::string toText(const std::vector<Ice::Byte>& body);
bool fromText(const std::string& text, std::vector<Ice::Byte>& body);
