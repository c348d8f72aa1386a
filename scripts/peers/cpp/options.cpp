#include "options.h"
#include <set>

using namespace std;

namespace
{
const set<string> flags = {"create", "unsubscribe", "again", "keep-going", "each", "gate", "until-eof", "any"};

long long wholeNumber(const string& name, const string& text)
{
    size_t used = 0;
    long long n = 0;
    try
    {
        n = stoll(text, &used);
    }
    catch(const exception&)
    {
        used = string::npos;
    }
    if(used != text.size())
    {
        throw Usage("--" + name + ": not a whole number: " + text);
    }
    return n;
}
}

pair<string, string> cutPair(const string& text)
{
    auto at = text.find('=');
    if(at == string::npos)
    {
        throw Usage("not of the form key=value: " + text);
    }
    return {text.substr(0, at), text.substr(at + 1)};
}

vector<string> cutList(const string& text)
{
    vector<string> out;
    size_t from = 0;
    for(;;)
    {
        auto comma = text.find(',', from);
        out.push_back(text.substr(from, comma - from));
        if(comma == string::npos)
        {
            return out;
        }
        from = comma + 1;
    }
}

Options::Options(const vector<string>& args)
{
    for(size_t i = 0; i < args.size(); ++i)
    {
        if(args[i] == "--")
        {
            words.insert(words.end(), args.begin() + static_cast<long>(i) + 1, args.end());
            return;
        }
        if(args[i].compare(0, 2, "--") != 0)
        {
            words.push_back(args[i]);
            continue;
        }
        string name = args[i].substr(2);
        if(flags.count(name))
        {
            _values.emplace(name, "1");
            continue;
        }
        if(++i == args.size())
        {
            throw Usage("--" + name + " needs a value");
        }
        _values.emplace(name, args[i]);
    }
}

bool Options::flag(const string& name)
{
    _asked[name] = true;
    return has(name);
}

bool Options::has(const string& name) const
{
    return _values.count(name) > 0;
}

string Options::text(const string& name, const string& otherwise)
{
    _asked[name] = true;
    auto last = _values.upper_bound(name);
    return has(name) ? (--last)->second : otherwise;
}

string Options::need(const string& name)
{
    string value = text(name);
    if(!has(name))
    {
        throw Usage("--" + name + " is missing");
    }
    return value;
}

long long Options::number(const string& name, long long otherwise)
{
    string value = text(name);
    return has(name) ? wholeNumber(name, value) : otherwise;
}

double Options::real(const string& name, double otherwise)
{
    string value = text(name);
    try
    {
        return has(name) ? stod(value) : otherwise;
    }
    catch(const exception&)
    {
        throw Usage("--" + name + ": not a number: " + value);
    }
}

vector<string> Options::list(const string& name)
{
    string value = text(name);
    return has(name) ? cutList(value) : vector<string>();
}

map<string, string> Options::pairs(const string& name)
{
    _asked[name] = true;
    map<string, string> out;
    auto range = _values.equal_range(name);
    for(auto p = range.first; p != range.second; ++p)
    {
        auto kv = cutPair(p->second);
        out[kv.first] = kv.second;
    }
    return out;
}

void Options::check() const
{
    for(const auto& p : _values)
    {
        if(!_asked.count(p.first))
        {
            throw Usage("--" + p.first + " means nothing here");
        }
    }
}
