#include "future_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace flameprobe::async {
namespace {

constexpr std::size_t longest = 160;

/// Where the part of a path that begins at `at` ends: at the next "::" outside of brackets.
std::size_t end_of_part(std::string_view path, std::size_t at) {
    int depth = 0;
    for (; at < path.size(); ++at) {
        const char c = path[at];
        if (c == '<' || c == '(' || c == '[') ++depth;
        if ((c == '>' && path[at - (at == 0 ? 0 : 1)] != '-') || c == ')' || c == ']') --depth;
        if (depth < 0 || (depth == 0 && (c == ',' || c == ' '))) return at;
        if (depth == 0 && c == ':' && path.substr(at, 2) == "::") return at;
    }
    return at;
}

/// The last part of a path without its parameters.
std::string last_part(std::string_view type) {
    std::string last;
    for (std::size_t at = 0; at < type.size();) {
        const std::size_t end = end_of_part(type, at);
        last = type.substr(at, end - at);
        at = end + (type.substr(end, 2) == "::" ? 2 : 1);
    }
    return last.substr(0, last.find('<'));
}

// By the beginning of a type's name; the first that fits counts.
using Words = std::pair<std::string_view, std::string_view>;
constexpr std::array words_of_types = {
    Words{"tokio::time::", "timer"},
    Words{"tokio::sync::mutex::", "Mutex"},
    Words{"tokio::sync::rwlock::", "RwLock"},
    Words{"tokio::sync::semaphore::", "Semaphore"},
    Words{"tokio::sync::oneshot::", "oneshot"},
    Words{"tokio::sync::mpsc::bounded::{impl#0}::send", "mpsc send"},
    Words{"tokio::sync::notify::", "Notify"},
    Words{"tokio::sync::watch::", "watch"},
    Words{"tokio::sync::barrier::", "Barrier"},
    Words{"tokio::sync::broadcast::", "broadcast"},
    Words{"tokio::sync::once_cell::", "OnceCell"},
    Words{"tokio::runtime::task::join::JoinHandle", "JoinHandle"},
    Words{"tokio::task::join_set::", "JoinSet"},
    Words{"tokio::net::tcp::listener::", "accept"},
    Words{"tokio::net::unix::listener::", "accept"},
    Words{"tokio::net::tcp::stream::", "socket"},
    Words{"tokio::net::udp::", "socket"},
    Words{"tokio::signal::", "signal"},
    Words{"tokio::process::", "child process"},
    Words{"tokio::task::yield_now::", "yield"},
    Words{"tokio::io::util::copy", "copy between streams"},
    Words{"async_io::Timer", "timer"},
    Words{"async_lock::mutex::", "Mutex"},
    Words{"async_lock::rwlock::", "RwLock"},
    Words{"async_lock::semaphore::", "Semaphore"},
    Words{"async_lock::barrier::", "Barrier"},
    Words{"async_lock::once_cell::", "OnceCell"},
    Words{"async_channel::Recv", "channel receive"},
    Words{"async_channel::Send", "channel send"},
    Words{"event_listener::", "event"},
    Words{"futures_lite::future::YieldNow", "yield"},
    Words{"async_process::", "child process"},
    Words{"async_signal::", "signal"},
};

bool is_on_socket(std::string_view type) {
    return type.find("tokio::net::") != type.npos || type.find("async_io::") != type.npos ||
           type.find("async_net::") != type.npos;
}

bool begins(std::string_view text, std::string_view beginning) {  // in lower case, which `beginning` is in
    return text.size() >= beginning.size() &&
           std::ranges::equal(text.substr(0, beginning.size()), beginning, {},
                              [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
}

/// The words for an operation on a stream: its type has the stream as a parameter.
std::string_view words_of_stream(std::string_view type) {
    constexpr std::array<std::string_view, 3> places = {
        "tokio::io::util::", "futures_util::io::", "futures_lite::io::"};
    for (const auto place : places) {
        if (!type.starts_with(place)) continue;
        const std::string_view what = type.substr(place.size());
        const bool socket = is_on_socket(type);
        if (begins(what, "read") || begins(what, "lines") || begins(what, "fill"))
            return socket ? "socket read" : "read";
        if (begins(what, "write") || begins(what, "flush") || begins(what, "shutdown") || begins(what, "close"))
            return socket ? "socket write" : "write";
    }
    return {};
}

std::string_view words_of_channel(std::string_view type) {
    if (!type.starts_with("tokio::sync::mpsc::")) return {};
    for (const auto part : {"::send", "::reserve", "::closed"})
        if (type.find(part) != type.npos) return "mpsc send";
    return type.find("recv") != type.npos ? "mpsc receive" : "";
}

std::string_view words_of_socket(std::string_view type) {
    const bool of_smol =
        type.starts_with("async_net::") || (type.starts_with("async_io::") && type.find("net::") != type.npos);
    if (!of_smol && (!type.starts_with("tokio::net::") || type.find("::listener::") != type.npos)) return {};
    if (type.find("::accept") != type.npos) return "accept";
    if (type.find("::connect") != type.npos) return "connect";
    for (const auto part : {"::writable", "::send", "::write", "Writable"})
        if (type.find(part) != type.npos) return "socket write";
    for (const auto part : {"::readable", "::recv", "::peek", "::read", "Readable"})
        if (type.find(part) != type.npos) return "socket read";
    return {};
}

}  // namespace

std::string shown_name(std::string_view type) {
    std::string shown;
    bool block = false;
    for (std::size_t at = 0; at < type.size();) {
        if (type[at] != '{') {
            shown += type[at++];
            continue;
        }
        const std::size_t end = std::min(type.find('}', at), type.size() - 1);
        const std::string_view part = type.substr(at, end + 1 - at);
        const bool is_last = end + 1 == type.size() || type.substr(end + 1, 2) != "::";
        block = part.starts_with("{async_block_env#") && is_last;
        at = end + 1;
        if (block) {
            shown += "{async block}";
            continue;
        }
        if (shown.ends_with("::"))
            shown.resize(shown.size() - 2);
        else if (type.substr(at, 2) == "::")
            at += 2;
    }
    std::ranges::replace(shown, ';', ',');
    if (shown.size() > longest) shown = shown.substr(0, longest - 3) + "...";
    return shown;
}

bool is_method(std::string_view type) {
    const std::size_t end = std::min(type.find("::{async_fn_env#"), type.size());
    const std::size_t impl = type.rfind("::{impl#", end), close = type.find("}::", impl);
    return impl != type.npos && impl < end && close < end &&
           type.substr(close + 3, end - close - 3).find("::") == type.npos;
}

std::string method_name(std::string_view type, std::string_view self_type) {
    const std::size_t end = type.find("::{async_fn_env#");
    const std::size_t close = type.rfind("}::", end);
    const std::size_t impl = type.rfind("::{impl#", close);
    const std::string owner = last_part(self_type);
    if (end == type.npos || close == type.npos || impl == type.npos || owner.empty()) return shown_name(type);
    return shown_name(type.substr(0, impl)) + "::" + owner + std::string(type.substr(close + 1, end - close - 1));
}

std::string_view what_it_waits_for(std::string_view type) {
    for (const auto known : {words_of_stream(type), words_of_channel(type), words_of_socket(type)})
        if (!known.empty()) return known;
    for (const auto& [beginning, text] : words_of_types)
        if (type.starts_with(beginning)) return text;
    return {};
}

bool is_future_glue(std::string_view type) {
    constexpr std::array<std::string_view, 23> glue = {"core::pin::Pin<",
                                                       "core::mem::",
                                                       "core::cell::",
                                                       "alloc::boxed::",
                                                       "core::option::",
                                                       "core::ptr::",
                                                       "core::future::",
                                                       "async_executor::",
                                                       "async_task::task::",
                                                       "futures_lite::future::PollFn<",
                                                       "futures_lite::future::Or<",
                                                       "futures_lite::future::Race<",
                                                       "futures_lite::future::Zip<",
                                                       "futures_lite::future::TryZip<",
                                                       "tokio::runtime::",
                                                       "tokio::task::coop::",
                                                       "tokio::future::",
                                                       "tokio::util::",
                                                       "tokio::sync::batch_semaphore::",
                                                       "futures_util::future::future::fuse::",
                                                       "futures_util::future::try_maybe_done",
                                                       "futures_util::future::maybe_done",
                                                       "("};
    return starts_with_any(type, glue) || type.find("MaybeDone<") != type.npos;
}

bool is_of_runtime(std::string_view type) {
    constexpr std::array<std::string_view, 9> libraries = {
        "tokio::",          "async_io::",      "async_net::", "async_lock::",      "async_channel::",
        "event_listener::", "async_process::", "blocking::",  "futures_lite::io::"};
    return starts_with_any(type, libraries);
}

}  // namespace flameprobe::async
