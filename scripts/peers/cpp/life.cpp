#include "life.h"
#include <iostream>
#include <thread>

using namespace std;

void Life::end(Reason reason)
{
    lock_guard<mutex> lock(_mutex);
    if(_reason == running)
    {
        _reason = reason;
    }
    _changed.notify_all();
}

bool Life::ended()
{
    lock_guard<mutex> lock(_mutex);
    return _reason != running;
}

Life::Reason Life::wait(double seconds)
{
    unique_lock<mutex> lock(_mutex);
    auto over = [this] { return _reason != running; };
    if(seconds <= 0)
    {
        _changed.wait(lock, over);
    }
    else if(!_changed.wait_for(lock, chrono::duration<double>(seconds), over))
    {
        _reason = expired;
    }
    return _reason;
}

bool Life::sleepUntil(chrono::steady_clock::time_point then)
{
    unique_lock<mutex> lock(_mutex);
    return !_changed.wait_until(lock, then, [this] { return _reason != running; });
}

void Life::readStdin(bool untilEof, function<void(const string&)> onLine)
{
    // Detached: a blocked read of stdin can't be ended; the process leaves by _exit (see main).
    thread([this, untilEof, onLine] {
        string line;
        while(getline(cin, line))
        {
            onLine(line);
        }
        if(untilEof)
        {
            end(closed);
        }
    }).detach();
}

Life& life()
{
    static Life* it = new Life; // never destroyed: the stdin thread outlives main
    return *it;
}
