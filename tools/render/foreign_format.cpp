#include <algorithm>

#include "text_input.hpp"

namespace flameprobe {

namespace {

struct Beginning {
    std::string_view bytes;
    const char* what;
};
constexpr const char* of_a_picture = "is a picture: give the .fprobe or .folded beside it";
constexpr const char* of_pprofs_past =
    "is a profile as gperftools and jemalloc write it: pprof -proto PROGRAM FILE > FILE.pb.gz makes one that is read";
constexpr Beginning beginnings[] = {
    {"PERFILE2", "is perf's own file: perf script -i FILE | flameprobe-render - -o picture.svg"},
    {"2ELIFREP", "is perf's own file: perf script -i FILE | flameprobe-render - -o picture.svg"},
    {"\xff\xfe", "is UTF-16: iconv -f UTF-16 -t UTF-8 FILE | flameprobe-render - -o picture.svg"},
    {"\xfe\xff", "is UTF-16: iconv -f UTF-16 -t UTF-8 FILE | flameprobe-render - -o picture.svg"},
    {"\x28\xb5\x2f\xfd", "is compressed: zstdcat FILE | flameprobe-render - -o picture.svg"},
    {"\xfd"
     "7zXZ",
     "is compressed: xzcat FILE | flameprobe-render - -o picture.svg"},
    {"BZh", "is compressed: bzcat FILE | flameprobe-render - -o picture.svg"},
    {"\x04\x22\x4d\x18", "is compressed: lz4cat FILE | flameprobe-render - -o picture.svg"},
    {{"\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16}, of_pprofs_past},
    {"heap profile: ", of_pprofs_past},
    {"heap_v2/", of_pprofs_past},
    {{"FLR\0", 4}, "is a Java Flight Recorder file: jfrconv --cpu -o collapsed FILE profile.folded (async-profiler)"},
    {"# callgrind format", "is callgrind's file, which is not read"},
    {"\x7f"
     "ELF",
     "is a program: flameprobe run -- FILE makes a profile of it"},
    {"PK\x03\x04", "is a zip archive: unpack it first"},
    {"\x89PNG", of_a_picture},
    {"%PDF", of_a_picture},
};
constexpr std::size_t tar_mark = 257;  // of POSIX's format, in the first file's header

/// Of text in markup.
std::string of_markup(std::string_view text) {
    const auto has = [text](std::string_view word) { return text.substr(0, 4096).find(word) != text.npos; };
    if (has("<svg") || has("<!doctype html") || has("<!DOCTYPE html") || has("<html")) return of_a_picture;
    return {};
}

std::string of_json(std::string_view head) {
    if (head.find("\":") == head.npos && head.find("\" :") == head.npos) return {};
    const std::string instead =
        ", which is not read: give the .fprobe, the pprof file, or the folded stacks or perf script's text it was made "
        "of";
    const auto has = [head](std::string_view word) { return head.find(word) != head.npos; };
    if (has("speedscope") || has("\"shared\"")) return "is speedscope's JSON" + instead;
    if (has("\"preprocessedProfileVersion\"") || has("\"stackTable\"") || has("\"processType\""))
        return "is Firefox Profiler's JSON" + instead;
    if (has("\"callFrame\"") || has("\"traceEvents\"")) return "is Chrome's JSON" + instead;
    return "is JSON" + instead;
}

}  // namespace

std::string foreign_format(std::string_view head) {
    for (const Beginning& one : beginnings)
        if (head.starts_with(one.bytes)) return one.what;
    if (head.substr(std::min(head.size(), tar_mark)).starts_with("ustar")) return "is a tar archive: unpack it first";
    const std::size_t begin = head.find_first_not_of(" \t\r\n");
    if (begin == head.npos) return {};
    if (head.substr(begin).starts_with("@[") || head.starts_with("Attaching "))
        return "is bpftrace's text: stackcollapse-bpftrace.pl FILE | flameprobe-render - -o picture.svg";
    if (head[begin] == '<') return of_markup(head.substr(begin));
    return head[begin] == '{' || head[begin] == '[' ? of_json(head) : "";
}

}  // namespace flameprobe
