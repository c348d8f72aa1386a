// What a subscriber counts, in bounded memory.
#pragma once
#include "event.h"
#include <bitset>
#include <map>
#include <string>

// Latencies in logarithmic buckets, exact to about 1.5 %.
class Histogram
{
public:
    void add(int64_t ns);
    int64_t quantile(double q) const; // 0 where nothing was added
    int64_t max() const { return _max; }

private:
    std::map<int, uint64_t> _buckets;
    uint64_t _count = 0;
    int64_t _max = 0;
};

// The sequence numbers seen of one publisher.
class Sequence
{
public:
    enum Verdict { fresh, repeated, late };

    Verdict add(uint32_t seq);
    uint64_t gaps() const; // numbers missing between the lowest and the highest seen

private:
    std::map<uint32_t, std::bitset<4096>> _seen;
    uint64_t _distinct = 0;
    uint32_t _low = 0, _high = 0;
};

class Stats
{
public:
    void add(const Event& event, int64_t latencyNs);
    void addForeign(); // an event that isn't ours, or is damaged
    // "summary TOPIC count N dup N gaps N inversions N foreign N p50 NS p99 NS max NS seconds S"
    std::string line(const std::string& topic) const;

private:
    void count();

    std::map<uint16_t, Sequence> _publishers;
    Histogram _latency;
    uint64_t _count = 0, _dup = 0, _inversions = 0, _foreign = 0;
    int64_t _first = 0, _last = 0;
};
