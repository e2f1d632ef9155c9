// The types of structures that stood in chains of Vulkan's structures: a byte of the pool for each, from 0 to 1. The
// drainer describes these types alone to the readers of a trace. Two types may share a byte; then both are described.
#pragma once
#include <stdint.h>

#define DT_POOL_CHAINS_OFFSET 32768u
#define DT_CHAIN_BITS 12u

static inline uint32_t dt_chain_place(int32_t stype) { return (uint32_t)stype * 0x9e3779b1u >> (32 - DT_CHAIN_BITS); }
