#include "lines.h"
#include <cstdio>
#include <mutex>

using namespace std;

namespace
{
string escaped(const string& text, const char* also)
{
    static const char hex[] = "0123456789ABCDEF";
    string out;
    for(unsigned char c : text)
    {
        bool plain = c > ' ' && c < 127 && c != '%' && string(also).find(static_cast<char>(c)) == string::npos;
        if(plain)
        {
            out += static_cast<char>(c);
            continue;
        }
        out += '%';
        out += hex[c >> 4];
        out += hex[c & 15];
    }
    return out;
}
}

void sayLine(const string& line)
{
    static mutex m;
    string whole = line + "\n";
    lock_guard<mutex> lock(m);
    fwrite(whole.data(), 1, whole.size(), stdout);
    fflush(stdout);
}

string word(const string& text)
{
    if(text == "-")
    {
        return "%2D"; // a bare '-' means "none"
    }
    return text.empty() ? "%" : escaped(text, "");
}

string contextWord(const map<string, string>& context)
{
    string out;
    for(const auto& p : context)
    {
        out += (out.empty() ? "" : ",") + escaped(p.first, ",=") + "=" + escaped(p.second, ",=");
    }
    return out.empty() ? "-" : out;
}

string oneLine(string text)
{
    for(char& c : text)
    {
        if(c == '\n' || c == '\r')
        {
            c = ' ';
        }
    }
    return text;
}
