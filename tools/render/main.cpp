#include "render_program.hpp"

int main(int argc, char* argv[]) { return flameprobe::render_program(argc, argv); }
