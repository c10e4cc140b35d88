"""Draws with some shaders by EGL and OpenGL ES, without a window."""

import ctypes
import time

egl, gl = ctypes.CDLL("libEGL.so.1"), ctypes.CDLL("libGLESv2.so.2")
egl.eglGetPlatformDisplay.restype = egl.eglCreateContext.restype = ctypes.c_void_p

VERTEX = b"""#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
"""
FRAGMENT = b"""#version 300 es
precision highp float;
out vec4 color;
void main() {
  vec4 p = gl_FragCoord / 64.0;
  for (int i = 0; i < %d; i++) p = sin(p.yzwx * float(i) + cos(p.wxyz)) + pow(abs(p), vec4(1.5));
  color = p * 0.0 + 1.0;
}
"""


def shader(kind, source):
    made = gl.glCreateShader(kind)
    text = ctypes.c_char_p(source)
    gl.glShaderSource(made, 1, ctypes.byref(text), None)
    gl.glCompileShader(made)
    return made


start = time.time()
display = ctypes.c_void_p(egl.eglGetPlatformDisplay(0x31DD, None, None))  # surfaceless
assert egl.eglInitialize(display, None, None)
egl.eglBindAPI(0x30A0)  # OpenGL ES
version = (ctypes.c_int * 3)(0x3098, 3, 0x3038)
context = ctypes.c_void_p(egl.eglCreateContext(display, None, None, version))
assert egl.eglMakeCurrent(display, None, None, context), hex(egl.eglGetError())
target, frame = ctypes.c_uint(), ctypes.c_uint()
gl.glGenRenderbuffers(1, ctypes.byref(target))
gl.glBindRenderbuffer(0x8D41, target)
gl.glRenderbufferStorage(0x8D41, 0x8058, 64, 64)
gl.glGenFramebuffers(1, ctypes.byref(frame))
gl.glBindFramebuffer(0x8D40, frame)
gl.glFramebufferRenderbuffer(0x8D40, 0x8CE0, 0x8D41, target)
gl.glViewport(0, 0, 64, 64)
pixel = (ctypes.c_ubyte * 4)()
for count in range(50, 70):
    program = gl.glCreateProgram()
    gl.glAttachShader(program, shader(0x8B31, VERTEX))
    gl.glAttachShader(program, shader(0x8B30, FRAGMENT % count))
    gl.glLinkProgram(program)
    gl.glUseProgram(program)
    gl.glDrawArrays(4, 0, 3)
    gl.glReadPixels(0, 0, 1, 1, 0x1908, 0x1401, pixel)
    assert list(pixel) == [255] * 4, list(pixel)
print("20 shaders in %.2f s" % (time.time() - start))
