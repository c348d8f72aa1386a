#include "event.h"
#include <array>
#include <cstring>
#include <ctime>

using namespace std;
using Ice::Byte;

namespace
{
array<uint32_t, 256> crcTable()
{
    array<uint32_t, 256> table{};
    for(uint32_t i = 0; i < 256; ++i)
    {
        uint32_t c = i;
        for(int bit = 0; bit < 8; ++bit)
        {
            c = (c >> 1) ^ (c & 1 ? 0xEDB88320u : 0u);
        }
        table[i] = c;
    }
    return table;
}

uint32_t crc(uint32_t sum, const Byte* bytes, size_t n)
{
    static const auto table = crcTable();
    for(size_t i = 0; i < n; ++i)
    {
        sum = table[(sum ^ bytes[i]) & 0xFF] ^ (sum >> 8);
    }
    return sum;
}

uint16_t checksum(const vector<Byte>& body)
{
    uint32_t sum = crc(0xFFFFFFFFu, body.data(), 14);
    return static_cast<uint16_t>(~crc(sum, body.data() + Event::headSize, body.size() - Event::headSize));
}

int hexDigit(char c)
{
    if(c >= '0' && c <= '9') return c - '0';
    if(c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}
}

int64_t nowNs()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

void encode(const Event& event, vector<Byte>& body)
{
    memcpy(&body[0], &event.sentNs, 8);
    memcpy(&body[8], &event.seq, 4);
    memcpy(&body[12], &event.publisher, 2);
    uint16_t sum = checksum(body);
    memcpy(&body[14], &sum, 2);
}

bool decode(const vector<Byte>& body, Event& event)
{
    if(body.size() < Event::headSize)
    {
        return false;
    }
    uint16_t sum;
    memcpy(&event.sentNs, &body[0], 8);
    memcpy(&event.seq, &body[8], 4);
    memcpy(&event.publisher, &body[12], 2);
    memcpy(&sum, &body[14], 2);
    return sum == checksum(body);
}

string toText(const vector<Byte>& body)
{
    static const char digits[] = "0123456789abcdef";
    string out;
    for(Byte b : body)
    {
        out += digits[b >> 4];
        out += digits[b & 15];
    }
    return out;
}

bool fromText(const string& text, vector<Byte>& body)
{
    if(text.size() % 2)
    {
        return false;
    }
    body.clear();
    for(size_t i = 0; i < text.size(); i += 2)
    {
        int high = hexDigit(text[i]), low = hexDigit(text[i + 1]);
        if(high < 0 || low < 0)
        {
            return false;
        }
        body.push_back(static_cast<Byte>(high << 4 | low));
    }
    return true;
}
