#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "attach/tasks/memory.hpp"

using namespace flameprobe::async;

namespace {

// Three pages, of which the one in the middle is not mapped.
class Pages {
public:
    Pages() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
        begin_ = static_cast<unsigned char*>(
            ::mmap(nullptr, 3 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        for (std::size_t i = 0; i < 3 * page_; ++i) begin_[i] = static_cast<unsigned char>(i * 7 + i / page_);
        ::munmap(begin_ + page_, page_);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() {
        ::munmap(begin_, page_);
        ::munmap(begin_ + 2 * page_, page_);
    }

    std::size_t page() const { return page_; }
    Place place(std::size_t offset, std::size_t size) const {
        return {reinterpret_cast<std::uint64_t>(begin_ + offset), size};
    }
    bool are_at(std::span<const Place> places, std::span<const std::byte> bytes) const {
        std::size_t at = 0;
        for (const Place& place : places) {
            if (std::memcmp(bytes.data() + at, reinterpret_cast<const void*>(place.address), place.size) != 0)
                return false;
            at += place.size;
        }
        return true;
    }

private:
    std::size_t page_;
    unsigned char* begin_;
};

}  // namespace

TEST_CASE("places are read one behind the other, near ones in one piece") {
    const Pages pages;
    const std::size_t last = 2 * pages.page();
    const std::vector<Place> places = {pages.place(0, 40),         pages.place(40, 8),   pages.place(300, 100),
                                       pages.place(1'500, 16),     pages.place(64, 32),  pages.place(80, 32),
                                       pages.place(last + 8, 200), pages.place(350, 10), pages.place(1'500, 16)};
    std::vector<std::byte> bytes;
    CHECK(read_places(places, bytes) == places.size());
    CHECK(pages.are_at(places, bytes));
}

TEST_CASE("what is not mapped ends the reading, and nothing before it is lost") {
    const Pages pages;
    const std::size_t page = pages.page();
    // The second and the third are near enough for one piece, which could not be read whole.
    const std::vector<Place> places = {pages.place(16, 8), pages.place(page - 64, 32), pages.place(page - 16, 32),
                                       pages.place(2 * page, 8)};
    std::vector<std::byte> bytes;
    CHECK(read_places(places, bytes) == 2);
    CHECK(pages.are_at(std::span(places).first(2), bytes));
    const std::vector<Place> none = {pages.place(page, 8)};
    CHECK(read_places(none, bytes) == 0);
}

TEST_CASE("more places than one call of the kernel takes") {
    const Pages pages;
    std::vector<Place> places;
    for (std::size_t i = 0; i < 5'000; ++i) places.push_back(pages.place(i * 37 % (pages.page() - 24), 24));
    std::vector<std::byte> bytes;
    CHECK(read_places(places, bytes) == places.size());
    CHECK(pages.are_at(places, bytes));
}
