// What the tests look up: each MARK makes a global label, whose address is in the symbol table, at a line that the
// test finds by the mark's name.
#pragma once

#define MARK(name) asm volatile(".globl mark_" #name "\nmark_" #name ":\n nop")
