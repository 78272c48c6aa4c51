// Perf maps, kallsyms, the vdso, and the other names that no ELF file on disk holds.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "symbolize/other_names.hpp"
#include "symbolize/perf_map.hpp"
#include "symbolize/symbolizer.hpp"
#include "test_program.hpp"

using namespace flameprobe;

namespace {

std::string name_one(const Mapping& mapping, std::uint64_t address, const SymbolizeOptions& options = {},
                     const std::vector<std::string>& strings = {}) {
    std::vector<std::string> warnings;
    const SymbolChains chains = symbolize({mapping}, {{0, address}}, strings, options, warnings);
    return chains.at(0).size() == 1 ? chains[0][0].name : "not one symbol";
}

std::vector<std::string> warnings_of(const Mapping& mapping, std::uint64_t address, const SymbolizeOptions& options) {
    std::vector<std::string> warnings;
    symbolize({mapping}, {{0, address}}, {}, options, warnings);
    return warnings;
}

Mapping of_kind(MappingKind kind, std::string path = {}) {
    Mapping mapping;
    mapping.kind = kind;
    mapping.start = 0x1000;
    mapping.size = 0x1000;
    mapping.path = std::move(path);
    return mapping;
}

}  // namespace

TEST_CASE("a perf map names addresses, the newest entry first") {
    const PerfMap map = PerfMap::parse(
        "1000 20 first\n"
        "0x2000 0x10 with blanks and ; in it\n"
        "1010 10 reused\n"
        "not a line\n"
        "3000\n"
        "3000 10\n"
        "3000 0 empty\n"
        "ffffffffffffffff 10 over the end\n"
        "4000 10 last, without a newline");
    CHECK(map.find(0xfff).empty());
    CHECK(map.find(0x1000) == "first");
    CHECK(map.find(0x100f) == "first");
    CHECK(map.find(0x1010) == "reused");
    CHECK(map.find(0x101f) == "reused");
    CHECK(map.find(0x1020).empty());
    CHECK(map.find(0x2005) == "with blanks and ; in it");
    CHECK(map.find(0x3000).empty());
    CHECK(map.find(0x400f) == "last, without a newline");
    CHECK(map.find(~std::uint64_t{0}).empty());
    const PerfMap other = PerfMap::parse("1000\t100\ttabs\r\n2000 100 no tabs\r\n");
    CHECK(other.find(0x1000) == "tabs");
    CHECK(other.find(0x2000) == "no tabs");
    CHECK(PerfMap::parse("").find(0).empty());
    CHECK(PerfMap::parse(std::string(1000, '\0')).find(0).empty());
}

TEST_CASE("an older entry of a perf map is used around newer ones within it") {
    const PerfMap map = PerfMap::parse("1000 1000 outer\n1100 10 inner\n1200 10 other\n");
    CHECK(map.find(0x1105) == "inner");
    CHECK(map.find(0x1300) == "outer");
}

TEST_CASE("a perf map in /tmp is read for run-time code, if it is a regular file") {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const std::string path = "/tmp/perf-" + std::to_string(pid) + ".map";
    std::ofstream(path) << "1800 100 LazyCompile:*work /app.js:12\n1900 10 _ZN4shop4leafEi\n";
    SymbolizeOptions options;
    options.pid = pid;
    const Mapping code = of_kind(MappingKind::anonymous);
    CHECK(name_one(code, 0x1880, options) == "LazyCompile:*work /app.js:12");
    CHECK(name_one(code, 0x1905, options) == "shop::leaf");
    CHECK(name_one(code, 0x1a00, options) == "[JIT code]");
    CHECK(name_one(code, 0x1880) == "[JIT code]");  // without a pid nothing is read
    ::unlink(path.c_str());

    CHECK(::symlink("/etc/passwd", path.c_str()) == 0);
    CHECK(name_one(code, 0x1880, options) == "[JIT code]");
    const std::string refused = path + ": the names of code made at run time are not read from it, since ";
    CHECK(warnings_of(code, 0x1880, options) == std::vector{refused + "it is a symbolic link"});
    ::unlink(path.c_str());
    CHECK(::mkfifo(path.c_str(), 0600) == 0);
    CHECK(name_one(code, 0x1880, options) == "[JIT code]");  // and does not wait for a writer
    CHECK(warnings_of(code, 0x1880, options) == std::vector{refused + "it is no regular file"});
    ::unlink(path.c_str());
    CHECK(warnings_of(code, 0x1880, options).empty());
    if (::geteuid() == 0) {
        std::ofstream(path) << "1800 100 planted\n";
        CHECK(::chown(path.c_str(), 65534, 65534) == 0);
        CHECK(name_one(code, 0x1880, options) == "[JIT code]");
        CHECK(warnings_of(code, 0x1880, options) == std::vector{refused + "it belongs to another user"});
        ::unlink(path.c_str());
    }
}

namespace {

template <class Value>
void append(std::string& bytes, Value value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_record(std::string& bytes, std::uint32_t kind, const std::string& body) {
    append(bytes, kind);
    append(bytes, static_cast<std::uint32_t>(16 + body.size()));
    append(bytes, std::uint64_t{1});  // time
    bytes += body;
}

void append_load(std::string& bytes, std::uint64_t address, std::uint64_t size, std::uint64_t index, const char* name) {
    std::string body;
    append(body, std::uint64_t{0});  // pid, tid
    for (const std::uint64_t value : {address, address, size, index}) append(body, value);
    body += std::string(name) + '\0' + std::string(size, '\x90');
    append_record(bytes, 0, body);
}

std::string dump_begin(std::uint32_t magic) {
    std::string bytes;
    for (const std::uint32_t value : {magic, 1u, 40u, 62u, 0u, 4711u}) append(bytes, value);
    for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{0}}) append(bytes, value);
    return bytes;
}

}  // namespace

TEST_CASE("a just-in-time compiler's dump names its code, also after it was moved") {
    char place[] = "/tmp/flameprobe-jit-XXXXXX";
    REQUIRE(::mkdtemp(place) != nullptr);
    const std::string path = std::string(place) + "/jit-4711.dump";
    std::string bytes = dump_begin(0x4a695444);
    append_load(bytes, 0x1800, 0x20, 1, "JS:*work /app.js:12");
    append_record(bytes, 2, std::string(24, 'x'));  // lines of the next function
    append_load(bytes, 0x1900, 0x10, 2, "_ZN4shop4leafEi");
    std::string moved;
    append(moved, std::uint64_t{0});
    for (const std::uint64_t value : {0, 0x1800, 0x1a00, 0x20, 1}) append(moved, value);
    append_record(bytes, 1, moved);
    append_load(bytes, 0x1c00, 0x10, 3, "two\nlines");
    const std::string whole = bytes;
    append_load(bytes, 0x1d00, 0x10, 4, "still being written");
    bytes.resize(whole.size() + 30);
    const auto write = [&](const std::string& text) { std::ofstream(path, std::ios::binary) << text; };
    write(bytes);

    const Mapping code = of_kind(MappingKind::anonymous), dump = of_kind(MappingKind::file, path);
    SymbolizeOptions options;
    options.same_boot = true;
    const auto name = [&](std::uint64_t address) {
        std::vector<std::string> warnings;
        return symbolize({code, dump}, {{0, address}}, {}, options, warnings).at(0).at(0).name;
    };
    CHECK(name(0x1805) == "JS:*work /app.js:12");
    CHECK(name(0x1905) == "shop::leaf");
    CHECK(name(0x1a1f) == "JS:*work /app.js:12");
    CHECK(name(0x1c00) == "two lines");
    CHECK(name(0x1d00) == "[JIT code]");
    options.same_boot = false;  // another machine's, or of a process before the machine was started
    CHECK(name(0x1805) == "[JIT code]");
    options.same_boot = true;
    write(dump_begin(0x4454694a) + bytes.substr(40));
    CHECK(name(0x1805) == "[JIT code]");  // of a machine with another order of bytes
    ::unlink(path.c_str());
    CHECK(::symlink("/etc/passwd", path.c_str()) == 0);
    CHECK(name(0x1805) == "[JIT code]");
    ::unlink(path.c_str());
    ::rmdir(place);
}

TEST_CASE("what a place held at a time is the last of its stretch that had come by then") {
    const PerfMap map =
        PerfMap::parse("1000 100 unknown_time\n",
                       {{0x1000, 0x80, 5, "first"}, {0x1000, 0x80, 9, "second"}, {0x1040, 0x10, 12, "within"}});
    CHECK(map.find(0x1044) == "within");
    CHECK(map.find(0x1000, 0x80, 8) == "first");
    CHECK(map.find(0x1000, 0x80, 9) == "second");
    CHECK(map.find(0x1000, 0x80, 4).empty());
    CHECK(map.find(0x1000, 0x100, 0) == "unknown_time");
    std::string names;
    for (const auto* entry : map.all_at(0x1044)) names += std::string(map.name(*entry)) + ' ';
    CHECK(names == "unknown_time first second within ");
    const PerfMap of_two_dumps = PerfMap::parse("", {{0x1000, 0x80, 9, "child's"}, {0x1000, 0x80, 5, "parent's"}});
    CHECK(of_two_dumps.find(0x1000) == "child's");
    CHECK(map.all_at(0x1100).empty());
}

TEST_CASE("kallsyms are read, modules included, data left out") {
    KernelSymbols symbols({0xffffffffc0000010, 0xffffffff81000100, 0xffffffff810001ff, 0xffffffff81000200,
                           0xffffffff80ffffff, 0xffffffffd0000000, 0xffffffff81000100, 0xffffffff81000210});
    symbols.add(
        "ffffffffc0000000 t ext4_read\t[ext4]\n"
        "ffffffff81000000 T _stext\n"
        "ffffffff81000000 T _text\n"
        "ffffffff81000100 t __do_work\n"
        "ffffffff81000100 T do_work\n"
        "ffffffff81000180 D some_data\n"
        "ffffffff81000200 W weak_one\n"
        "garbage\n"
        "ffffffff81000100 t a_local_one\n"
        "ffffffff81000020 T another_function\n"
        "ffffffff81000110 T");
    CHECK(symbols.find(0xffffffff80ffffff) == "");
    CHECK(symbols.find(0xffffffff81000100) == "do_work");
    CHECK(symbols.find(0xffffffff810001ff) == "do_work");
    CHECK(symbols.find(0xffffffff81000200) == "weak_one");
    CHECK(symbols.find(0xffffffff81000210) == "weak_one");  // no symbol lies between it and the address before
    CHECK(symbols.find(0xffffffffc0000010) == "ext4_read [ext4]");
    CHECK(symbols.find(0xffffffffd0000000) == "");
    CHECK(symbols.find(0xffffffff81000211) == "");  // was not asked for
}

TEST_CASE("kallsyms of zeros, as an unprivileged user sees them, name nothing") {
    KernelSymbols symbols({0x100, ~std::uint64_t{0}});
    symbols.add("0000000000000000 T _stext\n0000000000000000 T do_work\n");
    CHECK(symbols.empty());
    symbols.add("0000000000000100 T do_work\n");
    CHECK_FALSE(symbols.empty());
}

TEST_CASE("the kernel's own names are used on this boot only") {
    const std::uint64_t address = test::kernel_function("schedule");
    SymbolizeOptions options;
    options.same_boot = true;
    const Mapping kernel = of_kind(MappingKind::kernel);
    CHECK(name_one(kernel, address) == "[unknown in kernel]");
    CHECK(name_one(kernel, 0xffffffff00000000, options) == "[unknown in kernel]");
    if (address != 0)
        CHECK(name_one(kernel, address + 1, options) == "schedule");
    else
        MESSAGE("this user may not see kernel addresses: only the refusal was tested");
    CHECK(kernel_symbols_are_visible() == (address != 0));
}

TEST_CASE("the vdso's functions have names") {
    void* library = ::dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    const char* name = "__vdso_clock_gettime";
    if (::dlsym(library, name) == nullptr) name = "__kernel_clock_gettime";  // of aarch64 (vdso(7))
    const auto function = reinterpret_cast<std::uint64_t>(::dlsym(library, name));
    REQUIRE(function != 0);
    Mapping vdso = of_kind(MappingKind::vdso, "[vdso]");
    vdso.start = ::getauxval(AT_SYSINFO_EHDR);
    vdso.size = 0x2000;
    SymbolizeOptions options;
    CHECK(name_one(vdso, function + 1, options) == "[unknown in vdso]");
    options.same_boot = true;
    CHECK(name_one(vdso, function + 1, options) == name);
    CHECK(name_one(vdso, vdso.start + 1, options) == "[unknown in vdso]");
    vdso.build_id = "another kernel's";
    CHECK(name_one(vdso, function + 1, options) == "[unknown in vdso]");
    ::dlclose(library);
}

TEST_CASE("notes, scopes and places without a file have names") {
    CHECK(name_one(of_kind(MappingKind::note), static_cast<std::uint64_t>(Note::truncated)) == "[truncated]");
    CHECK(name_one(of_kind(MappingKind::note), static_cast<std::uint64_t>(Note::lost)) == "[lost]");
    CHECK(name_one(of_kind(MappingKind::note), static_cast<std::uint64_t>(Note::kernel_not_permitted)) ==
          "[kernel, not permitted]");
    CHECK(name_one(of_kind(MappingKind::note), 999) == "[note 999]");
    CHECK(name_one(of_kind(MappingKind::scope), 1, {}, {"", "checkout"}) == "checkout");
    CHECK(name_one(of_kind(MappingKind::scope), 7, {}, {"", "checkout"}) == "[scope 7]");
    CHECK(name_one(of_kind(MappingKind::unknown), 0xabc) == "0xabc");
    CHECK(name_one(of_kind(MappingKind::anonymous, "//anon"), 0xabc) == "[JIT code]");
    CHECK(name_one(of_kind(MappingKind::anonymous, "/memfd:jit"), 0xabc) == "[unknown in memfd:jit]");
}

TEST_CASE("a location of a mapping that does not exist gets its address") {
    std::vector<std::string> warnings;
    const SymbolChains chains = symbolize({}, {{5, 0x1234}}, {}, {}, warnings);
    REQUIRE(chains.size() == 1);
    CHECK(chains[0].at(0).name == "0x1234");
}
