#include "stats.h"
#include "lines.h"
#include <algorithm>
#include <sstream>

using namespace std;

namespace
{
// 64 buckets per power of two.
int bucketOf(int64_t ns)
{
    uint64_t v = static_cast<uint64_t>(max<int64_t>(ns, 0)) + 64;
    int shift = 0;
    while((v >> shift) >= 128)
    {
        ++shift;
    }
    return shift * 64 + static_cast<int>((v >> shift) - 64);
}

int64_t middleOf(int bucket)
{
    int shift = bucket / 64;
    int64_t low = static_cast<int64_t>(bucket % 64 + 64) << shift;
    return low + ((int64_t(1) << shift) >> 1) - 64;
}
}

void Histogram::add(int64_t ns)
{
    ++_buckets[bucketOf(ns)];
    ++_count;
    _max = std::max(_max, ns);
}

int64_t Histogram::quantile(double q) const
{
    uint64_t want = static_cast<uint64_t>(q * static_cast<double>(_count)), seen = 0;
    for(const auto& b : _buckets)
    {
        seen += b.second;
        if(seen > want)
        {
            return min(middleOf(b.first), _max);
        }
    }
    return _max;
}

Sequence::Verdict Sequence::add(uint32_t seq)
{
    auto& block = _seen[seq / 4096];
    if(block[seq % 4096])
    {
        return repeated;
    }
    block.set(seq % 4096);
    bool first = _distinct++ == 0;
    bool behind = !first && seq < _high;
    _low = first ? seq : min(_low, seq);
    _high = first ? seq : max(_high, seq);
    return behind ? late : fresh;
}

uint64_t Sequence::gaps() const
{
    return _distinct ? uint64_t(_high) - _low + 1 - _distinct : 0;
}

void Stats::count()
{
    _last = nowNs();
    if(_count++ == 0)
    {
        _first = _last;
    }
}

void Stats::addForeign()
{
    count();
    ++_foreign;
}

void Stats::add(const Event& event, int64_t latencyNs)
{
    count();
    auto verdict = _publishers[event.publisher].add(event.seq);
    _dup += verdict == Sequence::repeated;
    _inversions += verdict == Sequence::late;
    _latency.add(latencyNs);
}

string Stats::line(const string& topic) const
{
    uint64_t gaps = 0;
    for(const auto& p : _publishers)
    {
        gaps += p.second.gaps();
    }
    ostringstream out;
    out << "summary " << word(topic) << " count " << _count << " dup " << _dup << " gaps " << gaps
        << " inversions " << _inversions << " foreign " << _foreign << " p50 " << _latency.quantile(0.5)
        << " p99 " << _latency.quantile(0.99) << " max " << _latency.max()
        << " seconds " << static_cast<double>(_last - _first) / 1e9;
    return out.str();
}
