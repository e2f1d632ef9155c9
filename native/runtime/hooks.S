/* Entries of the dynamic loader's functions that the tap stands in front of.
 *
 * dlsym(RTLD_NEXT), dlopen of a bare name and dlmopen mean different things for different callers, and the loader
 * knows its caller by the return address. So each entry asks dt_hook_NAME(a, b, c, caller, &result) what to do: it
 * answers with the function to go on to, as if the program had called that itself, or nullptr: the result is there.
 *
 * dt_call_as(function, a, b, c, gadget) calls with a return address inside somebody else's code: `gadget` is an
 * instruction sequence there that does nothing but return once more.
 */
#if defined(__x86_64__)
.macro DT_HOOK name
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  subq $16, %rsp
  .cfi_adjust_cfa_offset 16
  movq 40(%rsp), %rcx
  leaq 8(%rsp), %r8
  call dt_hook_\name
  movq 8(%rsp), %rcx
  addq $16, %rsp
  .cfi_adjust_cfa_offset -16
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jnz 1f
  movq %rcx, %rax
  ret
1:
  jmp *%rax
  .cfi_endproc
  .size \name, . - \name
.endm

.text
  .hidden dt_call_as
  .globl dt_call_as
  .type dt_call_as, @function
dt_call_as:
  .cfi_startproc
  endbr64
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  leaq 1f(%rip), %r9
  pushq %r9
  .cfi_adjust_cfa_offset 8
  pushq %r8
  .cfi_adjust_cfa_offset 8
  jmp *%rax
  .cfi_adjust_cfa_offset -16
1:
  ret
  .cfi_endproc
  .size dt_call_as, . - dt_call_as

/* Not zero: the processor checks return addresses against a copy, and dt_call_as must not be used. */
  .hidden dt_returns_are_checked
  .globl dt_returns_are_checked
  .type dt_returns_are_checked, @function
dt_returns_are_checked:
  endbr64
  xorl %eax, %eax
  rdsspq %rax
  ret
  .size dt_returns_are_checked, . - dt_returns_are_checked

#elif defined(__aarch64__)
.macro DT_HOOK name
  .globl \name
  .type \name, %function
\name:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-64]!
  .cfi_def_cfa_offset 64
  .cfi_offset 29, -64
  .cfi_offset 30, -56
  mov x29, sp
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  mov x3, x30
  add x4, sp, #40
  bl dt_hook_\name
  mov x16, x0
  ldr x17, [sp, #40]
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #64
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  cbnz x16, 1f
  mov x0, x17
  ret
1:
  br x16
  .cfi_endproc
  .size \name, . - \name
.endm

.text
  .hidden dt_call_as
  .globl dt_call_as
  .type dt_call_as, %function
dt_call_as:
  hint #34
  stp x29, x30, [sp, #-16]!   /* the gadget takes these two back */
  mov x30, x4
  mov x16, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  br x16
  .size dt_call_as, . - dt_call_as

  .hidden dt_returns_are_checked
  .globl dt_returns_are_checked
  .type dt_returns_are_checked, %function
dt_returns_are_checked:
  hint #34
  mov x0, #0
  ret
  .size dt_returns_are_checked, . - dt_returns_are_checked
#else
#error "no entries for this architecture yet"
#endif

DT_HOOK dlsym
DT_HOOK dlvsym
DT_HOOK dlopen
DT_HOOK dlmopen

.section .note.GNU-stack, "", %progbits
