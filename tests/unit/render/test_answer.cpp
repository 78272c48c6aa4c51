#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "kept_profile.hpp"
#include "profile_of.hpp"
#include "render/answer.hpp"
#include "render/function_totals.hpp"
#include "render/kernel_work.hpp"
#include "render/plain_name.hpp"
#include "render/text.hpp"

using namespace flameprobe;

namespace {

NamedProfile kept(const std::string& name) {
    std::ifstream in(std::string(FLAMEPROBE_TEST_DATA "/answers/") + name + ".kept");
    REQUIRE_MESSAGE(in, name);
    return test::read_kept(in);
}

/// What a person says who knows the program, and has looked at its picture.
const std::map<std::string, std::string> right = {
    {"bash", "67 % bash × 122, 33 % sed × 300; 37 % in command_substitute (mostly make_child)"},
    {"cache-waits", "of 10 threads' 30 s 2 % ran; 34 % waited for lock cache, held by janitor, 39 % slept"},
    {"faults", "86 % in fill, called by frame: mostly page faults (80 %), 14 % in the system call munmap"},
    {"files-waits", "of 1 thread's 3.08 s 83 % ran; 16 % in fsync, called by commit"},
    {"files", "89 % in compute"},
    {"git", "42 % in inflate (libz.so.1.2.13), 24 % in code of git without names"},
    {"gzip", "98 % in code of gzip without names"},
    {"jq", "98 % in jq_next (libjq.so.1.0.4): jv_object_set (20 %), jv_array_set (13 %)"},
    {"json", "92 % in Parser::value: std::vector::push_back (35 %), strtod_l_internal (23 %)"},
    {"locks-waits", "of 5 threads' 15 s 1 % ran; 39 % waited for lock big, held by worker-2 in rebuild"},
    {"locks", "53 % in rebuild (mostly std::map::operator[]), 35 % in look_up"},
    {"make", "98 % cc1plus; 60 % in c_parse_file, called by c_common_parse_file"},
    {"nginx", "99 % nginx: worker process × 2; 71 % in ngx_output_chain: mostly deflate (63 %)"},
    {"node", "54 % in …JsonParser::ParseJsonValue, 40 % in …JsonStringifier::Serialize_"},
    {"openssl", "60 % in SHA256_Update (libcrypto.so.3)"},
    {"perl", "28 % in Perl_hv_common"},
    {"pool-waits", "of 8 threads' 24 s 2 % ran; 10 % in read, called by ask_backend, 22 % slept in main"},
    {"postgres-waits", "of 14 threads' 45 s 2 % ran; 17 % in epoll_wait, called by ProcSleep, 14 % had no CPU"},
    {"proxy", "98 % in proxy::proxy::checksum, called by proxy::proxy::relay: mostly format! (72 %)"},
    {"pyext", "94 % in score_row (fastagg.so), called by aggregate: mix (52 %), the interpreter (40 %)"},
    {"python-waits", "of 21 threads' 2.71 s 2 % ran; 48 % slept, 47 % waited for other processes"},
    {"python", "94 % in code of _json.so without names"},
    {"quick", "99 % in quick"},
    {"redis-waits", "of 3 threads' 5.71 s 24 % ran; 50 % idle, 24 % idle in epoll_wait"},
    {"redis", "66 % in _writeToClient, called by writeToClient: mostly write (65 %)"},
    {"regex", "65 % in std::__detail::_Executor::_M_dfs, 33 % in main"},
    {"rsa", "47 % in BN_mod_exp_mont (libcrypto.so.3), 45 % in BN_mod_exp_mont_consttime_x2"},
    {"sort", "56 % in memcmp (libc.so.6), 14 % in code of sort without names"},
    {"split", "60 % in simulate, called by step, 28 % in rank, 11 % in trig"},
    {"sqlite", ">99 % in sqlite3VdbeExec (libsqlite3.so.0.8.6), called by sqlite3_step"},
    {"table-alloc", "100 % of 2.86 GiB allocated by Table::insert, called by load"},
    {"table-heap", "100 % of 24.6 MiB alive allocated by Table::insert, called by load"},
    {"table", "64 % in Table::insert, called by load, 30 % in Table::~Table"},
    {"tar", "80 % gzip, 20 % tar; 73 % in code of gzip without names, 11 % in the system call read"},
    {"xz", "99 % in lzma_code (liblzma.so.5.4.1)"},
    {"zstd", "72 % in code of zstd without names, 16 % in the system call write"},
};

}  // namespace

TEST_CASE("the answer of a real program is what a person would say of its picture") {
    for (const auto& entry : std::filesystem::directory_iterator(FLAMEPROBE_TEST_DATA "/answers"))
        CHECK_MESSAGE(right.contains(entry.path().stem()), entry.path().stem());
    for (const auto& [name, sentence] : right) {
        CHECK_MESSAGE(answer(kept(name)) == sentence, name);
        CHECK_MESSAGE(columns(sentence) <= longest_answer, name);
    }
}

TEST_CASE("what threads waited for is a list of sentences, what can be changed before the rest") {
    const auto told = [](const char* name) {
        std::string list;
        for (const WaitReason& one : wait_reasons(kept(name))) list += one.share + " " + one.sentence + "\n";
        return list;
    };
    CHECK(told("locks-waits") ==
          "39 % waited for lock big, held by worker-2 in rebuild\n25 % slept in main\n14 % slept in rebuild\n"
          "20 % idle in main\n1 % had no CPU\n");
    CHECK(told("pool-waits") ==
          "10 % in read, called by ask_backend\n22 % slept in main\n2 % in read, called by main\n"
          "64 % idle in Queue::pop\n1 % had no CPU\n");
    CHECK(told("redis-waits") == "50 % idle\n24 % idle in epoll_wait\n1 % had no CPU\n");
    CHECK(told("python-waits") == "48 % slept\n47 % waited for other processes\n1 % had no CPU\n");
    CHECK(wait_reasons(kept("table")).empty());
}

TEST_CASE("a wait in the midst of work is no wait for work") {
    std::string first;
    for (const WaitReason& one : wait_reasons(kept("postgres-waits"))) {
        CHECK(one.sentence.find("idle in ProcSleep") == std::string::npos);
        first += first.empty() ? one.sentence : "";
    }
    CHECK(first == "in epoll_wait, called by ProcSleep");
}

TEST_CASE("of calls on any file it is told what they nearly always waited for") {
    test::ProfileOf made;
    made.stack({"t:t", "main", "asks", "n:read"}, 60).stack({"t:t", "main", "idle_loop", "n:poll"}, 40);
    NamedProfile& profile = made.profile;
    profile.has_run = true;
    profile.run.event = "offcpu";
    profile.run.event_kind = "waiting time";
    const std::string begin = "of 1 thread's 0.1 µs 0 % ran; ";
    CHECK(answer(profile) == begin + "60 % in read, called by asks, 40 % idle in poll");
    profile.summary.counters = {{"blocked in read: ns", 100}, {"blocked in read: ns at unix_stream_read_generic", 95}};
    CHECK(answer(profile) == begin + "60 % in read of a socket, called by asks");
    profile.summary.counters = {{"blocked in read: ns", 100}, {"blocked in read: ns at anon_pipe_read", 50}};
    CHECK(answer(profile) == begin + "60 % in read, called by asks, 40 % idle in poll");
}

TEST_CASE("what answers comes before what says how long to run") {
    test::ProfileOf made;
    made.stack({"t:t", "main", "work"}, 9);
    made.profile.run.event = "cpu-clock";
    made.profile.others.push_back(kept("locks-waits"));
    const std::vector<Answer> all = answers(made.profile);
    REQUIRE(all.size() == 2);
    CHECK(all[0].event == "offcpu");
    CHECK(all[1].sentence == "9 samples are too few for an answer");
}

TEST_CASE("the answer's figures are those of the table of functions") {
    const NamedProfile profile = kept("table");
    const Totals totals = function_totals(profile);
    for (const FunctionTotal& total : totals.functions) {
        if (plain_name(profile, total.function) != "Table::insert") continue;
        CHECK(answer(profile).starts_with(whole_percent(total.total, totals.samples) + " in Table::insert"));
        return;
    }
    FAIL("there is no Table::insert");
}

TEST_CASE("few samples bear no sentence: it says how long to run") {
    test::ProfileOf made;
    made.stack({"t:t", "main", "work"}, 9);
    CHECK(answer(made.profile) == "9 samples are too few for an answer");
    made.profile.has_run = true;
    made.profile.run.frequency_asked = 99;
    made.profile.run.period_ns = 1;
    CHECK(answer(made.profile) == "9 samples are too few for an answer: 100 take 1.01 s of CPU time at -F 99");
    CHECK(answer(NamedProfile()).empty());
    // A part of fewer than five is not told.
    test::ProfileOf parts;
    parts.stack({"t:t", "main", "work"}, 40).stack({"t:t", "main", "rare"}, 4);
    CHECK(answer(parts.profile) == "91 % in work");
}

TEST_CASE("libc's own names are not installed: what all of a program stands on is no answer") {
    test::ProfileOf made;
    made.stack({"t:t", "_start", "[libc.so.6+0x29c30]", "main", "serve"}, 20)
        .stack({"t:t", "[libc.so.6+0x110771]", "[libc.so.6+0x92620]", "work"}, 60)
        .stack({"t:t", "[libc.so.6+0x110771]", "[libc.so.6+0x92620]", "work", "rest"}, 20);
    for (Function& function : made.profile.functions)
        if (made.profile.strings.view(function.name).starts_with("[libc"))
            function.module = made.profile.strings.intern("/usr/lib/x86_64-linux-gnu/libc.so.6");
    CHECK(answer(made.profile) == "80 % in work: rest (20 %), 20 % in serve");
}

TEST_CASE("a callee with most of its caller goes on with the story, else its parts are told") {
    test::ProfileOf made;
    made.stack({"t:t", "main", "serve", "parse"}, 80).stack({"t:t", "main", "serve", "reply"}, 20);
    CHECK(answer(made.profile) == "80 % in parse, called by serve, 20 % in reply");
    test::ProfileOf three;
    three.stack({"t:t", "main", "poll_"}, 40)
        .stack({"t:t", "main", "serve", "parse"}, 35)
        .stack({"t:t", "main", "serve", "reply"}, 25);
    CHECK(answer(three.profile) == "60 % in serve: parse (35 %), reply (25 %), 40 % in poll_");
}

TEST_CASE("functions that call each other are one story, told by the first") {
    test::ProfileOf made;
    made.stack({"t:t", "main", "value", "array", "value", "array", "scan"}, 45)
        .stack({"t:t", "main", "value", "array", "value", "copy"}, 25)
        .stack({"t:t", "main", "other"}, 30);
    CHECK(answer(made.profile) == "70 % in value: scan (45 %), copy (25 %), 30 % in other");
}

TEST_CASE("kernel work has one name for root and user") {
    CHECK(kernel_work("__x64_sys_write") == "write");
    CHECK(kernel_work("ksys_write") == "write");
    CHECK(kernel_work("ksys_mmap_pgoff") == "mmap");
    CHECK(kernel_work("[kernel: write]") == "write");
    CHECK(kernel_work("asm_exc_page_fault") == "page faults");
    CHECK(kernel_work("asm_sysvec_apic_timer_interrupt") == "interrupts");
    CHECK(kernel_work("finish_task_switch.isra.0") == "being scheduled");
    CHECK(kernel_work("vfs_write").empty());
    CHECK(is_wrapper_of("__GI___libc_write", "write"));
    CHECK(is_wrapper_of("pwrite64", "pwrite64"));
    CHECK(is_wrapper_of("__libc_pwrite64", "pwrite64"));
    CHECK(!is_wrapper_of("my_write", "write"));
    for (const std::string leaf : {"n:[kernel: write]", "k:ksys_write"}) {
        test::ProfileOf made;
        made.stack({"t:t", "main", "send", "__GI___libc_write", leaf}, 70).stack({"t:t", "main", "other"}, 30);
        CHECK(answer(made.profile) == "70 % in send: mostly write (70 %), 30 % in other");
    }
}
