// When a program ends: a signal, its time, the end of stdin, or its work being done.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

class Life
{
public:
    enum Reason { running, done, signalled, closed, expired };

    void end(Reason reason); // the first reason counts
    bool ended();
    Reason wait(double seconds); // 0: without limit
    // Sleeps until then or until the end; false where it ended.
    bool sleepUntil(std::chrono::steady_clock::time_point then);

    // Hands every line of stdin to onLine from a thread of its own; at its end, Life ends where untilEof is set.
    void readStdin(bool untilEof, std::function<void(const std::string&)> onLine);

private:
    std::mutex _mutex;
    std::condition_variable _changed;
    Reason _reason = running;
};

Life& life(); // one for the process, ended by SIGINT, SIGTERM and SIGHUP
