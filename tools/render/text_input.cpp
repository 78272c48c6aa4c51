#include "text_input.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>

namespace flameprobe {

namespace {

constexpr std::size_t piece_size = 256 * 1024, head_size = 64 * 1024;
constexpr std::size_t longest_input_line = 64 * 1024 * 1024;
constexpr std::size_t largest_pprof = std::size_t{1} << 30;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf", gzip_magic = "\x1f\x8b";

/// Undoes gzip (RFC 1952), also of several members one behind the other.
class Gunzip {
public:
    Gunzip() { ok_ = ::inflateInit2(&stream_, 15 + 16) == Z_OK; }
    ~Gunzip() { ::inflateEnd(&stream_); }
    Gunzip(const Gunzip&) = delete;
    Gunzip& operator=(const Gunzip&) = delete;

    bool add(std::string_view packed, std::string& out) {
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
        stream_.avail_in = static_cast<uInt>(packed.size());
        do {
            if (ended_ && stream_.avail_in > 0) ok_ = ::inflateReset(&stream_) == Z_OK;
            const std::size_t before = out.size();
            out.resize(before + piece_size);
            stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
            stream_.avail_out = piece_size;
            const int status = ::inflate(&stream_, Z_NO_FLUSH);
            out.resize(out.size() - stream_.avail_out);
            ended_ = status == Z_STREAM_END;
            ok_ = ok_ && (ended_ || status == Z_OK || status == Z_BUF_ERROR);
        } while (ok_ && (stream_.avail_out == 0 || (ended_ && stream_.avail_in > 0)));
        return ok_;
    }
    bool ended() const { return ended_; }

private:
    z_stream stream_{};
    bool ok_ = false, ended_ = false;
};

/// The input's bytes, no longer compressed, in pieces.
class Pieces {
public:
    explicit Pieces(ByteSource& source) : source_(source) {}

    Result<void> open() {
        const auto head = source_.peek(gzip_magic.size());
        if (!head) return head.error();
        if (*head == gzip_magic) gunzip_ = std::make_unique<Gunzip>();
        return {};
    }
    /// False at the end.
    Result<bool> next(std::string& piece) {
        piece.clear();
        while (piece.empty()) {
            std::string packed;
            const auto got = source_.read(gunzip_ ? piece_size / 16 : piece_size, gunzip_ ? packed : piece);
            if (!got) return got.error();
            if (*got == 0) {
                if (gunzip_ && !gunzip_->ended()) return Error{source_.name() + ": its gzip data is cut off"};
                return false;
            }
            if (gunzip_ && !gunzip_->add(packed, piece)) return Error{source_.name() + ": its gzip data is damaged"};
        }
        return true;
    }

private:
    ByteSource& source_;
    std::unique_ptr<Gunzip> gunzip_;
};

class TextInput {
public:
    TextInput(ByteSource& source, FoldedReader& reader, std::vector<std::string>& warnings)
        : name_(source.name()), pieces_(source), reader_(reader), warnings_(warnings) {}

    Result<void> read() {
        if (auto opened = pieces_.open(); !opened) return opened;
        std::string head, piece;
        while (head.size() < head_size) {
            const auto more = pieces_.next(piece);
            if (!more) return more.error();
            if (!*more) break;
            head += piece;
        }
        if (head.starts_with(byte_order_mark)) head.erase(0, byte_order_mark.size());
        if (const std::string what = foreign_format(std::string_view(head).substr(0, head_size)); !what.empty())
            return Error{name_ + ": " + what};
        if (is_pprof(head)) return read_pprof(std::move(head));
        if (is_perf_script(head)) return read_perf_script(head);
        reader_.feed(head);
        const auto read = rest([this](std::string_view text) { reader_.feed(text); });
        return read ? reader_.finish() : read;
    }

private:
    template <class Take>
    Result<void> rest(const Take& take) {
        for (std::string piece; !reader_.has_failed();) {  // a device may have no end
            const auto more = pieces_.next(piece);
            if (!more) return more.error();
            if (!*more) break;
            take(piece);
        }
        return {};
    }
    Result<void> read_pprof(std::string all) {
        const auto read = rest([&](std::string_view text) {
            if (all.size() <= largest_pprof) all += text;
        });
        if (!read) return read;
        if (all.size() > largest_pprof) return Error{name_ + ": is a pprof profile of more than 1 GB"};
        bool any = false;
        const auto read_in = fold_pprof(all, [&](std::string_view text) {
            any = true;
            reader_.feed(text);
        });
        if (!read_in) return Error{name_ + ": " + read_in.error().message};
        if (read_in->counted != "samples")
            warnings_.push_back(name_ + ": what is called samples here is " + read_in->counted);
        if (read_in->negative != 0) {
            const std::string difference = name_ +
                                           ": is a difference of profiles: " + std::to_string(read_in->negative) +
                                           (read_in->negative == 1 ? " stack is" : " stacks are") +
                                           " below zero; flameprobe-render --diff BEFORE AFTER shows both sides";
            if (!any) return Error{difference};
            warnings_.push_back(difference + ", and here they are left out");
        }
        if (!any) return Error{name_ + ": is a pprof profile without samples"};
        return reader_.finish();
    }
    Result<void> read_perf_script(const std::string& head) {
        PerfScript script;
        std::string carry, folded;
        bool any = false;
        const auto hand_on = [&] {
            any = any || !folded.empty();
            reader_.feed(folded);
            folded.clear();
        };
        const auto lines = [&](std::string_view text) {
            for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
                carry += text.substr(0, end);
                script.line(carry, folded);
                carry.clear();
            }
            if (carry.size() < longest_input_line) carry += text;
            hand_on();
        };
        lines(head);
        if (auto read = rest(lines); !read) return read;
        script.line(carry, folded);
        script.finish(folded);
        hand_on();
        if (script.of_other_events() > 0)
            warnings_.push_back(name_ + ": only samples of " + script.event() + " are shown; " +
                                std::to_string(script.of_other_events()) + " of other events are left out");
        if (script.unread() > 0)
            warnings_.push_back(name_ + ": " + std::to_string(script.unread()) +
                                (script.unread() == 1 ? " line is" : " lines are") +
                                " no beginning of a sample (thread, pid), and what follows is left out");
        if (!any) return Error{name_ + ": is a text of perf script without samples"};
        return reader_.finish();
    }

    std::string name_;
    Pieces pieces_;
    FoldedReader& reader_;
    std::vector<std::string>& warnings_;
};

}  // namespace

Result<void> read_text_input(ByteSource& source, FoldedReader& reader, std::vector<std::string>& warnings) {
    return TextInput(source, reader, warnings).read();
}

}  // namespace flameprobe
