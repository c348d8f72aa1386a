// The servants of a subscriber.
#pragma once
#include "stats.h"
#include <Ice/Ice.h>
#include <atomic>
#include <mutex>

// What a servant does with an event, after having counted it.
struct Behaviour
{
    enum Kind { ok, slow, hang, throwUser, throwUnknown, objectNotExist };

    Kind kind;
    int ms;

    static Behaviour parse(const std::string& text);
};

// Ends the process's life once enough events have come, over all topics.
class Tally
{
public:
    explicit Tally(uint64_t expect) : _expect(expect) {}
    void count();

private:
    uint64_t _expect; // 0: never
    std::atomic<uint64_t> _seen{0};
};

class Receiver : public std::enable_shared_from_this<Receiver>
{
public:
    Receiver(const std::string& topic, Behaviour behaviour, bool print, Tally& tally);

    // The typed servant, or one that takes whatever operation comes.
    std::shared_ptr<Ice::Object> servant(bool any);
    void behave(Behaviour behaviour);
    std::string summary();

    // For the servants.
    void binary(const std::vector<Ice::Byte>& body, const Ice::Current& current);
    void text(const std::string& text, const Ice::Current& current);
    void raw(const std::vector<Ice::Byte>& encapsulation, const Ice::Current& current);

private:
    void take(const Event* event, size_t bytes, const std::string& text, const Ice::Current& current);
    void act();

    const std::string _topic;
    const bool _print;
    Tally& _tally;
    std::mutex _mutex; // guards what follows
    Behaviour _behaviour;
    Stats _stats;
};
