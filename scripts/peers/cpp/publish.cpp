#include "commands.h"
#include "connect.h"
#include "event.h"
#include "life.h"
#include "lines.h"
#include <Peer.h>
#include <atomic>
#include <mutex>
#include <sstream>
#include <thread>

using namespace std;

namespace
{
struct Plan
{
    uint64_t count;      // per thread; 0: until the end
    double seconds;      // 0: no limit
    double rate;         // per thread, events per second; 0: flat out
    size_t size;
    string mode, op, text;
    int batch;
    vector<string> costs; // used in turn
    Ice::Context context;
    uint32_t seqStart;
    bool keepGoing, each;
};

Plan planFrom(Options& options, int threads)
{
    Plan plan;
    plan.seconds = options.real("seconds", 0);
    plan.count = static_cast<uint64_t>(options.number("count", plan.seconds > 0 ? 0 : 1));
    plan.rate = options.real("rate", 0) / threads;
    plan.size = static_cast<size_t>(options.number("size", Event::headSize));
    plan.mode = options.text("mode", "twoway");
    plan.op = options.text("op", "tick");
    plan.text = options.text("text");
    plan.batch = static_cast<int>(options.number("batch", 100));
    plan.costs = options.list("cost");
    plan.context = options.pairs("context");
    plan.seqStart = static_cast<uint32_t>(options.number("seq-start", 0));
    plan.keepGoing = options.flag("keep-going");
    plan.each = options.flag("each");
    if(plan.size < Event::headSize)
    {
        throw Usage("--size: at least 16");
    }
    return plan;
}

shared_ptr<Ice::ObjectPrx> inMode(shared_ptr<Ice::ObjectPrx> proxy, const string& mode)
{
    if(mode == "twoway") return proxy->ice_twoway();
    if(mode == "oneway") return proxy->ice_oneway();
    if(mode == "batch") return proxy->ice_batchOneway();
    if(mode == "datagram") return proxy->ice_datagram();
    if(mode == "batchdatagram") return proxy->ice_batchDatagram();
    throw Usage("--mode: unknown: " + mode);
}

void invoke(Peer::EventsPrx& to, const Plan& plan, uint32_t seq, const Peer::Bytes& body, const Ice::Context& context)
{
    if(plan.op == "tick") to.tick(body, context);
    else if(plan.op == "message") to.message(body, context);
    else if(plan.op == "mark") to.mark(body, context);
    else if(plan.op == "say") to.say(plan.text.empty() ? toText(body) : plan.text, context);
    else if(plan.op == "count") to.count(seq, body, context);
    else if(plan.op == "ask") to.ask(body, context);
    else throw Usage("--op: unknown: " + plan.op);
}

// One thread's events, in order.
class Stream
{
public:
    Stream(const Plan& plan, shared_ptr<Peer::EventsPrx> to, uint16_t publisher) :
        _plan(plan), _to(to), _batched(plan.mode.compare(0, 5, "batch") == 0), _body(plan.size, 0xA5)
    {
        _event.publisher = publisher;
    }

    void run()
    {
        auto start = chrono::steady_clock::now();
        for(uint64_t i = 0; !over(i, start); ++i)
        {
            if(_plan.rate > 0 &&
               !life().sleepUntil(start + chrono::nanoseconds(static_cast<int64_t>(1e9 / _plan.rate * static_cast<double>(i)))))
            {
                break;
            }
            if(!publish(i))
            {
                break;
            }
        }
        flush();
    }

    uint64_t published = 0, acked = 0, errors = 0;

private:
    bool over(uint64_t i, chrono::steady_clock::time_point start) const
    {
        if(life().ended() || (_plan.count > 0 && i >= _plan.count))
        {
            return true;
        }
        return _plan.seconds > 0 && chrono::steady_clock::now() - start >= chrono::duration<double>(_plan.seconds);
    }

    // False where the stream has to end.
    bool publish(uint64_t i)
    {
        _event.seq = _plan.seqStart + static_cast<uint32_t>(i);
        _event.sentNs = nowNs();
        encode(_event, _body);
        ++published;
        try
        {
            invoke(*_to, _plan, _event.seq, _body, contextOf(i));
            ++_pending;
            if(!_batched || _pending >= static_cast<uint64_t>(_plan.batch))
            {
                settle();
            }
        }
        catch(const Usage&)
        {
            throw;
        }
        catch(...)
        {
            return fail(current_exception());
        }
        return true;
    }

    // Written (and answered, in mode twoway): what was pending counts as acknowledged.
    void settle()
    {
        if(_batched)
        {
            _to->ice_flushBatchRequests();
        }
        if(_plan.each)
        {
            for(uint64_t k = _pending; k > 0; --k)
            {
                sayLine("ok " + to_string(_event.seq - static_cast<uint32_t>(k) + 1));
            }
        }
        acked += _pending;
        _pending = 0;
    }

    bool fail(exception_ptr error)
    {
        errors += _pending + (_batched ? 0 : 1);
        _pending = 0;
        sayLine("err " + to_string(_event.seq) + " " + describe(error));
        if(_plan.keepGoing && _plan.rate <= 0)
        {
            life().sleepUntil(chrono::steady_clock::now() + chrono::milliseconds(20)); // don't spin on a dead server
        }
        return _plan.keepGoing;
    }

    void flush()
    {
        try
        {
            settle();
        }
        catch(...)
        {
            fail(current_exception());
        }
    }

    Ice::Context contextOf(uint64_t i) const
    {
        Ice::Context context = _plan.context;
        if(!_plan.costs.empty() && _plan.costs[i % _plan.costs.size()] != "none")
        {
            context["cost"] = _plan.costs[i % _plan.costs.size()];
        }
        return context;
    }

    const Plan& _plan;
    shared_ptr<Peer::EventsPrx> _to;
    bool _batched;
    Peer::Bytes _body;
    Event _event;
    uint64_t _pending = 0;
};

shared_ptr<Ice::ObjectPrx> publisherOf(const shared_ptr<IceStorm::TopicPrx>& topic, const string& kind)
{
    if(kind == "any") return topic->getPublisher();
    if(kind == "local") return topic->getNonReplicatedPublisher();
    throw Usage("--publisher-kind: any or local");
}

// Threads of one process share a connection unless they ask for their own.
shared_ptr<Peer::EventsPrx> own(const shared_ptr<Ice::ObjectPrx>& proxy, int thread)
{
    return Ice::uncheckedCast<Peer::EventsPrx>(proxy->ice_connectionId(thread ? to_string(thread) : ""));
}

class Gate
{
public:
    void open()
    {
        lock_guard<mutex> lock(_mutex);
        _open = true;
        _changed.notify_all();
    }
    void wait()
    {
        unique_lock<mutex> lock(_mutex);
        while(!_open && !life().ended())
        {
            _changed.wait_for(lock, chrono::milliseconds(50));
        }
    }

private:
    mutex _mutex;
    condition_variable _changed;
    bool _open = false;
};

void runAll(vector<unique_ptr<Stream>>& streams)
{
    vector<thread> threads;
    for(auto& s : streams)
    {
        threads.emplace_back([&s] { s->run(); });
    }
    for(auto& t : threads)
    {
        t.join();
    }
}

int report(const vector<unique_ptr<Stream>>& streams, int64_t ns)
{
    uint64_t published = 0, acked = 0, errors = 0;
    for(const auto& s : streams)
    {
        published += s->published;
        acked += s->acked;
        errors += s->errors;
    }
    ostringstream out;
    out << "published " << published << " acked " << acked << " errors " << errors << " seconds "
        << static_cast<double>(ns) / 1e9;
    sayLine(out.str());
    return errors ? 1 : 0;
}
}

int publish(const Ice::CommunicatorPtr& ice, Options& options)
{
    static Gate gate;
    int threads = static_cast<int>(options.number("threads", 1));
    if(threads < 1)
    {
        throw Usage("--threads: at least 1");
    }
    Plan plan = planFrom(options, threads);
    auto name = options.need("topic"), kind = options.text("publisher-kind", "any");
    auto id = static_cast<uint16_t>(options.number("publisher", 1));
    bool create = options.flag("create"), gated = options.flag("gate"), untilEof = options.flag("until-eof");
    auto manager = topicManager(ice, options);
    options.check();

    auto proxy = inMode(tuned(publisherOf(topicNamed(manager, name, create), kind), options), plan.mode);
    vector<unique_ptr<Stream>> streams;
    for(int k = 0; k < threads; ++k)
    {
        streams.emplace_back(new Stream(plan, own(proxy, k), static_cast<uint16_t>(id + k)));
    }
    sayLine("ready " + proxy->ice_toString());
    if(gated || untilEof)
    {
        life().readStdin(untilEof, [](const string&) { gate.open(); });
    }
    if(gated)
    {
        gate.wait();
    }
    int64_t start = nowNs();
    runAll(streams);
    return report(streams, nowNs() - start);
}
