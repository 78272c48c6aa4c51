// Work without end for attach.py, on deep stacks: deep FILE, where 8 bytes tell how many units are done. A recursive
// descent through nested parentheses, up to some 400 calls and 40 KiB deep.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}
    [[gnu::noinline]] std::uint64_t sum() {
        char notes[64];
        asm volatile("" : : "r"(notes) : "memory");
        std::uint64_t value = product();
        for (; takes('+'); value += product()) {
        }
        asm volatile("" : : "r"(notes) : "memory");
        return value;
    }

private:
    [[gnu::noinline]] std::uint64_t product() {
        std::uint64_t value = primary();
        while (takes('*')) value *= primary();
        return value;
    }
    [[gnu::noinline]] std::uint64_t primary() {
        if (takes('(')) {
            const std::uint64_t value = sum();
            takes(')');
            return value;
        }
        return number();
    }
    [[gnu::noinline]] std::uint64_t number() {
        std::uint64_t value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
            value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
        return value;
    }
    bool takes(char wanted) {
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

std::string nested(unsigned depth, unsigned seed) {
    std::string text, end;
    for (unsigned level = 0; level < depth; ++level) {
        seed = seed * 1103515245 + 12345;
        text += std::to_string(seed >> 8) + "*" + std::to_string(seed >> 16) + "+(";
        end += ")+" + std::to_string(level);
    }
    return text + "1" + end;
}

}  // namespace

int main(int argc, char* argv[]) {
    const int file = argc == 2 ? ::open(argv[1], O_WRONLY | O_CLOEXEC) : -1;
    if (file < 0) return 2;
    constexpr unsigned texts = 16, rounds = 20;
    std::string text[texts];
    for (unsigned i = 0; i < texts; ++i) text[i] = nested(20 + 8 * i, i);
    std::uint64_t kept = 0;
    for (std::uint64_t done = 1;; ++done) {
        for (unsigned round = 0; round < rounds; ++round) kept += Parser(text[done % texts]).sum();
        if (::pwrite(file, &done, sizeof done, 0) != sizeof done || kept == 1) return 1;
    }
}
