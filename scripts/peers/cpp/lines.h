// Output for programs: one line per fact, written whole and flushed at once, safe from any thread.
#pragma once
#include <map>
#include <string>

void sayLine(const std::string& line);

// A word without blanks: '%', blanks, control and non-ASCII bytes become %XX, an empty text "%".
std::string word(const std::string& text);

// "k=v,k=v" in key order, '-' where empty; keys and values are words in which ',' and '=' are escaped as well.
std::string contextWord(const std::map<std::string, std::string>& context);

// The text with line ends made blanks, for the rest of a line.
std::string oneLine(std::string text);
