/* Compile and link one program, or say why not and exit. The GL header comes first. */
#ifndef DRAWTAP_TEST_SHADER_H
#define DRAWTAP_TEST_SHADER_H
static GLuint compile_stage(GLenum stage, const char* source) {
  GLuint shader = glCreateShader(stage);
  GLint done = 0;
  glShaderSource(shader, 1, &source, NULL);
  glCompileShader(shader);
  glGetShaderiv(shader, GL_COMPILE_STATUS, &done);
  if (!done) {
    char log[1024];
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    fprintf(stderr, "shader: %s\n", log);
    exit(1);
  }
  return shader;
}

/* Attribute `names[i]` gets location i. */
static GLuint link_program(const char* vertex, const char* fragment, const char* const* names, int count) {
  GLuint program = glCreateProgram(), v = compile_stage(GL_VERTEX_SHADER, vertex);
  GLuint f = compile_stage(GL_FRAGMENT_SHADER, fragment);
  GLint done = 0;
  glAttachShader(program, v);
  glAttachShader(program, f);
  for (int i = 0; i < count; i++) glBindAttribLocation(program, (GLuint)i, names[i]);
  glLinkProgram(program);
  glGetProgramiv(program, GL_LINK_STATUS, &done);
  if (!done) {
    char log[1024];
    glGetProgramInfoLog(program, sizeof log, NULL, log);
    fprintf(stderr, "program: %s\n", log);
    exit(1);
  }
  glDeleteShader(v);
  glDeleteShader(f);
  return program;
}
#endif
