// A profile as of a server, with every kind of frame.
#pragma once

#include "profile_of.hpp"

namespace flameprobe::test {

inline NamedProfile demo_profile() {
    ProfileOf made;
    made.folded(
        R"(t:server;_start;__libc_start_main_impl;main;EventLoop::run();EventLoop::poll(int);epoll_wait;k:entry_SYSCALL_64;k:do_syscall_64;k:do_epoll_wait 210
t:server;_start;__libc_start_main_impl;main;EventLoop::run();EventLoop::poll(int);epoll_wait 12
t:server;_start;__libc_start_main_impl;main;EventLoop::run();Connection::read() 40
t:server;_start;__libc_start_main_impl;main;EventLoop::run();Connection::read();recv;k:entry_SYSCALL_64;k:do_syscall_64;k:tcp_recvmsg 160
t:server;_start;__libc_start_main_impl;main;EventLoop::run();Connection::read();s:[parse];Parser::parse(std::string_view) 331
t:server;_start;__libc_start_main_impl;main;EventLoop::run();Connection::read();s:[parse];Parser::parse(std::string_view);i:std::char_traits<char>::compare(char const*, char const*, unsigned long) 96
t:server;_start;__libc_start_main_impl;main;EventLoop::run();Connection::read();s:[parse];Parser::parse(std::string_view);operator new(unsigned long);malloc;_int_malloc 75
t:worker;clone3;start_thread;Worker::loop();s:[checkout];Cart::total() const;std::map<std::string, Item, std::less<std::string>, std::allocator<std::pair<std::string const, Item> > >::find(std::string const&) 560
t:worker;clone3;start_thread;Worker::loop();s:[checkout];Cart::total() const;std::map<std::string, Item, std::less<std::string>, std::allocator<std::pair<std::string const, Item> > >::find(std::string const&);i:std::less<std::string>::operator() const;__memcmp_avx2_movbe 388
t:worker;clone3;start_thread;Worker::loop();s:[checkout];Cart::total() const;i:Price::operator+(Price const&) const 144
t:worker;clone3;start_thread;Worker::loop();s:[checkout];Json::dump(int) const;i:Json::escape(std::string const&) 266
t:worker;clone3;start_thread;Worker::loop();s:[checkout];Json::dump(int) const;std::to_string 1
t:worker;clone3;start_thread;Worker::loop();s:[checkout];Json::dump(int) const;snprintf 1
t:worker;clone3;start_thread;Worker::loop();pthread_cond_wait;k:entry_SYSCALL_64;k:do_syscall_64;k:futex_wait 88
t:writer;clone3;start_thread;Worker::loop();s:[search];Index::lookup(std::string_view);i:hash_combine<unsigned long> 240
t:writer;clone3;start_thread;Worker::loop();s:[search];Index::lookup(std::string_view);Trie::walk(Node const*);Trie::walk(Node const*);Trie::walk(Node const*);Trie::walk(Node const*) 312
t:writer;clone3;start_thread;Worker::loop();s:[search];Index::lookup(std::string_view);Trie::walk(Node const*);Trie::walk(Node const*);Trie::walk(Node const*) 130
t:writer;n:[truncated];Trie::walk(Node const*) 9
t:writer;n:[kernel, not permitted] 35
n:[lost] 14
)");
    NamedProfile& profile = made.profile;
    profile.threads = {{4711, "server"}, {4712, "worker"}, {4713, "writer"}};
    for (NamedCount& count : profile.counts) {
        NodeId first = count.node;
        while (profile.nodes[first].parent != 0) first = profile.nodes[first].parent;
        const std::string_view name = profile.name(profile.nodes[first].frame);
        count.thread = name == "worker" ? 1 : name == "writer" ? 2 : 0;
    }
    profile.has_run = true;
    profile.run.version = "0.1.0";
    profile.run.command = "./server --port 8080 --threads 2";
    profile.run.executable = "/srv/demo/server";
    profile.run.host = "build-7 (Linux 6.1.0)";
    profile.run.pid = 4711;
    profile.run.start_unix_ns = 1'763'687'412'000'000'000ULL;
    profile.run.engine = "ring";
    profile.run.engine_reason = "perf_event_open is permitted here";
    profile.run.unwinder = "dwarf";
    profile.run.event = "cpu-clock";
    profile.run.event_kind = "software clock";
    profile.run.kernel = "on";
    profile.run.frequency_asked = 99;
    profile.run.period_ns = 10'101'010;
    profile.run.stack_bytes = 16384;
    Summary& summary = profile.summary;
    summary.complete = true;
    summary.duration_ns = 12'345'678'901;
    for (NamedCount& count : profile.counts) {
        summary.hits += count.hits;
        summary.samples += count.weight *= profile.run.period_ns;
    }
    summary.lost = 14 * profile.run.period_ns;
    summary.truncated = 9 * profile.run.period_ns;
    summary.truncated_hits = 9;
    summary.rooted = summary.samples - summary.truncated;
    summary.process_cpu_ns = summary.samples + 240'000'000;
    summary.own_cpu_ns = 41'000'000;
    summary.own_memory = 9 << 20;
    return std::move(profile);
}

}  // namespace flameprobe::test
