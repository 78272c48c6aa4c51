#include "archive.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "base/output_directory.hpp"
#include "base/printed.hpp"
#include "export/output_file.hpp"
#include "inputs.hpp"
#include "outside/partial_sink.hpp"
#include "outside/processes.hpp"
#include "outside/reader.hpp"
#include "profile/writer.hpp"
#include "symbolize/last_stack.hpp"
#include "symbolize/provenance.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

namespace {

/// A file that gets its name when it is whole, and replaces only a regular file of the running user.
class NewFile {
public:
    NewFile(OutputDirectory directory, const std::string& path)
        : directory_(std::move(directory)),
          path_(path),
          name_(last_name(path)),
          temporary_(name_ + ".tmp." + std::to_string(getpid())) {}
    ~NewFile() {
        if (made_) directory_.remove(temporary_);
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    Result<Descriptor> create() {
        if (auto free = check(); !free) return free.error();
        Descriptor file = directory_.create(temporary_, 0664);
        if (!file) return failure("cannot be created", errno);
        made_ = true;
        return file;
    }
    Result<void> rename_into_place() {
        if (auto free = check(); !free) return free.error();
        if (const int error = directory_.rename(temporary_, name_); error != 0)
            return failure("cannot be replaced", error);
        made_ = false;
        return {};
    }

private:
    Result<void> check() const {
        if (const auto obstacle = directory_.obstacle(name_); !obstacle.empty())
            return Error{path_ + ": not written: it " + obstacle + remedy_for_obstacle};
        return {};
    }
    Error failure(const char* what, int error) const {
        return Error{path_ + ": " + what + ": " + strerrordesc_np(error)};
    }

    OutputDirectory directory_;
    std::string path_, name_, temporary_;
    bool made_ = false;
};

/// Copies a profile while it is read, a block at a time.
class Copy final : public PartialSink {
public:
    explicit Copy(ProfileWriter& to) : PartialSink(&to), to_(to) {}

    const std::optional<Error>& error() const { return error_; }

private:
    void passed_on() override {
        if (to_.buffered() < format::full_block_payload || error_) return;
        if (auto written = to_.flush(); !written) error_ = written.error();
    }

    ProfileWriter& to_;
    std::optional<Error> error_;
};

/// Adds strings after the profile's own, each once.
class Strings {
public:
    Strings(ProfileSink& to, std::size_t known) : to_(to), next_(static_cast<std::uint32_t>(known)) {}

    std::uint32_t id(const std::string& text) {
        const auto [known, is_new] = ids_.try_emplace(text, next_);
        if (is_new) to_.string(next_++, text);
        return known->second;
    }

private:
    ProfileSink& to_;
    std::uint32_t next_;
    std::unordered_map<std::string, std::uint32_t> ids_;
};

void add_names(ProfileSink& to, const RawProfile& raw, const std::vector<LocationId>& ids, const SymbolChains& chains) {
    Strings strings(to, raw.strings.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::vector<ArchivedSymbol> archived;
        for (const Symbol& symbol : chains[i]) {
            archived.push_back(
                {strings.id(symbol.name), strings.id(symbol.file), symbol.line, symbol.decl_line, symbol.inlined});
        }
        to.symbols(ids[i], archived);
    }
}

/// The locations without stored names. Notes and scopes need none.
std::vector<LocationId> nameless(const RawProfile& raw) {
    std::vector<LocationId> ids;
    for (LocationId id = 0; id < raw.locations.size(); ++id) {
        const MappingKind kind = raw.mappings[raw.locations[id].mapping].kind;
        const bool ours = kind == MappingKind::note || kind == MappingKind::scope;
        if (!ours && !raw.archived.contains(id)) ids.push_back(id);
    }
    return ids;
}

Result<void> write_archive(const std::string& input, RawProfile& raw, const Arguments& arguments, Progress& progress,
                           ProfileWriter& writer, std::vector<std::string>& warnings) {
    const std::size_t mappings = raw.mappings.size(), locations = raw.locations.size();
    add_last_stack(raw);
    Copy copy(writer);
    if (auto read = read_profile(input, copy); !read) return read.error();
    for (std::size_t id = mappings; id < raw.mappings.size(); ++id) copy.mapping(MappingId(id), raw.mappings[id]);
    for (std::size_t id = locations; id < raw.locations.size(); ++id) copy.location(LocationId(id), raw.locations[id]);
    const std::vector<LocationId> ids = nameless(raw);
    std::vector<Location> unnamed;
    for (const LocationId id : ids) unnamed.push_back(raw.locations[id]);
    SymbolizeOptions options = symbolize_options(arguments, progress, input);
    if (raw.run_info) options = with_provenance(options, *raw.run_info);
    add_names(copy, raw, ids, symbolize(raw.mappings, unnamed, raw.strings, options, warnings));
    if (copy.error()) return *copy.error();
    return writer.flush();
}

/// A file without a name. Its path is valid as long as the descriptor is.
struct Unnamed {
    Descriptor file{memfd_create("flameprobe-render", MFD_CLOEXEC)};
    std::string path() const { return "/proc/self/fd/" + std::to_string(file.get()); }
};

Result<void> archive_process(const std::string& input, const Arguments& arguments, Progress& progress, Descriptor to,
                             std::vector<std::string>& warnings) {
    const SampleFilter everything;
    RawProfile raw(everything);
    if (auto read = read_profile(input, raw); !read) return read.error();
    ProfileWriter writer(std::move(to));
    return write_archive(input, raw, arguments, progress, writer, warnings);
}

/// Each process by itself, since each has tables of its own, and then together.
Result<void> archive_processes(const std::vector<ProcessPart>& parts, const Arguments& arguments, Progress& progress,
                               const Descriptor& to, std::vector<std::string>& warnings) {
    std::vector<Unnamed> archives(parts.size());
    std::vector<ProcessPart> archived;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Unnamed alone;
        if (!alone.file || !archives[i].file) return Error{std::string("no memory file: ") + strerrordesc_np(errno)};
        OutputFile file(alone.path());
        auto written = write_processes({parts[i]}, [&file](std::string_view piece) { file.write(piece); });
        if (written) written = file.commit();
        if (written)
            written = archive_process(alone.path(), arguments, progress,
                                      Descriptor(fcntl(archives[i].file.get(), F_DUPFD_CLOEXEC, 0)), warnings);
        if (!written) return written;
        auto process = processes_of(archives[i].path());
        if (!process) return process.error();
        archived.push_back(std::move(process->front()));
    }
    OutputFile file("/proc/self/fd/" + std::to_string(to.get()));
    auto written = write_processes(archived, [&file](std::string_view piece) { file.write(piece); });
    return written ? file.commit() : written;
}

}  // namespace

Result<void> archive_profile(const Arguments& arguments, Progress& progress) {
    const std::string& input = arguments.inputs.front();
    if (input == "-") return Error{"--archive reads its input twice: give a file"};
    const auto parts = processes_of(input);
    if (!parts) return parts.error();
    const std::string& path = arguments.output.empty() ? input : arguments.output;
    auto directory = OutputDirectory::of(path);
    if (!directory) return Error{path + ": cannot be created: " + directory.error().message};
    NewFile file(std::move(*directory), path);
    auto created = file.create();
    if (!created) return created.error();
    std::vector<std::string> warnings;
    const auto written = parts->size() > 1 ? archive_processes(*parts, arguments, progress, *created, warnings)
                                           : archive_process(input, arguments, progress, std::move(*created), warnings);
    if (!written) return written;
    progress.clear();
    for (const std::string& warning : warnings) print_message("flameprobe-render", warning);
    return file.rename_into_place();
}

}  // namespace flameprobe
