/* Ways out of a wrapper that keep all registers of the program's call.
 *
 * A wrapper has the program's arguments in registers. A call in C would make the compiler save each of them, on every
 * call, for the sake of a way that hardly any call takes. These entries save them instead (tap.h calls them from
 * assembly). They keep everything but %rax and the flags. Wrappers never use the upper halves of vector registers.
 *
 * dt_keep_next_chunk: %rax is the size in bytes; the answer is next_chunk's, in %rax.
 * dt_keep_entry_clock: the answer is slow_entry_clock's, in %rax.
 */
#if defined(__x86_64__)
.macro DT_KEEP name, function
  .hidden \name
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $320, %rsp
  andq $-16, %rsp
  movq %rdi, 256(%rsp)
  movq %rsi, 264(%rsp)
  movq %rdx, 272(%rsp)
  movq %rcx, 280(%rsp)
  movq %r8, 288(%rsp)
  movq %r9, 296(%rsp)
  movq %r10, 304(%rsp)
  movq %r11, 312(%rsp)
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movups %xmm\n, 16*\n(%rsp)
  .endr
  movq %fs:0, %rdi
  addq _ZN2dt3tlsE@gottpoff(%rip), %rdi
  movq %rax, %rsi
  call \function
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movups 16*\n(%rsp), %xmm\n
  .endr
  movq 256(%rsp), %rdi
  movq 264(%rsp), %rsi
  movq 272(%rsp), %rdx
  movq 280(%rsp), %rcx
  movq 288(%rsp), %r8
  movq 296(%rsp), %r9
  movq 304(%rsp), %r10
  movq 312(%rsp), %r11
  leave
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rbp
  ret
  .cfi_endproc
  .size \name, . - \name
.endm

.section .text.unlikely, "ax", %progbits
DT_KEEP dt_keep_next_chunk, _ZN2dt10next_chunkEPNS_6ThreadEm
DT_KEEP dt_keep_entry_clock, _ZN2dt16slow_entry_clockEv
#endif

.section .note.GNU-stack, "", %progbits
