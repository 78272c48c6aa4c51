#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_map>

#include "base/printed.hpp"
#include "commands.hpp"
#include "export/output_file.hpp"
#include "inputs.hpp"
#include "outside/processes.hpp"
#include "outside/reader.hpp"
#include "profile/writer.hpp"
#include "progress.hpp"
#include "symbolize/load_steps.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

namespace {

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

Result<void> write_archive(const std::string& input, RawProfile& raw, const SymbolizeOptions& options,
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
    add_names(copy, raw, ids, symbolize(raw.mappings, unnamed, raw.strings, options, warnings));
    if (copy.error()) return *copy.error();
    return writer.flush();
}

/// A file without a name. Its path is valid as long as the descriptor is.
struct Unnamed {
    Descriptor file{memfd_create("flameprobe-render", MFD_CLOEXEC)};
    std::string path() const { return "/proc/self/fd/" + std::to_string(file.get()); }
};

/// From one file to the other. `name`: of the file that the user gave.
Result<void> archive_process(const Unnamed& from, const Unnamed& to, const std::string& name,
                             const Arguments& arguments, Progress& progress, std::vector<std::string>& warnings) {
    const SampleFilter everything;
    RawProfile raw(everything);
    if (auto read = read_profile(from.path(), raw); !read) return read.error();
    ProfileWriter writer(Descriptor(fcntl(to.file.get(), F_DUPFD_CLOEXEC, 0)));
    SymbolizeOptions options = symbolize_options(arguments, progress, name);
    if (raw.run_info) options = with_provenance(options, *raw.run_info);
    return write_archive(from.path(), raw, options, writer, warnings);
}

Result<void> write_to(const std::vector<ProcessPart>& parts, OutputFile& file) {
    auto written = write_processes(parts, [&file](std::string_view piece) { file.write(piece); });
    return written ? file.commit() : written;
}

// Each process by itself, since each has tables of its own, and then together.
Result<void> archive_profile(const Arguments& arguments, Progress& progress) {
    const std::string& input = arguments.inputs.front();
    if (input == "-") return Error{"--archive reads its input twice: give a file"};
    const auto parts = processes_of(input);
    if (!parts) return parts.error();
    OutputFile file(arguments.output.empty() ? input : arguments.output);
    if (file.failed()) return file.commit();
    const std::vector<Unnamed> archives(parts->size());
    std::vector<ProcessPart> archived;
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < parts->size(); ++i) {
        const Unnamed alone;
        if (!alone.file || !archives[i].file) return Error{"no memory file: " + error_text(errno)};
        OutputFile copy(alone.path());
        auto written = write_to({(*parts)[i]}, copy);
        if (written) written = archive_process(alone, archives[i], input, arguments, progress, warnings);
        if (!written) return written;
        auto process = processes_of(archives[i].path());
        if (!process) return process.error();
        archived.push_back(std::move(process->front()));
    }
    progress.clear();
    for (const std::string& warning : warnings) print_message("flameprobe-render", warning);
    return write_to(archived, file);
}

}  // namespace

int archive_command(const Arguments& arguments) {
    Progress progress;
    const auto archived = archive_profile(arguments, progress);
    progress.clear();
    return archived ? done : complain(failed, archived.error().message);
}

}  // namespace flameprobe
