// Part of libflameprobe-core.so only (src/session/core_parts.cpp): of libdw's knowledge of CPUs, what unwinding on this
// one does not need. None of these is called: the files that are read are this CPU's.
#define LEAVE_OUT(cpu)                                          \
    void* cpu##_init(void* elf, unsigned short machine, void*); \
    void* cpu##_init(void*, unsigned short, void*) { return nullptr; }

extern "C" {

LEAVE_OUT(i386)
LEAVE_OUT(sh)
LEAVE_OUT(ia64)
LEAVE_OUT(alpha)
LEAVE_OUT(arm)
LEAVE_OUT(sparc)
LEAVE_OUT(ppc)
LEAVE_OUT(ppc64)
LEAVE_OUT(s390)
LEAVE_OUT(m68k)
LEAVE_OUT(bpf)
LEAVE_OUT(riscv)
LEAVE_OUT(csky)

#ifdef __x86_64__
LEAVE_OUT(aarch64)
int x86_64_return_value_location();
int x86_64_return_value_location() { return -1; }
int x86_64_disasm();
int x86_64_disasm() { return -1; }
#else
LEAVE_OUT(x86_64)
int aarch64_return_value_location();
int aarch64_return_value_location() { return -1; }
#endif

}  // extern "C"
