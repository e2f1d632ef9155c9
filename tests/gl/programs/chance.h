/* Numbers and enumerants at random, the same in every run. The GL header comes first. */
#pragma once
#include <stddef.h>
#include <stdint.h>

static uint32_t state_of_chance = 1;
static uint32_t chance(uint32_t below) {
  state_of_chance = state_of_chance * 1664525u + 1013904223u;
  return (state_of_chance >> 8) % below;
}
static float real(void) { return (float)chance(2001) / 500 - 2; }
static float part(void) { return (float)chance(1001) / 1000; }
#define ONE_OF(...) one_of((const GLenum[]){__VA_ARGS__}, sizeof((const GLenum[]){__VA_ARGS__}) / sizeof(GLenum))
static GLenum one_of(const GLenum* list, size_t count) { return list[chance((uint32_t)count)]; }
