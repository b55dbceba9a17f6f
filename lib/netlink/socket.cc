// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/socket.hpp"

#include <linux/netlink.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <algorithm>

namespace openipoib::netlink
{

namespace
{

constexpr int dumpAttempts = 5;
constexpr std::size_t bufferBytes = 1 << 20;
// So many complaints find room in a socket of the default size.
constexpr std::size_t messagesAtOnce = 64;

// libnl has error numbers of its own.
int toErrno(int status)
{
    switch (status < 0 ? -status : status) {
    case NLE_NOMEM:
        return ENOMEM;
    case NLE_AGAIN:
    case NLE_DUMP_INTR:
        return EAGAIN;
    case NLE_PERM:
        return EPERM;
    case NLE_MSG_TRUNC:
    case NLE_MSG_TOOSHORT:
        return EMSGSIZE;
    default:
        return EIO;
    }
}

// The kernel's own words in an acknowledgement, or "".
std::string extendedAck(nlmsghdr *header)
{
    if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
        return {};
    const auto *error = static_cast<const nlmsgerr *>(nlmsg_data(header));
    int skip = sizeof *error;
    if (!(header->nlmsg_flags & NLM_F_CAPPED))
        skip += static_cast<int>(error->msg.nlmsg_len) - static_cast<int>(sizeof error->msg);
    if (skip < 0 || skip > nlmsg_datalen(header))
        return {};
    const nlattr *text = nlmsg_find_attr(header, skip, NLMSGERR_ATTR_MSG);
    return text ? std::string(static_cast<const char *>(nla_data(text)),
                              ::strnlen(static_cast<const char *>(nla_data(text)),
                                        static_cast<std::size_t>(nla_len(text))))
                : std::string();
}

} // namespace

// What the callbacks of one exchange leave behind.
struct Socket::Exchange {
    const std::function<void(nlmsghdr *)> *each = nullptr;
    unsigned sequence = 0; // of the request
    int error = 0;         // errno
    std::string words;
    bool done = false;

    static int onValid(nl_msg *message, void *self)
    {
        auto &exchange = *static_cast<Exchange *>(self);
        if (exchange.each)
            (*exchange.each)(nlmsg_hdr(message));
        return NL_OK;
    }
    static int onAck(nl_msg *, void *self)
    {
        static_cast<Exchange *>(self)->done = true;
        return NL_STOP;
    }
    // libnl itself expects one answer for each number, which a batch does not get.
    static int onSequence(nl_msg *message, void *self)
    {
        const bool ours =
            nlmsg_hdr(message)->nlmsg_seq == static_cast<const Exchange *>(self)->sequence;
        return ours ? NL_OK : NL_SKIP;
    }
    static int onError(sockaddr_nl *, nlmsgerr *error, void *self)
    {
        auto &exchange = *static_cast<Exchange *>(self);
        auto *header = reinterpret_cast<nlmsghdr *>(reinterpret_cast<char *>(error) - NLMSG_HDRLEN);
        exchange.error = -error->error;
        exchange.words = extendedAck(header);
        exchange.done = true;
        return NL_STOP;
    }
};

io::Result<Socket> Socket::open()
{
    Socket socket(nl_socket_alloc());
    nl_sock *raw = socket.socket_.get();
    if (!raw)
        return io::fail(ENOMEM, "netlink socket");
    if (const int status = nl_connect(raw, NETLINK_ROUTE); status < 0)
        return io::fail(toErrno(status), "netlink socket");
    nl_socket_set_msg_buf_size(raw, bufferBytes);
    const int on = 1;
    // What an old kernel does not know costs words and checks, no more.
    ::setsockopt(nl_socket_get_fd(raw), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
    ::setsockopt(nl_socket_get_fd(raw), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
    return socket;
}

io::Result<void> Socket::exchange(const Message &message, int flags, std::string_view what,
                                  Exchange &exchange)
{
    nl_sock *raw = socket_.get();
    nl_msg *msg = message.get();
    if (!msg)
        return io::fail(EMSGSIZE, what);
    nlmsg_hdr(msg)->nlmsg_flags |= static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    nlmsg_hdr(msg)->nlmsg_seq = NL_AUTO_SEQ;
    nlmsg_hdr(msg)->nlmsg_pid = NL_AUTO_PORT;
    nl_cb *callbacks = nl_cb_alloc(NL_CB_DEFAULT);
    if (!callbacks)
        return io::fail(ENOMEM, what);
    nl_cb_set(callbacks, NL_CB_VALID, NL_CB_CUSTOM, Exchange::onValid, &exchange);
    nl_cb_set(callbacks, NL_CB_ACK, NL_CB_CUSTOM, Exchange::onAck, &exchange);
    nl_cb_set(callbacks, NL_CB_FINISH, NL_CB_CUSTOM, Exchange::onAck, &exchange);
    nl_cb_set(callbacks, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, Exchange::onSequence, &exchange);
    nl_cb_err(callbacks, NL_CB_CUSTOM, Exchange::onError, &exchange);
    int status = nl_send_auto(raw, msg);
    exchange.sequence = nlmsg_hdr(msg)->nlmsg_seq;
    while (status >= 0 && !exchange.done)
        status = nl_recvmsgs(raw, callbacks);
    nl_cb_put(callbacks);
    if (exchange.error)
        return io::fail(exchange.error, exchange.words.empty()
                                            ? std::string(what)
                                            : std::string(what) + ": " + exchange.words);
    if (status < 0)
        return io::fail(toErrno(status), what);
    return {};
}

io::Result<void> Socket::request(const Message &message, std::string_view what)
{
    Exchange one;
    return exchange(message, NLM_F_ACK, what, one);
}

io::Result<void> Socket::ask(const Message &message, std::string_view what,
                             const std::function<void(nlmsghdr *)> &each)
{
    Exchange one;
    one.each = &each;
    return exchange(message, NLM_F_ACK, what, one);
}

// What is said about several messages, which are numbered on from @first: complaints
// in their order, and of the last that it was done, if it was.
struct Socket::Answers {
    std::vector<io::Error> *out = nullptr;
    std::size_t start = 0; // of these messages in @out
    unsigned first = 0;
    std::size_t count = 0;
    bool complete = false;

    void note(unsigned sequence, int code, std::string words)
    {
        const unsigned at = sequence - first;
        if (at >= count)
            return;
        (*out)[start + at] = {code, std::move(words)};
        complete = at + 1 == count;
    }
    static int onAck(nl_msg *message, void *self)
    {
        static_cast<Answers *>(self)->note(nlmsg_hdr(message)->nlmsg_seq, 0, {});
        return NL_OK;
    }
    static int onError(sockaddr_nl *, nlmsgerr *error, void *self)
    {
        auto *header = reinterpret_cast<nlmsghdr *>(reinterpret_cast<char *>(error) - NLMSG_HDRLEN);
        static_cast<Answers *>(self)->note(header->nlmsg_seq, -error->error, extendedAck(header));
        return NL_SKIP;
    }
    static int onSequence(nl_msg *, void *) { return NL_OK; }
};

io::Result<void> Socket::requestSome(std::span<const Message> messages,
                                     std::vector<io::Error> &answers)
{
    static constexpr auto what = "netlink batch";
    nl_sock *raw = socket_.get();
    Answers some{.out = &answers, .start = answers.size(), .count = messages.size()};
    answers.resize(answers.size() + messages.size());
    io::Bytes bytes;
    for (const auto &message : messages) {
        if (!message.get())
            return io::fail(EMSGSIZE, what);
        nlmsghdr *header = nlmsg_hdr(message.get());
        header->nlmsg_flags |= NLM_F_REQUEST;
        if (&message == &messages.back())
            header->nlmsg_flags |= NLM_F_ACK;
        header->nlmsg_pid = nl_socket_get_local_port(raw);
        header->nlmsg_seq = nl_socket_use_seq(raw);
        if (bytes.empty())
            some.first = header->nlmsg_seq;
        const auto *start = reinterpret_cast<const std::uint8_t *>(header);
        bytes.insert(bytes.end(), start, start + header->nlmsg_len);
        bytes.resize(NLMSG_ALIGN(bytes.size()));
    }
    nl_cb *callbacks = nl_cb_alloc(NL_CB_DEFAULT);
    if (!callbacks)
        return io::fail(ENOMEM, what);
    nl_cb_set(callbacks, NL_CB_ACK, NL_CB_CUSTOM, Answers::onAck, &some);
    nl_cb_set(callbacks, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, Answers::onSequence, nullptr);
    nl_cb_err(callbacks, NL_CB_CUSTOM, Answers::onError, &some);
    int status = nl_sendto(raw, bytes.data(), bytes.size());
    while (status >= 0 && !some.complete)
        status = nl_recvmsgs(raw, callbacks);
    nl_cb_put(callbacks);
    if (status < 0)
        return io::fail(toErrno(status), what);
    return {};
}

io::Result<std::vector<io::Error>> Socket::requestAll(std::span<const Message> messages)
{
    std::vector<io::Error> answers;
    while (!messages.empty()) {
        const auto some = messages.first(std::min(messages.size(), messagesAtOnce));
        if (const auto done = requestSome(some, answers); !done)
            return std::unexpected(done.error());
        messages = messages.subspan(some.size());
    }
    return answers;
}

io::Result<void> Socket::dump(const Message &message, std::string_view what,
                              const std::function<void(nlmsghdr *)> &each,
                              const std::function<void()> &again)
{
    for (int attempt = 1;; ++attempt) {
        Exchange one{.each = &each, .words = {}};
        auto result = exchange(message, NLM_F_DUMP, what, one);
        if (result || result.error().code != EAGAIN || attempt == dumpAttempts)
            return result;
        // The rest of the interrupted dump is still on its way: begin with a
        // socket that has not heard of it.
        auto fresh = Socket::open();
        if (!fresh)
            return std::unexpected(fresh.error());
        *this = std::move(*fresh);
        again();
    }
}

} // namespace openipoib::netlink
