#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>

#include "flameprobe/scope_context.hpp"

using FlameProbe::Scope;
using FlameProbe::ScopeContext;

namespace {

std::string shown(const ScopeContext& context) {
    std::string text = context.empty() ? "" : context.path().text();
    for (char& c : text) c = c == FLAMEPROBE_LABEL_NEXT ? '>' : c;
    return text;
}

}  // namespace

TEST_CASE("a context holds the open scopes, outermost first, and can be reinstated on another thread") {
    CHECK(ScopeContext::capture().empty());
    ScopeContext context;
    {
        Scope request{"request"};
        CHECK(shown(ScopeContext::capture()) == "request");
        Scope tenant{FlameProbe::intern("tenant", "acme")};
        Scope phase{"parse"};
        context = ScopeContext::capture();
        CHECK(shown(context) ==
              "request>tenant\x1f"
              "acme>parse");
    }
    CHECK(ScopeContext::capture().empty());
    std::thread([&] {
        CHECK(ScopeContext::capture().empty());
        Scope inside{context};
        Scope own{"own"};
        CHECK(shown(ScopeContext::capture()) ==
              "request>tenant\x1f"
              "acme>parse>own");
    }).join();
}

TEST_CASE("an empty context opens nothing") {
    Scope outer{"outer"};
    Scope none{ScopeContext()};
    Scope inner{"inner"};
    CHECK(shown(ScopeContext::capture()) == "outer>inner");
}

TEST_CASE("a context takes the innermost 32 scopes") {
    struct Nest {
        static ScopeContext down(int depth) {
            Scope scope{"level"};
            return depth == 0 ? ScopeContext::capture() : down(depth - 1);
        }
    };
    std::string levels = "level";
    for (int i = 1; i < 32; ++i) levels += ">level";
    CHECK(shown(Nest::down(99)) == levels);
}

TEST_CASE("a chain that leads to no record on the stack ends the capture and nothing else") {
    const std::uintptr_t before = flameprobe_chain_v1;
    {
        const auto elsewhere = std::make_unique<flameprobe_scope>();
        flameprobe_scope_enter(elsewhere.get(), "on the heap");
        CHECK(ScopeContext::capture().empty());
        Scope scope{"here"};
        CHECK(shown(ScopeContext::capture()) == "here");
    }
    flameprobe_chain_v1 = before;
}

TEST_CASE("a copy of a tag is no record, though the words behind it yield a pc") {
    struct Inner {
        static __attribute__((noinline)) ScopeContext capture(std::uintptr_t tag) {
            constexpr std::uintptr_t no_code = 0x10;
            flameprobe_scope copy{tag, "wrong", 0};
            const std::uintptr_t turned = flameprobe_scope_seal_(&copy, tag) ^ no_code;
            copy.outer = turned << 24 | turned >> 40;
            asm volatile("" : : "m"(copy));
            CHECK(flameprobe_scope_seal_(&copy, tag) == no_code);
            return ScopeContext::capture();
        }
    };
    flameprobe_scope record;
    flameprobe_scope_enter(&record, "right");
    CHECK(shown(Inner::capture(record.tag)) == "right");
    flameprobe_scope_leave(&record);
}

TEST_CASE("scopes are found across frames of any size, up to the end of the stack") {
    struct Far {
        static __attribute__((noinline)) ScopeContext go(std::size_t size) {
            auto* const space = static_cast<char*>(__builtin_alloca(size));
            asm volatile("" : : "r"(space) : "memory");
            Scope scope{"near"};
            return ScopeContext::capture();
        }
    };
    Scope scope{"far"};
    for (std::size_t size = 1; size < 100000; size += 1111) CHECK(shown(Far::go(size)) == "far>near");
}
