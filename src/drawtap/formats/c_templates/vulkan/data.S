/* data.bin as an object: the assembler reads it faster than any compiler would. */
    .section .rodata
    .balign 16
#if defined(__APPLE__)
    .globl _play_data
_play_data:
#else
    .globl play_data
play_data:
#endif
    .incbin "data.bin"
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
