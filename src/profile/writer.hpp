// Appends a profile to a `.fprobe` file (docs/formats.md) so that a kill at any moment loses at most the block that is
// being filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "profile/format.hpp"
#include "profile/sink.hpp"

namespace flameprobe {

/// A file that grows by whole pieces only. One thread only.
class AppendFile {
public:
    /// Takes a descriptor open for writing; the file is taken to be empty.
    explicit AppendFile(Descriptor file) : file_(std::move(file)) {}

    /// Gives a file to one that has no descriptor (any more). It must hold what was appended so far.
    void attach(Descriptor file) {
        file_ = std::move(file);
        in_place_ = size_ == 0;
    }

    /// Adds all of `piece`, or nothing: on an error the file is cut back to the size it had. Raises no SIGXFSZ.
    Result<void> append(std::string_view piece);
    std::uint64_t size() const { return size_; }
    /// Appends to another file from now on, at its end. False: its size is not known, and nothing has changed.
    bool go_on_in(Descriptor file);

private:
    Descriptor file_;
    std::uint64_t size_ = 0;
    bool in_place_ = true;  // the file's offset is its end
};

/// One thread only. Buffers records until `flush()`, which writes them as checksummed blocks (one, unless more than 1
/// MiB has gathered) with one write(2). Recording may throw std::bad_alloc; ids would be off after that, so all later
/// records are refused; what came before stays readable.
class ProfileWriter final : public ProfileSink {
public:
    /// Takes a descriptor open for writing, at offset 0 of an empty file.
    explicit ProfileWriter(Descriptor file);
    /// The file, for a writer made without one: no file is made before there are samples.
    void attach(Descriptor file) { file_.attach(std::move(file)); }

    void run(const RunInfo& info) override;
    void string(std::uint32_t id, const std::string& text) override;
    void mapping(MappingId id, const Mapping& mapping) override;
    void location(LocationId id, const Location& location) override;
    void stack(StackId id, const StackNode& node) override;
    void thread(ThreadId id, const Thread& thread) override;
    void sample(const Sample& sample) override;
    /// Summaries that are not complete are skipped while they would take more than a tenth of the file: after a kill
    /// the last one may be older than the last samples by some hundred of them.
    void summary(const Summary& summary) override;
    void symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) override;
    void event(EventId id, const EventInfo& info) override;
    void event_sample(EventId event, const Sample& sample) override;
    void host(const HostRecord& record) override;

    /// Writes what is buffered. On an error (disk full, file size limit) the file is cut back to its last whole block,
    /// the buffer is kept, and the call may be tried again. Never raises SIGXFSZ.
    Result<void> flush();
    /// What is written from now on goes to `file`, which has all that was flushed, made smaller
    /// (outside/compactor.hpp). False: its size is not known, and nothing has changed.
    bool go_on_in(Descriptor file);
    std::uint64_t bytes_written() const;
    std::size_t buffered() const;  // bytes of records that are not in the file yet

private:
    template <class Fields>
    void extended(format::ExtendedKind kind, Fields fields);
    bool begin_record();
    void end_record();
    void open_block();
    void close_block();

    AppendFile file_;
    std::string buffer_;          // closed blocks, then the header's place and the records of the open one
    std::size_t open_block_ = 0;  // where the open block's header belongs
    std::size_t whole_ = 0;       // where the last whole record ends
    bool in_record_ = false;
    std::string scratch_;
    std::vector<std::uint64_t> last_address_;  // by mapping
    std::uint64_t last_time_ns_ = 0;
    std::uint64_t last_event_time_ns_ = 0;  // of samples of other events
    std::uint64_t next_summary_ = 0;        // bytes that the file must have before it gets another
    StackId last_stack_ = 0;
};

}  // namespace flameprobe
