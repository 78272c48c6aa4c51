// What a guard becomes: ../test_scopes.py reads the object code.
#include <flameprobe/scope.hpp>

extern "C" void work() noexcept;

void guard() {
    FlameProbe::Scope scope{"checkout"};
    work();
}

void made_before(FlameProbe::Label label) {
    FlameProbe::Scope outer{label};
    FlameProbe::Scope inner{"inner"};
    work();
}
