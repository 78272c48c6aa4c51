// Names of code that is compiled at run time, from the files jit-PID.dump that node --perf-prof, perf's agent for the
// JVM, LLVM and others write for `perf inject --jit` (tools/perf/Documentation/jitdump-specification.txt).
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "base/regular_file.hpp"
#include "symbolize/perf_map.hpp"

namespace flameprobe {

namespace {

constexpr std::uint32_t magic = 0x4a695444;  // "JiTD", in this machine's order of bytes
constexpr std::size_t most_dump_bytes = std::size_t{256} << 20;
constexpr std::size_t most_name = 4096;

struct Header {
    std::uint32_t magic, version, size, machine, padding, pid;
    std::uint64_t timestamp, flags;
};

enum class Kind : std::uint32_t { load = 0, move = 1 };
struct Prefix {
    Kind kind;
    std::uint32_t size;  // of the record, with this
    std::uint64_t timestamp;
};

struct Load {
    std::uint32_t pid, tid;
    std::uint64_t virtual_address, address, size, index;
    // The name follows, ended by a zero, and then the code.
};

struct Move {
    std::uint32_t pid, tid;
    std::uint64_t virtual_address, from, to, size, index;
};

class Reader {
public:
    explicit Reader(Descriptor file) : file_(std::move(file)) {}

    std::vector<JitCode> read() {
        const auto header = get<Header>(0);
        if (!header || header->magic != magic || header->size < sizeof(Header)) return {};
        constexpr std::uint64_t times_of_the_cpu = 1;
        const bool has_times = (header->flags & times_of_the_cpu) == 0;
        for (std::uint64_t at = header->size; bytes_ < most_dump_bytes;) {
            const auto prefix = get<Prefix>(at);
            if (!prefix || prefix->size < sizeof(Prefix)) break;
            const std::uint64_t body = at + sizeof(Prefix), size = prefix->size - sizeof(Prefix);
            time_ns_ = has_times ? prefix->timestamp : 0;
            if (prefix->kind == Kind::load) load(body, size);
            if (prefix->kind == Kind::move) move(body);
            at += prefix->size;
        }
        return std::move(codes_);
    }

private:
    void load(std::uint64_t at, std::uint64_t size) {
        const auto record = get<Load>(at);
        if (!record || size < sizeof(Load)) return;
        char bytes[most_name];
        const std::span name_bytes(bytes, std::min<std::size_t>(size - sizeof(Load), most_name));
        const auto got = read_at(file_.get(), at + sizeof(Load), std::as_writable_bytes(name_bytes));
        std::string name(bytes, ::strnlen(bytes, got));
        std::ranges::replace(name, '\n', ' ');
        add(record->address, record->size, name);
        names_[record->index] = std::move(name);
    }
    void move(std::uint64_t at) {
        const auto record = get<Move>(at);
        if (!record) return;
        if (const auto name = names_.find(record->index); name != names_.end())
            add(record->to, record->size, name->second);
    }
    void add(std::uint64_t address, std::uint64_t size, const std::string& name) {
        codes_.push_back({address, size, time_ns_, name});
        bytes_ += sizeof(JitCode) + name.size();
    }

    template <class Record>
    std::optional<Record> get(std::uint64_t at) const {
        Record record;
        if (read_at(file_.get(), at, std::as_writable_bytes(std::span(&record, 1))) != sizeof record)
            return std::nullopt;
        return record;
    }

    Descriptor file_;
    std::vector<JitCode> codes_;
    std::size_t bytes_ = 0;                                 // of codes_
    std::uint64_t time_ns_ = 0;                             // of the record that is read
    std::unordered_map<std::uint64_t, std::string> names_;  // by index, for code that is moved
};

}  // namespace

// A process that is watched has a root of its own, and its own user may name its code.
Descriptor open_trusted(const std::string& path, std::vector<std::string>& warnings) {
    const auto refuse = [&](const char* why) {
        warnings.push_back(path + ": the names of code made at run time are not read from it, since " + why);
        return Descriptor();
    };
    const bool watched = is_watched_from_outside();
    const Descriptor root = watched ? host_root() : Descriptor();
    const auto user = watched ? effective_user_of(host_proc_directory()) : std::optional(::geteuid());
    if (watched && (!root || !user)) return {};  // it has ended
    const FoundFile found(path, {.root = root.get(), .links = false});
    if (!found) return {};
    if (S_ISLNK(found.status().st_mode)) return refuse("it is a symbolic link");
    if (found.status().st_uid != *user && found.status().st_uid != 0) return refuse("it belongs to another user");
    if (!found.is_regular()) return refuse("it is no regular file");
    Descriptor file = found.open();
    return file ? std::move(file) : refuse("it cannot be opened");
}

std::vector<std::string> jit_dumps_in(const std::vector<Mapping>& mappings) {
    std::vector<std::string> dumps;
    for (const Mapping& mapping : mappings)
        if (mapping.kind == MappingKind::file && is_jit_dump(mapping.path)) dumps.push_back(mapping.path);
    return dumps;
}

std::vector<JitCode> read_jit_dump(const std::string& path, std::vector<std::string>& warnings) {
    Descriptor file = open_trusted(path, warnings);
    return file ? Reader(std::move(file)).read() : std::vector<JitCode>{};
}

}  // namespace flameprobe
