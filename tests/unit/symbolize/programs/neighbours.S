// An exported function without a size, one that is not exported behind it, and one whose size is too small.
.text
.globl exported
.type exported, @function
exported:
at_exported:
.cfi_startproc
nop
nop
at_exported_end:
ret
.cfi_endproc

.type hidden, @function
hidden:
at_hidden:
.cfi_startproc
nop
ret
.cfi_endproc
.size hidden, .-hidden

.globl too_short
.type too_short, @function
too_short:
.cfi_startproc
nop
.size too_short, .-too_short
nop
at_short_end:
ret
.cfi_endproc
.section .note.GNU-stack, "", @progbits
