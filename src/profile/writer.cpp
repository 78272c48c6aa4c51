#include "profile/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/signals.hpp"
#include "base/varint.hpp"
#include "profile/record_fields.hpp"

namespace flameprobe {

using format::ExtendedKind;
using format::RecordKey;

namespace {

/// 0 or an errno. Plain write(2), the one call that every filter of a sandboxed host still permits.
int write_all(int file, std::string_view piece) {
    for (int interrupted = 0; !piece.empty();) {
        const ssize_t done = write(file, piece.data(), piece.size());
        // All signals are blocked here: a file system that goes on saying so (NFS with `intr`) must not hang the host.
        if (done < 0 && errno == EINTR && ++interrupted < 100) continue;
        if (done < 0) return errno;
        if (done == 0) return ENOSPC;
        // A short write is the first sign of a full disk: the next one gives the error.
        piece.remove_prefix(static_cast<std::size_t>(done));
    }
    return 0;
}

void put_key(std::string& out, RecordKey key, std::uint64_t first) {
    put_varint(out, first << format::key_bits | static_cast<std::uint64_t>(key));
}

std::uint64_t difference(std::uint64_t to, std::uint64_t from) { return zigzag(static_cast<std::int64_t>(to - from)); }

}  // namespace

Result<void> AppendFile::append(std::string_view piece) {
    const HeldSignals quiet;
    // Should cutting back fail too, the next attempt overwrites the torn piece.
    if (!in_place_ && lseek(file_.get(), static_cast<off_t>(size_), SEEK_SET) < 0)
        return Error{"cannot write the profile: " + error_text(errno)};
    in_place_ = false;
    if (const int error = write_all(file_.get(), piece); error != 0) {
        [[maybe_unused]] const int cut = ftruncate(file_.get(), static_cast<off_t>(size_));
        return Error{"cannot write the profile: " + error_text(error)};
    }
    in_place_ = true;
    size_ += piece.size();
    return {};
}

bool AppendFile::go_on_in(Descriptor file) {
    struct stat status {};
    if (fstat(file.get(), &status) != 0) return false;
    file_ = std::move(file);
    size_ = static_cast<std::uint64_t>(status.st_size);
    in_place_ = false;
    return true;
}

ProfileWriter::ProfileWriter(Descriptor file) : file_(std::move(file)) {
    buffer_ = format::magic;
    open_block();
}

void ProfileWriter::open_block() {
    open_block_ = buffer_.size();
    buffer_.append(format::block_header_size, '\0');
    whole_ = buffer_.size();
}

void ProfileWriter::close_block() {
    const auto payload = std::string_view(buffer_).substr(open_block_ + format::block_header_size);
    const auto header = make_block_header(format::BlockType::records, payload);
    std::ranges::copy(header, buffer_.begin() + static_cast<std::ptrdiff_t>(open_block_));
}

bool ProfileWriter::begin_record() {
    if (in_record_) return false;  // an earlier one was not finished
    return in_record_ = true;
}

void ProfileWriter::end_record() {
    in_record_ = false;
    whole_ = buffer_.size();
    if (buffer_.size() - open_block_ < format::full_block_payload) return;
    close_block();
    open_block();
}

template <class Fields>
void ProfileWriter::extended(format::ExtendedKind kind, Fields fields) {
    if (!begin_record()) return;
    scratch_.clear();
    FieldWriter writer(scratch_);
    fields(writer);
    put_key(buffer_, RecordKey::extended, static_cast<std::uint64_t>(kind));
    put_string(buffer_, scratch_);
    end_record();
}

void ProfileWriter::run(const RunInfo& info) {
    extended(ExtendedKind::run, [&](FieldWriter& out) { list_fields(out, info); });
}

void ProfileWriter::string(std::uint32_t /*id*/, const std::string& text) {
    extended(ExtendedKind::string, [&](FieldWriter& out) { out(text); });
}

void ProfileWriter::mapping(MappingId /*id*/, const Mapping& mapping) {
    extended(ExtendedKind::mapping, [&](FieldWriter& out) {
        last_address_.push_back(mapping.start);
        list_fields(out, mapping);
    });
}

void ProfileWriter::location(LocationId /*id*/, const Location& location) {
    if (!begin_record()) return;
    std::uint64_t& last = last_address_.at(location.mapping);
    put_key(buffer_, RecordKey::location, location.mapping);
    put_varint(buffer_, difference(location.address, last));
    last = location.address;
    end_record();
}

void ProfileWriter::stack(StackId id, const StackNode& node) {
    if (!begin_record()) return;
    if (node.parent == last_stack_) {
        put_key(buffer_, RecordKey::child_stack, node.location);
    } else {
        put_key(buffer_, RecordKey::stack, node.location);
        put_varint(buffer_, node.parent);
    }
    last_stack_ = id;
    end_record();
}

void ProfileWriter::thread(ThreadId id, const Thread& thread) {
    extended(ExtendedKind::thread, [&](FieldWriter& out) { out(id), out(thread.tid), out(thread.name); });
}

void ProfileWriter::sample(const Sample& sample) {
    if (sample.hits != 1) extended(ExtendedKind::hits, [&](FieldWriter& out) { out(sample.hits); });
    if (!begin_record()) return;
    put_key(buffer_, sample.weight == 1 ? RecordKey::sample : RecordKey::weighted_sample, sample.thread);
    put_varint(buffer_, difference(sample.time_ns, last_time_ns_));
    put_varint(buffer_, sample.stack);
    if (sample.weight != 1) put_varint(buffer_, sample.weight);
    last_time_ns_ = sample.time_ns;
    end_record();
}

void ProfileWriter::summary(const Summary& summary) {
    const std::uint64_t before = file_.size() + buffer_.size();
    if (!summary.complete && before < next_summary_) return;
    extended(ExtendedKind::summary, [&](FieldWriter& out) { list_fields(out, summary); });
    const std::uint64_t after = file_.size() + buffer_.size();
    next_summary_ = after + 9 * (after - before);
}

void ProfileWriter::symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) {
    const std::vector<ArchivedSymbol> kept(
        symbols.begin(),
        symbols.begin() + static_cast<std::ptrdiff_t>(std::min(symbols.size(), format::max_symbols_per_location)));
    extended(ExtendedKind::symbols, [&](FieldWriter& out) { out(id), out(kept); });
}

void ProfileWriter::host(const HostRecord& record) {
    std::visit([this]<class Record>(
                   const Record& of) { extended(kind_of<Record>, [&](FieldWriter& out) { list_fields(out, of); }); },
               record);
}

void ProfileWriter::event(EventId id, const EventInfo& info) {
    extended(ExtendedKind::event, [&](FieldWriter& out) { out(id), list_fields(out, info); });
}

void ProfileWriter::event_sample(EventId event, const Sample& sample) {
    extended(ExtendedKind::event_sample, [&](FieldWriter& out) {
        out(event), out(sample.thread), out(difference(sample.time_ns, last_event_time_ns_)), out(sample.stack);
        out(sample.weight), out(sample.hits);
        if (sample.age_ns != 0) out(sample.age_ns);
    });
    last_event_time_ns_ = sample.time_ns;
}

Result<void> ProfileWriter::flush() {
    buffer_.resize(whole_);
    if (buffered() == 0) return {};
    close_block();
    if (auto done = file_.append(buffer_); !done) return done;
    buffer_.clear();
    open_block();
    if (in_record_) return Error{"there was no memory for a part of the profile; it ends there"};
    return {};
}

bool ProfileWriter::go_on_in(Descriptor file) {
    next_summary_ = 0;
    return file_.go_on_in(std::move(file));
}

std::uint64_t ProfileWriter::bytes_written() const { return file_.size(); }

std::size_t ProfileWriter::buffered() const {
    const std::size_t framing = (file_.size() == 0 ? format::magic.size() : 0) + format::block_header_size;
    return buffer_.size() - framing;
}

}  // namespace flameprobe
