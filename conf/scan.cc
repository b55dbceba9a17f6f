// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/scan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace openipoib::conf
{

namespace
{

constexpr char end = '\0'; // a NUL in the file is refused before it could matter
constexpr std::size_t maxValueBytes = 4096;
constexpr std::size_t maxKeyBytes = 64;

bool isNameStart(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

// Interface names are part of some keys, hence the dot and the dash.
bool isKeyPart(char c)
{
    return isNameStart(c) || isDigit(c) || c == '.' || c == '-';
}

bool isVariablePart(char c)
{
    return isNameStart(c) || isDigit(c);
}

// Reads one file. Functions that return bool report what is wrong themselves
// and return false; the caller then gives the line up.
class Scanner
{
  public:
    Scanner(std::string_view text, const Environment &environment)
        : text_(text), hostName_(environment.hostName)
    {
        variables_["HOSTNAME"] = hostName_;
    }

    Scan run();

  private:
    [[nodiscard]] char peek(std::size_t ahead = 0) const
    {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : end;
    }
    [[nodiscard]] bool atEnd() const { return at_ >= text_.size(); }
    [[nodiscard]] bool atLineEnd() const { return atEnd() || peek() == '\n'; }
    [[nodiscard]] bool atContinuation() const
    {
        return peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'));
    }
    [[nodiscard]] bool atCarriageReturn() const
    {
        return peek() == '\r' && (peek(1) == '\n' || at_ + 1 == text_.size());
    }

    void take();
    void takeContinuation();
    void skipBlanks();
    void skipLine();
    [[nodiscard]] bool checkWhole();

    bool fail(Place place, std::string what, std::string cure);
    void warn(Place place, std::string what, std::string cure);
    void add(Diagnostic diagnostic);

    void line();
    [[nodiscard]] bool assignment();
    [[nodiscard]] bool checkKey(std::size_t start, Place place);
    [[nodiscard]] bool word(std::string &out);
    [[nodiscard]] bool wordPart(std::string &out);
    [[nodiscard]] bool character(std::string &out);
    [[nodiscard]] bool singleQuoted(std::string &out);
    [[nodiscard]] bool doubleQuoted(std::string &out);
    [[nodiscard]] bool dollar(std::string &out);
    [[nodiscard]] bool command(std::string &out, std::size_t length, char closing);
    [[nodiscard]] bool variable(std::string &out, std::string_view variable, Place place);
    [[nodiscard]] bool checkAfterWord();

    std::string_view text_;
    std::string hostName_;
    std::size_t at_ = 0;
    Place place_{1, 1};
    bool warnedCarriageReturn_ = false;
    std::string key_; // of the assignment being read
    std::map<std::string, std::string, std::less<>> variables_;
    Scan result_;
};

void Scanner::take()
{
    if (peek() == '\n') {
        ++place_.line;
        place_.column = 1;
    } else {
        ++place_.column;
    }
    ++at_;
}

void Scanner::takeContinuation()
{
    while (peek() != '\n')
        take();
    take();
}

void Scanner::skipBlanks()
{
    for (;;) {
        if (atContinuation()) {
            takeContinuation();
        } else if (atCarriageReturn()) {
            if (!std::exchange(warnedCarriageReturn_, true))
                warn(place_, "the line ends in a carriage return",
                     "a shell takes it as part of the value: convert the file with dos2unix");
            take();
        } else if (peek() == ' ' || peek() == '\t') {
            take();
        } else {
            return;
        }
    }
}

void Scanner::skipLine()
{
    while (!atLineEnd())
        take();
    if (!atEnd())
        take();
}

void Scanner::add(Diagnostic diagnostic)
{
    auto &all = result_.diagnostics;
    if (all.size() < maxDiagnostics)
        all.push_back(std::move(diagnostic));
    else if (all.size() == maxDiagnostics)
        all.push_back({Severity::error, diagnostic.place, "",
                       "too many errors; what follows is not read", "is this an openib.conf?"});
}

bool Scanner::fail(Place place, std::string what, std::string cure)
{
    add({Severity::error, place, key_, std::move(what), std::move(cure)});
    return false;
}

void Scanner::warn(Place place, std::string what, std::string cure)
{
    add({Severity::warning, place, key_, std::move(what), std::move(cure)});
}

// What is looked at before the first line is read.
bool Scanner::checkWhole()
{
    if (text_.size() > maxFileBytes)
        return fail({}, "the file is larger than 1 MiB", "is this an openib.conf?");
    if (text_.starts_with("\xEF\xBB\xBF")) {
        warn(place_, "the file begins with a byte order mark", "save it as plain text");
        at_ += 3;
    }
    return true;
}

Scan Scanner::run()
{
    if (checkWhole())
        while (!atEnd() && result_.diagnostics.size() <= maxDiagnostics)
            line();
    return std::move(result_);
}

// One line, with those that continue it.
void Scanner::line()
{
    for (;;) {
        key_.clear();
        skipBlanks();
        // A backslash does not continue a comment.
        if (peek() == '#' || atLineEnd() || !assignment()) {
            skipLine();
            return;
        }
        if (peek() == ';')
            take();
    }
}

bool Scanner::assignment()
{
    const std::size_t start = at_;
    const Place place = place_;
    while (isKeyPart(peek()))
        take();
    if (text_.substr(start, at_ - start) == "export" && (peek() == ' ' || peek() == '\t')) {
        skipBlanks();
        return assignment();
    }
    if (!checkKey(start, place))
        return false;
    take(); // '='
    Assignment result{key_, place, {}, place_};
    if (!word(result.value) || !checkAfterWord())
        return false;
    variables_[key_] = result.value;
    result_.assignments.push_back(std::move(result));
    return true;
}

// Whether what was read since start is a key with an '=' behind it.
bool Scanner::checkKey(std::size_t start, Place place)
{
    const std::string key(text_.substr(start, at_ - start));
    if (key.empty() || !isNameStart(key.front())) {
        const auto line = text_.substr(start, text_.find('\n', start) - start);
        return fail(place, "'" + printable(line, 30) + "' is not an assignment",
                    "expected KEY=value; nothing is executed");
    }
    if (key.size() > maxKeyBytes)
        return fail(place, "the key is longer than 64 characters", "expected KEY=value");
    key_ = key;
    if (peek() == '=')
        return true;
    if (peek() == '+' && peek(1) == '=')
        return fail(place_, "'+=' is not understood", "write the whole value: " + key + "=value");
    if (peek() == '[')
        return fail(place_, "arrays are not understood", "write a list: " + key + "=one,two");
    const bool blank = peek() == ' ' || peek() == '\t';
    const Place after = place_;
    skipBlanks();
    if (blank && peek() == '=')
        return fail(after, "a blank before '='", "write " + key + "=value without blanks");
    key_.clear();
    return fail(place, "'" + printable(key, 30) + "' is not an assignment",
                "expected KEY=value; nothing is executed");
}

bool Scanner::word(std::string &out)
{
    const Place start = place_;
    for (;;) {
        if (atContinuation()) {
            takeContinuation();
            continue;
        }
        if (atLineEnd() || atCarriageReturn() || peek() == ' ' || peek() == '\t' || peek() == ';')
            return true;
        if (!wordPart(out))
            return false;
        if (out.size() > maxValueBytes)
            return fail(start, "the value is longer than 4096 bytes", "");
    }
}

bool Scanner::wordPart(std::string &out)
{
    const char c = peek();
    switch (c) {
    case '\'':
        return singleQuoted(out);
    case '"':
        return doubleQuoted(out);
    case '$':
        return dollar(out);
    case '`':
        return command(out, 1, '`');
    case '|':
    case '&':
    case '<':
    case '>':
    case '(':
    case ')':
        return fail(place_, std::string("'") + c + "' is not possible outside quotes",
                    "nothing is executed; quote the value if the character belongs to it");
    case '\\':
        take();
        if (atLineEnd())
            return fail(place_, "the file ends in a backslash", "remove it");
        break;
    default:
        break;
    }
    return character(out);
}

// The next one as it stands.
bool Scanner::character(std::string &out)
{
    const auto byte = static_cast<unsigned char>(peek());
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F)
        return fail(place_, "control character '" + printable(text_.substr(at_, 1)) + "'",
                    "remove it");
    out += peek();
    take();
    return true;
}

bool Scanner::singleQuoted(std::string &out)
{
    const Place opening = place_;
    take();
    while (peek() != '\'') {
        if (atLineEnd())
            return fail(opening, "the quote is not closed on this line", "add a ' at its end");
        if (!character(out))
            return false;
    }
    take();
    return true;
}

bool Scanner::doubleQuoted(std::string &out)
{
    static constexpr std::string_view special = "$`\"\\";
    const Place opening = place_;
    take();
    while (peek() != '"') {
        if (atContinuation()) {
            takeContinuation();
            continue;
        }
        if (atLineEnd())
            return fail(opening, "the quote is not closed on this line", "add a \" at its end");
        if (peek() == '$' || peek() == '`') {
            if (!(peek() == '$' ? dollar(out) : command(out, 1, '`')))
                return false;
            continue;
        }
        if (peek() == '\\' && special.find(peek(1)) != std::string_view::npos)
            take();
        if (!character(out))
            return false;
    }
    take();
    return true;
}

// $NAME, ${NAME}, $(command)
bool Scanner::dollar(std::string &out)
{
    const Place place = place_;
    if (peek(1) == '(')
        return command(out, 2, ')');
    std::size_t from = at_ + 1;
    const bool braced = peek(1) == '{';
    if (braced)
        ++from;
    std::size_t to = from;
    while (to < text_.size() && isVariablePart(text_[to]))
        ++to;
    const bool named = to > from && isNameStart(text_[from]);
    if (!named || (braced && (to >= text_.size() || text_[to] != '}')))
        return fail(place, "this use of '$' is not understood",
                    "write $KEY or ${KEY}, or quote a plain '$' as '\\$'");
    const auto wanted = text_.substr(from, to - from);
    while (at_ < to + (braced ? 1 : 0))
        take();
    return variable(out, wanted, place);
}

bool Scanner::variable(std::string &out, std::string_view variable, Place place)
{
    const auto found = variables_.find(variable);
    if (found == variables_.end())
        return fail(place, "'$" + printable(variable, 30) + "' is not set above",
                    "only keys of this file and $HOSTNAME can be used");
    out += found->second;
    return out.size() <= maxValueBytes || fail(place, "the value is longer than 4096 bytes", "");
}

// A command substitution whose opening has length bytes; it must ask for the
// name of the host.
bool Scanner::command(std::string &out, std::size_t length, char closing)
{
    static constexpr std::array<std::string_view, 4> hostNames{"hostname -s", "hostname",
                                                               "uname -n", "/bin/hostname -s"};
    const Place place = place_;
    const auto line = text_.substr(at_, text_.find('\n', at_) - at_);
    const std::size_t close = line.find(closing, length);
    if (close == std::string_view::npos)
        return fail(place, "the command substitution is not closed on this line",
                    std::string("add a ") + closing);
    const auto inside = line.substr(length, close - length);
    if (std::ranges::find(hostNames, inside) == hostNames.end())
        return fail(place, "'" + printable(inside, 30) + "' is not executed",
                    "write the value itself; only $(hostname -s) is understood");
    out += hostName_;
    for (std::size_t i = 0; i <= close; ++i)
        take();
    return true;
}

// Behind a value: the end, a comment, ';' or another assignment.
bool Scanner::checkAfterWord()
{
    const Place after = place_;
    const bool empty = at_ > 0 && text_[at_ - 1] == '=';
    skipBlanks();
    if (atLineEnd() || peek() == '#' || peek() == ';')
        return true;
    std::size_t to = at_;
    while (to < text_.size() && isKeyPart(text_[to]))
        ++to;
    if (to > at_ && to < text_.size() && text_[to] == '=' && isNameStart(peek()))
        return true;
    if (empty)
        return fail(after, "a blank behind '='", "write " + key_ + "=value without blanks");
    return fail(place_, "a second word behind the value",
                "a value with blanks needs quotes: " + key_ + "=\"one two\"");
}

} // namespace

Scan scan(std::string_view text, const Environment &environment)
{
    return Scanner(text, environment).run();
}

} // namespace openipoib::conf
