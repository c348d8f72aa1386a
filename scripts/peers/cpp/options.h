// Command line of icepeer: words, and --name value pairs.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// A mistake on the command line; main prints it and exits 2.
struct Usage : std::runtime_error
{
    using std::runtime_error::runtime_error;
};

// Options takes flags (no value) from a fixed list; every other --name takes the next word as its value.
// A name that nobody asked for is an error: check() says so.
class Options
{
public:
    explicit Options(const std::vector<std::string>& args);

    bool flag(const std::string& name);
    bool has(const std::string& name) const;
    std::string text(const std::string& name, const std::string& otherwise = "");
    std::string need(const std::string& name);
    long long number(const std::string& name, long long otherwise);
    double real(const std::string& name, double otherwise);
    std::vector<std::string> list(const std::string& name); // cut at commas
    std::map<std::string, std::string> pairs(const std::string& name); // repeated k=v
    void check() const;

    std::vector<std::string> words;

private:
    std::multimap<std::string, std::string> _values;
    std::map<std::string, bool> _asked;
};

// Cuts "k=v"; a missing '=' is a Usage error.
std::pair<std::string, std::string> cutPair(const std::string& text);
std::vector<std::string> cutList(const std::string& text);
